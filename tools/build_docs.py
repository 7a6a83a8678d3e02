"""Write the pages of the API into build/docs."""

from pathlib import Path

import pdoc

import similitude

PAGES = ("similarity", "adapters", "kernels", "validity", "engines", "blocks", "checks", "datasets", "loops.reference")


def main() -> None:
    """Make the lazy public names real, so that they are found, and write one page per module."""
    for name in similitude.__all__:
        setattr(similitude, name, getattr(similitude, name))
    pdoc.render.configure(docformat="numpy")
    folder = Path(__file__).parents[1] / "build" / "docs"
    pdoc.pdoc("similitude", *(f"similitude.{page}" for page in PAGES), output_directory=folder)
    print(f"wrote {folder / 'index.html'}")


if __name__ == "__main__":
    main()
