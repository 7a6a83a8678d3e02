"""TorchEngine: tiles and matrix products on one device, an NVIDIA GPU or the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from similitude.compute.encodings import Encoding, as_numpy, moved, nbytes, tensor_in
from similitude.compute.engines.engine import (
    TILE_EDGE,
    Engine,
    Target,
    Task,
    Tile,
    compute_piece,
    delivered,
    parse_bytes,
    tile_inputs,
)
from similitude.compute.engines.local import LocalEngine
from similitude.support import brief, check_choice, missing_extra, naming_parameters

if TYPE_CHECKING:
    import torch


@naming_parameters
@dataclass(frozen=True)
class TorchEngine(Engine):
    """Compute tiles and matrix products on one device through torch.

    Vectors under the kernels of the library are copied to the device tile by tile, the next tile while the current one
    is computed; tensors stay where they are, and their results are tensors. Products of a Gaussian, Laplace, Matern,
    rational quadratic, polynomial, sigmoid or linear kernel, or of a weighted sum of these, with a vector never store
    the matrix (float32, by Triton if it is installed). What a device cannot compute (strings, graphs, sparse rows, your
    own functions) is computed on the CPU, and the ``notes_`` of a model say so.

    Parameters
    ----------
    device : str
        ``"cuda"``, ``"cuda:1"`` or, if named explicitly, ``"cpu"``.
    precision : {"float32", "tf32"}
        How float32 numbers are multiplied. ``"float32"``: with the accuracy of single precision, on tensor cores by
        three products of split numbers. ``"tf32"``: by one product of 10-bit numbers, several times faster and a
        thousand times less accurate. float64 numbers are computed in float64, and factorizations always are.
    memory : int or str, optional
        Budget for tiles and results. Default: four fifths of the memory of the GPU; 2 GiB on the CPU.

    Notes
    -----
    The same call gives the same result on the same device: partial sums are added in a fixed order.
    """

    device: str = "cuda"
    precision: str = "float32"
    memory: int | str | None = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_choice("precision", self.precision, ("float32", "tf32"))
        if self.memory is not None:
            parse_bytes(self.memory)
        check_available(self.device)

    @property
    def torch_device(self) -> torch.device:
        """The device as a ``torch.device`` with its index."""
        import torch

        device = torch.device(self.device)
        if device.type != "cuda" or device.index is not None:
            return device
        if not torch.cuda.is_initialized():  # it may come from a file that was written where there was a GPU
            check_available(self.device)
        return torch.device("cuda", torch.cuda.current_device())

    @property
    def budget(self) -> int:
        """The memory budget in bytes."""
        import torch

        if self.memory is not None:
            return parse_bytes(self.memory)
        if self.torch_device.type == "cpu":
            return 2 * 2**30
        return int(0.8 * torch.cuda.get_device_properties(self.torch_device).total_memory)

    @property
    def products_from(self) -> int:  # type: ignore[override]
        """Number of landmarks from which ridge regression by products is faster than by sums over features."""
        return {"cuda": 100, "cpu": 3_000}[self.torch_device.type]

    @property
    def tile_edge(self) -> int:  # type: ignore[override]
        """Rows and columns of a tile."""
        return {"cuda": 8192}.get(self.torch_device.type, TILE_EDGE)  # a GPU needs large tiles to be busy

    def workers(self, task: Task) -> int:
        """Return the number of tiles of this task that are computed at once."""
        return 1 if getattr(task, "on_tensors", False) else LocalEngine().workers(task)

    def fallback_note(self, similarity: Any) -> str | None:
        """Explain that a similarity is computed on the CPU; None if it is computed on the device."""
        if similarity.hints.on_tensors:
            return None
        return f"{similarity!r} does not work on tensors: its values were computed on the CPU with NumPy"

    def operator(self, similarity: Any, A: Encoding, B: Encoding) -> Any:
        """Return K(A, B) as a `KernelOperator` on the device, or None if the device cannot compute it."""
        from similitude.compute.engines.torch.kernel_operator import KernelOperator
        from similitude.compute.engines.torch.transfer import is_movable

        if not similarity.hints.on_tensors or not is_movable(A) or not is_movable(B):
            return None
        check_device(self, A)
        check_device(self, B, "Z")
        return KernelOperator(self, similarity, A, B)

    def run(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None = None
    ) -> Iterator[Any]:
        """Yield one result per tile, in order (see `Engine.run`)."""
        from similitude.compute.engines.torch.transfer import is_movable

        if not (getattr(task, "on_tensors", False) and is_movable(A) and is_movable(B)):
            return self._on_host(task, A, B, tiles, target)
        check_device(self, A)
        check_device(self, B, "Z")
        return self._on_device(task, A, B, tiles, target)

    def _on_host(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None
    ) -> Iterator[Any]:
        """Yield the results of the CPU, as tensors on the device if A holds tensors."""
        from similitude.compute.engines.torch.transfer import DeviceCopier

        left = moved(A, as_numpy)
        right = left if B is A else moved(B, as_numpy)
        if tensor_in(A) is None:
            return LocalEngine().run(task, left, right, tiles, target)
        results = LocalEngine().run(task, left, right, tiles)
        return delivered((moved(one, DeviceCopier(self.torch_device)) for one in results), tiles, target)

    def _on_device(
        self, task: Any, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None
    ) -> Iterator[Any]:
        """Yield the results of the device; those of a tile are copied back while the next tile is computed."""
        from similitude.compute.engines.torch.transfer import DeviceCopier, in_halves_if_needed, prefetched

        copy = DeviceCopier(self.torch_device)
        B_there = B
        if nbytes(B) <= self.budget // 4:
            B_there = moved(B, copy)
        A_there = B_there if A is B else A

        def inputs(tile: Tile) -> tuple[Encoding, Encoding]:
            a, b = tile_inputs(A_there, B_there, tile)
            return moved(a, copy), moved(b, copy)

        def computed() -> Iterator[Any]:
            for tile, there in zip(tiles, prefetched(inputs, tiles), strict=True):
                with self.matmul_precision():
                    result = compute_piece(partial(in_halves_if_needed, task, task.joined), there, tile)
                yield result
            yield None

        results: Iterator[Any] = (result for result, _ in pairwise(computed()))
        if tensor_in(A) is None:
            results = (moved(result, as_numpy) for result in results)
        return delivered(results, tiles, target)

    def to_device(self, encoding: Encoding, reserve: int = 0) -> Encoding:
        """Return an encoding on the device, or unchanged if it is too large (see `Engine.to_device`)."""
        from similitude.compute.engines.torch.transfer import DeviceCopier, is_movable

        # share of the budget up to which arrays are held on the device for linear algebra
        fits = is_movable(encoding) and nbytes(encoding) + reserve <= 0.5 * self.budget
        return moved(encoding, DeviceCopier(self.torch_device)) if fits else encoding

    @contextmanager
    def linear_algebra(self, what: str) -> Iterator[None]:
        """Set the precision of matrix products, and name `what` if it does not fit on the device."""
        import torch

        try:
            with self.matmul_precision():
                yield
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise MemoryError(
                f"{what} does not fit on {self.device}; LocalEngine() uses the memory of this computer: {error}"
            ) from error

    @contextmanager
    def matmul_precision(self) -> Iterator[None]:
        """Set the precision of products of float32 matrices within the context."""
        import torch

        matmul = torch.backends.cuda.matmul
        known = {"tf32": "tf32", "float32": "ieee"}
        get = partial(getattr, matmul, "fp32_precision")
        put: Any = partial(setattr, matmul, "fp32_precision")
        if not hasattr(matmul, "fp32_precision"):  # torch < 2.9
            known = {"tf32": "high", "float32": "highest"}
            get = torch.get_float32_matmul_precision
            put = torch.set_float32_matmul_precision
        before = get()
        put(known[self.precision])
        try:
            yield
        finally:
            put(before)


def check_available(name: str) -> None:
    """Raise if a device does not exist, and name those that do."""
    try:
        import torch
    except ImportError as error:
        raise missing_extra("torch", "TorchEngine") from error
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device must be 'cuda', 'cuda:0' or 'cpu', got {brief(name)}") from error
    if device.type == "cpu":
        return
    if device.type != "cuda":
        raise ValueError(f"device must be 'cuda', 'cuda:0' or 'cpu', got {brief(name)}")
    if not torch.cuda.is_available():
        raise RuntimeError(
            f"device {name!r}: torch finds no CUDA device; TorchEngine(device='cpu') uses the CPU, and "
            "a model computes on this computer after set_params(engine=None)"
        )
    if device.index is not None and device.index >= torch.cuda.device_count():
        available = ", ".join(f"'cuda:{i}'" for i in range(torch.cuda.device_count()))
        raise ValueError(f"there is no device {name!r}: available are {available}")


def check_device(engine: Any, X: Encoding, name: str = "X") -> None:
    """Raise if X holds tensors on another device than that of the engine."""
    tensor = tensor_in(X)
    if tensor is not None and tensor.device != engine.torch_device:
        raise ValueError(
            f"{name} is a tensor on {tensor.device}, the engine computes on {engine.torch_device}: move it with "
            f"{name}.to({str(engine.torch_device)!r}), or use TorchEngine(device={str(tensor.device)!r})"
        )
