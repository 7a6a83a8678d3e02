"""Folders of texts, images or GraphML files: the name of a subfolder is the label of the files in it."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from similitude.data.files.encodings import as_utf8
from similitude.data.files.file_errors import import_optional
from similitude.data.files.schema import Data, Request, Schema
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

LARGEST_AS_IT_IS = 64 * 64
"""Pixels of images that are not resized by default, if they are all of one size."""

MOST_PIXELS = 10**8
"""Pixels of an image that is read at all."""


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
        return "tu", sum(one.stat().st_size for one in folder.glob("*.txt"))
    found = {format: _files(folder, format)[0] for format in FOLDER_FORMATS}
    filled = {format: some for format, some in found.items() if some}
    if len(filled) > 1:
        counts = ", ".join(f"{len(some)} {format}" for format, some in filled.items())
        raise FileError(f"a folder of several things, {counts}: put each into a folder of its own")
    if not filled:
        raise FileError(
            "not a folder of TU graphs, which holds DS_A.txt and DS_graph_indicator.txt, and not one of texts (.txt), "
            "images (.png, .jpg, …) or GraphML files, in subfolders named by their labels: name a file or such a folder"
        )
    ((format, some),) = filled.items()
    return format, sum(one.path.stat().st_size for one in some)


def _files(folder: Path, format: str) -> tuple[list[FolderFile], int]:
    """Return the files of a folder by label and name, and the number of other files; hidden ones are passed over."""
    endings = FOLDER_FORMATS[format]
    inner = sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
    labeled = [FolderFile(one, place.name) for place in inner for one in sorted(place.iterdir())]
    seen = [one for one in labeled if one.path.is_file() and not one.path.name.startswith(".")]
    found = [one for one in seen if _is_one(one.path, endings, format)]
    if not found:
        here = [FolderFile(one, None) for one in sorted(folder.iterdir()) if one.is_file()]
        seen = [one for one in here if not one.path.name.startswith(".")]
        found = [one for one in seen if one.path.suffix.lower() in endings]
    return found, len(seen) - len(found)


def _is_one(path: Path, endings: tuple[str, ...], format: str) -> bool:
    """Tell whether a file belongs to a format: texts in subfolders may have no ending, or a number."""
    suffix = path.suffix.lower()
    return suffix in endings or (format == "texts" and (not suffix or suffix[1:].isdigit()))


def read_folder(folder: Path, format: str, request: Request, schema: Schema | None) -> Data:
    """Read a folder of texts or images."""
    found, others = _files(folder, format)
    if request.object is not None:
        raise FileError(f"there is no column {request.object!r}: the objects of a folder are its files")
    if format == "texts":
        objects, notes, made = [_text(one, request.encoding) for one in found], ["texts as strings"], Schema("strings")
    else:
        objects, notes, made = _images(found, request, schema)
    labels = None if found[0].label is None else np.array([one.label for one in found])
    if labels is not None:
        notes.append(f"labels are the names of {len(set(labels.tolist()))} subfolders")
    if others:
        notes.append(f"ignored: {others} other files")
    made = Schema(made.kind, None if labels is None else "label", settings=made.settings)
    return Data(objects, labels, made, tuple(notes), [one.name for one in found])


def folder_graphs(folder: Path) -> list[FolderFile]:
    """Return the GraphML files of a folder."""
    return _files(folder, "graphs")[0]


def _text(one: FolderFile, encoding: str | None) -> str:
    with ExitStack() as stack:
        stream: Any = stack.enter_context(open(one.path, "rb"))
        try:
            if not one.path.stat().st_size:
                return ""
            stream, _ = as_utf8(stream, encoding, stack)
            return stream.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise FileError(f"{one.name}: not UTF-8") from None
        except FileError as error:
            raise FileError(f"{one.name}: {error}") from None


def _images(found: list[FolderFile], request: Request, schema: Schema | None) -> tuple[Any, list[str], Schema]:
    """Return images as vectors of gray levels or colors between 0 and 1, row by row."""
    sizes = {(image.height, image.width) for image in map(_opened, found)}
    kept = None if schema is None else schema.setting("images")
    if kept is not None:
        rows, columns, mode = kept.split()
        size, color = (int(rows), int(columns)), mode == "color"
    else:
        small = len(sizes) == 1 and np.prod(next(iter(sizes))) <= LARGEST_AS_IT_IS
        size, color = request.image_size or (next(iter(sizes)) if small else USUAL_SIZE), request.color
    width = size[0] * size[1] * (3 if color else 1)
    _check_memory(8 * width * len(found))
    vectors = np.empty((len(found), width))
    for place, one in enumerate(found):
        vectors[place] = _pixels(one, size, color)
    what = "red, green and blue" if color else "gray; color=True takes colors"
    is_resized = sizes != {size}
    how = f"resized to {size[0]} x {size[1]}" if is_resized else f"of {size[0]} x {size[1]}"
    from_sizes = f" from {len(sizes)} sizes" if is_resized and len(sizes) > 1 else ""
    note = f"images {how} pixels{from_sizes} (image_size= chooses otherwise), as vectors of {width} numbers: {what}"
    mode = "color" if color else "gray"
    return vectors, [note], Schema("vectors").with_settings(images=f"{size[0]} {size[1]} {mode}")


def _opened(one: FolderFile) -> Any:
    """Open an image, of which only the header is read; raise if it is unreadable or enormous."""
    pillow = import_optional("PIL.Image", "a folder of images", "images")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pillow.open(one.path, formats=IMAGE_FORMATS) as image:
                pixels = image.width * image.height
                if 0 < pixels <= MOST_PIXELS:
                    return image
    except Exception as error:  # of Pillow: anything
        reason = str(error).partition("'")[0].strip() or type(error).__name__
        raise FileError(f"{one.name}: not an image that can be read: {reason}") from None
    raise FileError(f"{one.name}: an image of {pixels:,} pixels; {MOST_PIXELS:,} are the most")


def _pixels(one: FolderFile, size: tuple[int, int], color: bool) -> np.ndarray:
    pillow = import_optional("PIL.Image", "a folder of images", "images")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pillow.open(one.path, formats=IMAGE_FORMATS) as image:
                levels = _eight_bits(image).convert("RGB" if color else "L")
                if levels.size != (size[1], size[0]):
                    levels = levels.resize((size[1], size[0]))
                return np.asarray(levels, dtype=float).ravel() / 255
    except Exception as error:  # of Pillow: anything
        raise FileError(f"{one.name}: truncated or damaged: {str(error) or type(error).__name__}") from None


def _eight_bits(image: Any) -> Any:
    """Return an image whose levels are 0 to 255: Pillow would cut off those of sixteen bits."""
    if not image.mode.startswith("I"):
        return image
    pillow = import_optional("PIL.Image", "a folder of images", "images")
    return pillow.fromarray((np.clip(np.asarray(image), 0, 65535) // 257).astype(np.uint8))


def _check_memory(needed: int) -> None:
    import psutil  # type: ignore[import-untyped]

    free = int(psutil.virtual_memory().available)
    if needed > free:
        raise FileError(
            f"the images take {needed / 2**30:.1f} GiB of memory and {free / 2**30:.1f} GiB is free: choose a smaller "
            f"image_size="
        )
