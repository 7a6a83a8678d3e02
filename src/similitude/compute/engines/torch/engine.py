"""One device through torch: an NVIDIA card, or the CPU by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from similitude.compute.encodings import Encoding, as_numpy, count, moved, rows, tensor_in
from similitude.compute.engines.engine import TILE_EDGE, Engine, Target, Task, Tile, cut, deliver, parse_bytes
from similitude.compute.engines.local import LocalEngine
from similitude.support.errors import PairError, missing_extra

if TYPE_CHECKING:
    import torch

PRECISIONS = ("float32", "tf32")

SHARE = 0.8
"""The part of a card's memory that is the budget where none is given."""


HELD = 0.5
"""The part of the budget up to which arrays are held on the device for algebra there."""


@dataclass(frozen=True)
class TorchEngine(Engine):
    """Compute tiles and products on one device through torch.

    Vectors under the kernels of the library are moved to the device tile by tile, the next tile while this one is
    computed; tensors stay where they are, and their results are tensors. Products of a Gaussian, Laplace, Matern,
    rational quadratic, polynomial, sigmoid or linear kernel, or of a weighted sum of these, with a vector never write
    the matrix (float32, by Triton where it is installed). What has no form for a device (strings, graphs, sparse rows,
    a function of your own) is computed on the CPU, and the model's ``notes_`` says so.

    Parameters
    ----------
    device : str
        ``"cuda"``, ``"cuda:1"`` or, by name only, ``"cpu"``.
    precision : {"float32", "tf32"}
        How float32 numbers are multiplied. ``"float32"``: with errors of single precision, on tensor cores by three
        products of split numbers. ``"tf32"``: by one product of 10 bits, several times faster and a thousand times
        less exact. float64 numbers are computed in float64, and factorizations always are.
    memory : int or str, optional
        Budget for tiles and results. Default: four fifths of the card's memory; 2 GiB on the CPU.

    Notes
    -----
    The same call gives the same result on the same device: partial sums are added in a fixed order.
    """

    device: str = "cuda"
    precision: str = "float32"
    memory: int | str | None = None  # type: ignore[assignment]
    has_products: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision must be 'float32' or 'tf32', got {self.precision!r}")
        if self.memory is not None:
            parse_bytes(self.memory)
        check_name(self.device)

    def __deepcopy__(self, memo: dict[int, Any]) -> TorchEngine:
        return self

    @property
    def place(self) -> torch.device:
        """The device as torch knows it, with its index."""
        import torch

        device = torch.device(self.device)
        if device.type == "cuda" and device.index is None:
            return torch.device("cuda", torch.cuda.current_device())
        return device

    @property
    def budget(self) -> int:
        """The memory budget in bytes."""
        import torch

        if self.memory is not None:
            return parse_bytes(self.memory)
        if self.place.type == "cpu":
            return 2 * 2**30
        return int(SHARE * torch.cuda.get_device_properties(self.place).total_memory)

    @property
    def edge(self) -> int:
        """Rows and columns of a tile: a card needs more of them to be busy."""
        return 8192 if self.place.type == "cuda" else TILE_EDGE

    def workers(self, task: Task) -> int:
        """Return how many tiles of this task are computed at once."""
        return 1 if _on_tensors(task) else LocalEngine().workers(task)

    def note(self, similarity: Any) -> str | None:
        """Say where a similarity is computed, if not on the device."""
        if similarity.works_on_tensors():
            return None
        return f"{similarity!r} has no form for a device: its values were computed on the CPU, not on {self.device}"

    def times(self, similarity: Any, A: Encoding, B: Encoding, v: Any, transposed: bool = False) -> Any:
        """Return K(A, B) v or K(A, B)' v: a tensor where A is one, else an array of float64."""
        product = self.product(similarity, A, B)
        return None if product is None else product.applied(v, transposed)

    def product(self, similarity: Any, A: Encoding, B: Encoding) -> Any:
        """Return K(A, B) as an operator on the device; None where that cannot hold the objects."""
        from similitude.compute.engines.torch.products import Product
        from similitude.compute.engines.torch.transfer import movable

        works = getattr(similarity, "works_on_tensors", None)
        if works is None or not works() or not movable(A) or not movable(B):
            return None
        check_device(self, A)
        check_device(self, B, "Z")
        return Product(self, similarity, A, B)

    def run(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None = None
    ) -> Iterator[Any]:
        """Yield one result per tile, in order (see `Engine.run`)."""
        from similitude.compute.engines.torch.transfer import movable

        if not (_on_tensors(task) and movable(A) and movable(B)):
            return self._on_host(task, A, B, tiles, target)
        check_device(self, A)
        check_device(self, B, "Z")
        return self._on_device(task, A, B, tiles, target)

    def _on_host(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None
    ) -> Iterator[Any]:
        """Yield what the CPU computes; where A holds tensors, the results go back to their device."""
        from similitude.compute.engines.torch.transfer import Mover

        left = moved(A, as_numpy)
        right = left if B is A else moved(B, as_numpy)
        if tensor_in(A) is None:
            yield from LocalEngine().run(task, left, right, tiles, target)
            return
        for result, tile in zip(LocalEngine().run(task, left, right, tiles), tiles, strict=True):
            yield _delivered(result, tile, target, Mover(self.place))

    def _on_device(
        self, task: Any, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None
    ) -> Iterator[Any]:
        from similitude.compute.engines.torch.transfer import Mover, ahead, back, nbytes

        move, stays = Mover(self.place), tensor_in(A) is not None
        b_all = moved(B, move) if nbytes(B) <= self.budget // 4 else B
        a_all = b_all if A is B else A

        def fetch(tile: Tile) -> tuple[Encoding, Encoding]:
            a, b = cut(a_all, b_all, tile)
            here = moved(a, move)
            return here, here if b is a else moved(b, move)

        before: tuple[Any, Tile] | None = None
        for tile, (a, b) in zip(tiles, ahead(fetch, tiles), strict=True):
            now = self._compute(task, a, b, tile)
            if before is not None:
                yield _delivered(*before, target, None if stays else back)
            before = now, tile
        if before is not None:
            yield _delivered(*before, target, None if stays else back)

    def _compute(self, task: Any, a: Encoding, b: Encoding, tile: Tile) -> Any:
        try:
            return self._in_parts(task, a, b)
        except PairError as error:
            raise error.moved(tile[0].start, tile[1].start) from error.__cause__

    def _in_parts(self, task: Any, a: Encoding, b: Encoding) -> Any:
        """Run the task on a tile; where it does not fit on the device, on its halves, which is said."""
        import torch

        from similitude.compute.engines.torch.products import too_large

        try:
            with self.products():
                return task(a, b)
        except torch.OutOfMemoryError as error:
            if count(a) < 2:
                raise MemoryError(f"one row does not fit on {self.device}: {error}") from error
        torch.cuda.empty_cache()
        warnings.warn(too_large(count(a)), stacklevel=2)
        half = count(a) // 2
        top = self._in_parts(task, rows(a, slice(0, half)), b)
        try:
            return task.joined([top, self._in_parts(task, rows(a, slice(half, None)), b)])
        except PairError as error:
            raise error.moved(half, 0) from error.__cause__

    def here(self, encoding: Encoding, room: int = 0) -> Encoding:
        """Return an encoding on the device, so that what is computed from it stays there; as it is where too large."""
        from similitude.compute.engines.torch.transfer import Mover, movable, nbytes

        held = movable(encoding) and nbytes(encoding) + room <= HELD * self.budget
        return moved(encoding, Mover(self.place)) if held else encoding

    @contextmanager
    def algebra(self, what: str) -> Iterator[None]:
        """While it lasts, products have the precision asked for; what does not fit on the device is refused."""
        import torch

        try:
            with self.products():
                yield
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise MemoryError(
                f"{what} does not fit on {self.device}; LocalEngine() uses this machine's memory: {error}"
            ) from error

    @contextmanager
    def products(self) -> Iterator[None]:
        """While it lasts, products of float32 matrices have the precision asked for."""
        import torch

        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high" if self.precision == "tf32" else "highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)


def check_name(name: str) -> None:
    """Refuse a device that is not there, and say what is."""
    try:
        import torch
    except ImportError as error:
        raise missing_extra("torch", "TorchEngine") from error
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device must be 'cuda', 'cuda:0' or 'cpu', got {name!r}") from error
    if device.type == "cpu":
        return
    if device.type != "cuda":
        raise ValueError(f"device must be 'cuda', 'cuda:0' or 'cpu', got {name!r}")
    if not torch.cuda.is_available():
        raise RuntimeError(f"device {name!r}: torch sees no CUDA device here; use TorchEngine(device='cpu') by name")
    if device.index is not None and device.index >= torch.cuda.device_count():
        there = ", ".join(f"'cuda:{i}'" for i in range(torch.cuda.device_count()))
        raise ValueError(f"there is no device {name!r} here: there is {there}")


def check_device(engine: Any, X: Encoding, name: str = "X") -> None:
    """Refuse tensors on another device than that of an engine."""
    tensor = tensor_in(X)
    if tensor is not None and tensor.device != engine.place:
        raise ValueError(
            f"{name} is a tensor on {tensor.device}, the engine computes on {engine.place}: "
            f"move it with {name}.to({str(engine.place)!r}), or use TorchEngine(device={str(tensor.device)!r})"
        )


def _on_tensors(task: Any) -> bool:
    return bool(getattr(task, "on_tensors", False))


def _delivered(result: Any, tile: Tile, target: Target | None, back: Callable[[Any], Any] | None) -> Any:
    return deliver(result if back is None else moved(result, back), tile, target)
