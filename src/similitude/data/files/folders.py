"""Folders of texts, images or GraphML files: the name of a subfolder is the label of the files in it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from similitude.data.files.file_errors import import_optional, listed
from similitude.data.files.schema import Data, Request, Schema
from similitude.data.files.text_files import as_utf8
from similitude.data.limits import LARGEST_AS_IT_IS, MOST_PIXELS
from similitude.support import FileError

FOLDER_FORMATS = {
    "images": (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm"),
    "texts": (".txt", ".text"),
    "graphs": (".graphml",),
}
"""The endings of the files in a folder by its format."""


def folder_format(folder: Path) -> tuple[str, int]:
    """Return the format of a folder, and the size of its files in bytes."""
    names = [one.name for one in folder.iterdir()]
    if any(name.endswith(("_A.txt", "_graph_indicator.txt")) for name in names):
        return "tu", sum(one.stat().st_size for one in folder.glob("*.txt") if one.is_file())
    found = {format: folder_files(folder, format)[0] for format in FOLDER_FORMATS}
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
    return format, sum(one.stat().st_size for one in some)


def folder_files(folder: Path, format: str) -> tuple[list[Path], int]:
    """Return the files of a folder by label and name, and the number of other files; hidden ones are passed over."""
    endings = FOLDER_FORMATS[format]
    inner = [one for place in _folders(folder) for one in sorted(place.iterdir())]
    for places in (inner, sorted(folder.iterdir())):
        seen = [one for one in places if one.is_file() and not one.name.startswith(".")]
        found = [one for one in seen if one.suffix.lower() in endings]
        if format == "texts" and places is inner:  # texts in subfolders may have no ending, or a number
            found = [one for one in seen if one.suffix.lower() in ("", *endings) or one.suffix[1:].isdigit()]
        if found:
            break
    return found, len(seen) - len(found)


def names_of(folder: Path, found: Sequence[Path]) -> list[str]:
    """Return the paths of files inside a folder."""
    return [one.relative_to(folder).as_posix() for one in found]


def labels_of(folder: Path, found: Sequence[Path]) -> np.ndarray | None:
    """Return the names of the subfolders in which files are, if they are in any."""
    return None if found[0].parent == folder else np.array([one.parent.name for one in found])


def _folders(folder: Path) -> list[Path]:
    """Return the folders in a folder by name; hidden ones are passed over, and the one that macOS adds to archives."""
    inner = (one for one in folder.iterdir() if one.is_dir() and one.name != "__MACOSX")
    return sorted(one for one in inner if not one.name.startswith("."))


def read_folder(folder: Path, format: str, request: Request, schema: Schema | None) -> Data:
    """Read a folder of texts or images."""
    found, others = folder_files(folder, format)
    if request.object is not None:
        raise FileError(f"there is no column {request.object!r}: the objects of a folder are its files")
    if format == "texts":
        objects, notes = _texts(folder, found, request.encoding)
        made = Schema("strings")
    else:
        objects, notes, made = _images(folder, found, request, schema)
    labels = labels_of(folder, found)
    if labels is not None:
        made = replace(made, label="label")
        places = _folders(folder)
        bare = sorted({one.name for one in places} - {*labels.tolist()})
        inner = [f"{place.name}/{one.name}" for place in places for one in _folders(place)]
        notes.append(f"labels are the names of {len(np.unique(labels))} subfolders")
        notes += [f"no {format} in subfolders {listed(bare)}"] * bool(bare)
        notes += [f"ignored: folders inside of subfolders, {listed(inner)}"] * bool(inner)
    notes += [f"ignored: {others} other files"] * bool(others)
    notes += other_entries(folder)
    return Data(objects, labels, made, tuple(notes), names_of(folder, found))


def other_entries(folder: Path) -> list[str]:
    """Return a note on what is neither a file nor a folder in a folder and its subfolders, if anything is."""
    inside = [*folder.iterdir(), *(one for place in _folders(folder) for one in place.iterdir())]
    others = [one for one in inside if not (one.name.startswith(".") or one.is_file() or one.is_dir())]
    return [f"ignored: pipes, devices or links to nothing, {listed(sorted(names_of(folder, others)))}"] * bool(others)


def _texts(folder: Path, found: list[Path], encoding: str | None) -> tuple[list[str], list[str]]:
    """Return the texts of files, and notes on what they are encoded in and on empty ones."""
    texts = []
    said: dict[str, list[str]] = {}
    empty = []
    for name, path in zip(names_of(folder, found), found, strict=True):
        with open(path, "rb") as file, ExitStack() as stack:
            stream: BinaryIO = file
            note = ""
            try:
                if path.stat().st_size:
                    stream, note = as_utf8(file, encoding, stack)
                texts.append(stream.read().decode("utf-8-sig"))
            except UnicodeDecodeError:
                raise FileError(f"{name}: not UTF-8") from None
            except FileError as error:
                raise FileError(f"{name}: {error}") from None
        if note:
            said.setdefault(note.partition(", such as")[0], []).append(name)
        if not texts[-1].strip():
            empty.append(name)
    notes = [f"{len(names):,} of {len(found):,} files, the first is {names[0]}: {note}" for note, names in said.items()]
    if empty:
        notes.append(f"{len(empty):,} texts are empty, the first is {empty[0]}")
    return texts, ["texts as strings", *notes]


def _images(folder: Path, found: list[Path], request: Request, schema: Schema | None) -> tuple[Any, list[str], Schema]:
    """Return images as vectors of gray levels or colors between 0 and 1, row by row."""
    import psutil  # type: ignore[import-untyped]

    names = names_of(folder, found)
    sizes = set()
    several = 0
    transparent = 0
    for path, name in zip(found, names, strict=True):
        with _opened(path, name, "not an image that can be read: ") as image:
            shape = (image.height, image.width)
            if image.getexif().get(0x0112) in (5, 6, 7, 8):  # how photographs say that they are to be turned
                shape = shape[::-1]
            sizes.add(shape)
            several += getattr(image, "n_frames", 1) > 1
            transparent += _is_transparent(image)
    color = request.color
    size = request.image_size or (32, 32)
    if schema is not None and (kept := schema.setting("images")) is not None:
        rows, columns, mode = kept.split()
        size = (int(rows), int(columns))
        color = mode == "color"
    elif request.image_size is None and len(sizes) == 1 and shape[0] * shape[1] <= LARGEST_AS_IT_IS:
        size = shape
    mode, what = (("gray", "gray; color=True takes colors"), ("color", "red, green and blue"))[color]
    width = size[0] * size[1] * (1 + 2 * color)
    needed = 8 * width * len(found)
    free = int(psutil.virtual_memory().available)
    if needed > free:
        raise FileError(
            f"the images take {needed / 2**30:.1f} GiB of memory and {free / 2**30:.1f} GiB is free: choose a smaller "
            f"image_size="
        )
    vectors = np.empty((len(found), width))
    for row, (path, name) in enumerate(zip(found, names, strict=True)):
        with _opened(path, name, "truncated or damaged: ") as image:
            levels, largest = _levels(image, color)
            if levels.size != (size[1], size[0]):
                levels = levels.resize((size[1], size[0]))
            pixels = np.clip(np.asarray(levels, dtype=float) / largest, 0, 1)
            if color and pixels.ndim == 2:
                pixels = pixels.repeat(3, axis=-1)
            vectors[row] = pixels.ravel()
    how = "of"
    if sizes != {size}:
        how = "resized to"
    of_sizes = f" from {len(sizes)} sizes" * (len(sizes) > 1)
    notes = [
        f"images {how} {size[0]} x {size[1]} pixels{of_sizes} (image_size= chooses otherwise), as vectors of {width} "
        f"numbers: {what}"
    ]
    if several:
        notes.append(f"{several:,} images have several frames or pages: the first is taken")
    if transparent:
        notes.append(f"{transparent:,} images have transparent pixels: what is behind them is white")
    return vectors, notes, Schema("vectors").with_settings(images=f"{size[0]} {size[1]} {mode}")


@contextmanager
def _opened(path: Path, name: str, problem: str) -> Iterator[Any]:
    """Open an image, of which only the header is read at first; raise if it is unreadable or enormous."""
    pillow = import_optional("PIL.Image", "a folder of images", "images")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pillow.open(path, formats=("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")) as image:
                if not 0 < image.width * image.height <= MOST_PIXELS:
                    pixels = f"an image of {image.width * image.height:,} pixels"
                    raise FileError(f"{pixels}; {MOST_PIXELS:,} are the most")
                yield image
    except FileError as error:
        raise FileError(f"{name}: {error}") from None
    except Exception as error:  # of Pillow: anything
        reason = str(error).partition("'")[0].strip() or type(error).__name__
        raise FileError(f"{name}: {problem}{reason}") from None


def _levels(image: Any, color: bool) -> tuple[Any, int]:
    """Return an image in gray or in color, and its largest level; Pillow would cut off levels of sixteen bits."""
    pillow = import_optional("PIL.Image", "a folder of images", "images")
    if image.mode == "F":
        raise FileError("its levels are real numbers without a known range: use 8 or 16 bits")
    is_transparent = _is_transparent(image)
    image = import_optional("PIL.ImageOps", "a folder of images", "images").exif_transpose(image)
    if image.mode.startswith("I"):
        return pillow.fromarray(np.asarray(image).astype(np.float32)), 65535
    if is_transparent:
        image = image.convert("RGBA")
        image = pillow.alpha_composite(pillow.new("RGBA", image.size, "white"), image)
    return image.convert(("L", "RGB")[color]), 255


def _is_transparent(image: Any) -> bool:
    return image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info
