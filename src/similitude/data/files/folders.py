"""Folders of texts, images or GraphML files: the name of a subfolder is the label of the files in it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from similitude.data.files.file_errors import import_optional, listed
from similitude.data.files.schema import Data, Request, Schema
from similitude.data.files.text_files import as_utf8
from similitude.data.limits import LARGEST_AS_IT_IS, MOST_PIXELS
from similitude.support import FileError

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm")
TEXT_ENDINGS = (".txt", ".text")
GRAPHS = (".graphml",)
FOLDER_FORMATS = {"images": IMAGES, "texts": TEXT_ENDINGS, "graphs": GRAPHS}
"""The endings of the files in a folder by its format."""

IMAGE_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
"""The formats of images that Pillow is asked to read."""

USUAL_SIZE = (32, 32)
"""Rows and columns to which images are resized by default."""

ORIENTATION = 0x0112
QUARTER_TURNS = (5, 6, 7, 8)
"""The number by which photographs tell how they are to be turned, and its values by which rows become columns."""


class FolderFile(NamedTuple):
    """A file in a folder, and the name of its subfolder."""

    path: Path
    label: str | None

    @property
    def name(self) -> str:
        """The path inside the folder."""
        return self.path.name if self.label is None else f"{self.label}/{self.path.name}"


def folder_format(folder: Path) -> tuple[str, int]:
    """Return the format of a folder, and the size of its files in bytes."""
    names = [one.name for one in folder.iterdir()]
    if any(name.endswith(("_A.txt", "_graph_indicator.txt")) for name in names):
        return "tu", sum(one.stat().st_size for one in folder.glob("*.txt") if one.is_file())
    found = {format: _files(folder, format)[0] for format in FOLDER_FORMATS}
    filled = {format: some for format, some in found.items() if some}
    if len(filled) > 1:
        counts = ", ".join(f"{len(some)} {format}" for format, some in filled.items())
        raise FileError(f"a folder of several things, {counts}: put each into a folder of its own")
    if not filled:
        if inner := [one for place in _folders(folder) for one in _folders(place) if any(one.iterdir())]:
            place = inner[0].parent
            raise FileError(
                f"its subfolders hold folders, such as {place.name}/{inner[0].name}: name one of them, {str(place)!r}"
            )
        raise FileError(
            "not a folder of TU graphs, which holds DS_A.txt and DS_graph_indicator.txt, and not one of texts (.txt), "
            "images (.png, .jpg, …) or GraphML files, in subfolders named by their labels: name a file or such a folder"
        )
    ((format, some),) = filled.items()
    return format, sum(one.path.stat().st_size for one in some)


def _files(folder: Path, format: str) -> tuple[list[FolderFile], int]:
    """Return the files of a folder by label and name, and the number of other files; hidden ones are passed over."""
    endings = FOLDER_FORMATS[format]
    labeled = [FolderFile(one, place.name) for place in _folders(folder) for one in sorted(place.iterdir())]
    here = [FolderFile(one, None) for one in sorted(folder.iterdir())]
    for places in (labeled, here):
        seen = [one for one in places if one.path.is_file() and not one.path.name.startswith(".")]
        found = [one for one in seen if one.path.suffix.lower() in endings]
        if format == "texts" and places is labeled:  # texts in subfolders may have no ending, or a number
            found = [one for one in seen if one.path.suffix.lower() in ("", *endings) or one.path.suffix[1:].isdigit()]
        if found:
            break
    return found, len(seen) - len(found)


def _folders(folder: Path) -> list[Path]:
    """Return the folders in a folder by name; hidden ones are passed over, and the one that macOS adds to archives."""
    inner = (one for one in folder.iterdir() if one.is_dir() and one.name != "__MACOSX")
    return sorted(one for one in inner if not one.name.startswith("."))


def read_folder(folder: Path, format: str, request: Request, schema: Schema | None) -> Data:
    """Read a folder of texts or images."""
    found, others = _files(folder, format)
    if request.object is not None:
        raise FileError(f"there is no column {request.object!r}: the objects of a folder are its files")
    if format == "texts":
        objects, notes = _texts(found, request.encoding)
        made = Schema("strings")
    else:
        objects, notes, made = _images(found, request, schema)
    labels = None
    if found[0].label is not None:
        labels = np.array([one.label for one in found])
        made = replace(made, label="label")
        places = _folders(folder)
        bare = sorted({one.name for one in places} - {one.label for one in found})
        inner = [f"{place.name}/{one.name}" for place in places for one in _folders(place)]
        notes.append(f"labels are the names of {len(np.unique(labels))} subfolders")
        notes += [f"no {format} in subfolders {listed(bare)}"] if bare else []
        notes += [f"ignored: folders inside of subfolders, {listed(inner)}"] if inner else []
    notes += [f"ignored: {others} other files"] if others else []
    notes += not_files(folder)
    return Data(objects, labels, made, tuple(notes), [one.name for one in found])


def not_files(folder: Path) -> list[str]:
    """Return a note on what is neither a file nor a folder in a folder and its subfolders, if anything is."""
    inside = [(one, one.name) for one in folder.iterdir()]
    inside += [(one, f"{place.name}/{one.name}") for place in _folders(folder) for one in place.iterdir()]
    names = [name for one, name in inside if not (one.name.startswith(".") or one.is_file() or one.is_dir())]
    return [f"ignored: pipes, devices or links to nothing, {listed(sorted(names))}"] if names else []


def folder_graphs(folder: Path) -> list[FolderFile]:
    """Return the GraphML files of a folder."""
    return _files(folder, "graphs")[0]


def _texts(found: list[FolderFile], encoding: str | None) -> tuple[list[str], list[str]]:
    """Return the texts of files, and notes on what they are encoded in and on empty ones."""
    texts = []
    notes = ["texts as strings"]
    said: dict[str, list[str]] = {}
    for one in found:
        text, note = _text(one, encoding)
        texts.append(text)
        if note:
            said.setdefault(note, []).append(one.name)
    notes += [
        f"{len(names):,} of {len(found):,} files, the first is {names[0]}: {note}" for note, names in said.items()
    ]
    empty = [one.name for one, text in zip(found, texts, strict=True) if not text.strip()]
    return texts, [*notes, f"{len(empty):,} texts are empty, the first is {empty[0]}"] if empty else notes


def _text(one: FolderFile, encoding: str | None) -> tuple[str, str]:
    with ExitStack() as stack:
        stream: Any = stack.enter_context(open(one.path, "rb"))
        try:
            if not one.path.stat().st_size:
                return "", ""
            stream, note = as_utf8(stream, encoding, stack)
            return stream.read().decode("utf-8-sig"), note.partition(", such as")[0]
        except UnicodeDecodeError:
            raise FileError(f"{one.name}: not UTF-8") from None
        except FileError as error:
            raise FileError(f"{one.name}: {error}") from None


def _images(found: list[FolderFile], request: Request, schema: Schema | None) -> tuple[Any, list[str], Schema]:
    """Return images as vectors of gray levels or colors between 0 and 1, row by row."""
    sizes = set()
    several = 0
    transparent = 0
    for one in found:
        with _opened(one, "not an image that can be read: ") as image:
            is_turned = image.getexif().get(ORIENTATION, 1) in QUARTER_TURNS
            sizes.add((image.width, image.height) if is_turned else (image.height, image.width))
            several += getattr(image, "n_frames", 1) > 1
            transparent += _is_transparent(image)
    color = request.color
    size = request.image_size
    if schema is not None and (kept := schema.setting("images")) is not None:
        rows, columns, mode = kept.split()
        size = (int(rows), int(columns))
        color = mode == "color"
    elif size is None:
        only = next(iter(sizes))
        size = only if len(sizes) == 1 and np.prod(only) <= LARGEST_AS_IT_IS else USUAL_SIZE
    width = size[0] * size[1] * (3 if color else 1)
    _check_memory(8 * width * len(found))
    vectors = np.empty((len(found), width))
    for place, one in enumerate(found):
        with _opened(one, "truncated or damaged: ") as image:
            levels, largest = _levels(image, color, one.name)
            if levels.size != (size[1], size[0]):
                levels = levels.resize((size[1], size[0]))
            pixels = np.clip(np.asarray(levels, dtype=float) / largest, 0, 1)
            vectors[place] = pixels.repeat(3 if color and pixels.ndim == 2 else 1, axis=-1).ravel()
    what = "red, green and blue" if color else "gray; color=True takes colors"
    how = f"of {size[0]} x {size[1]}"
    if sizes != {size}:
        how = f"resized to {size[0]} x {size[1]}"
    from_sizes = f" from {len(sizes)} sizes" if len(sizes) > 1 else ""
    pixels_note = f"images {how} pixels{from_sizes} (image_size= chooses otherwise), as vectors of {width} numbers"
    notes = [f"{pixels_note}: {what}"]
    if several:
        notes.append(f"{several:,} images have several frames or pages: the first is taken")
    if transparent:
        notes.append(f"{transparent:,} images have transparent pixels: what is behind them is white")
    mode = "color" if color else "gray"
    return vectors, notes, Schema("vectors").with_settings(images=f"{size[0]} {size[1]} {mode}")


@contextmanager
def _opened(one: FolderFile, problem: str) -> Iterator[Any]:
    """Open an image, of which only the header is read at first; raise if it is unreadable or enormous."""
    pillow = import_optional("PIL.Image", "a folder of images", "images")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pillow.open(one.path, formats=IMAGE_FORMATS) as image:
                if not 0 < image.width * image.height <= MOST_PIXELS:
                    pixels = f"an image of {image.width * image.height:,} pixels"
                    raise FileError(f"{one.name}: {pixels}; {MOST_PIXELS:,} are the most")
                yield image
    except FileError:
        raise
    except Exception as error:  # of Pillow: anything
        reason = str(error).partition("'")[0].strip() or type(error).__name__
        raise FileError(f"{one.name}: {problem}{reason}") from None


def _levels(image: Any, color: bool, name: str) -> tuple[Any, int]:
    """Return an image in gray or in color, and its largest level; Pillow would cut off levels of sixteen bits."""
    pillow = import_optional("PIL.Image", "a folder of images", "images")
    if image.mode == "F":
        raise FileError(f"{name}: its levels are real numbers without a known range: use 8 or 16 bits")
    is_transparent = _is_transparent(image)
    image = import_optional("PIL.ImageOps", "a folder of images", "images").exif_transpose(image)
    if image.mode.startswith("I"):
        return pillow.fromarray(np.asarray(image).astype(np.float32)), 65535
    if is_transparent:
        image = image.convert("RGBA")
        image = pillow.alpha_composite(pillow.new("RGBA", image.size, "white"), image)
    return image.convert("RGB" if color else "L"), 255


def _is_transparent(image: Any) -> bool:
    return image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info


def _check_memory(needed: int) -> None:
    import psutil  # type: ignore[import-untyped]

    free = int(psutil.virtual_memory().available)
    if needed > free:
        raise FileError(
            f"the images take {needed / 2**30:.1f} GiB of memory and {free / 2**30:.1f} GiB is free: choose a smaller "
            f"image_size="
        )
