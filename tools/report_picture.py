"""Take the picture of a report that README shows: ``python tools/report_picture.py`` (needs chromium).

Run it after the look or the words of the report have changed; it writes docs/_static/report.png.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from similitude import write_report
from similitude.datasets import promoters
from similitude.kernels import Spectrum

PICTURE = Path(__file__).parents[1] / "docs" / "_static" / "report.png"
SIZE = "1180,830"


def main(picture: Path = PICTURE) -> None:
    """Write the report of the promoters and take a picture of its top."""
    genes, labels = promoters()
    kernel = Spectrum(6, blended=True).normalized()
    title = "promoters.csv: predicting label"
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_report(kernel, genes, labels, page, title=title, random_state=0)
        browser = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={SIZE}"]
        subprocess.run([*browser, f"--screenshot={picture}", page.as_uri()], capture_output=True, check=True)
    Image.open(picture).quantize(128).save(picture, optimize=True)  # a third of the bytes


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
