"""Triton kernels: sums over j of f(x_i, y_j) v_j, tile by tile in registers; the matrix of f is never stored.

Arrays are padded with zeros to whole tiles (`PAD` rows), so that only the rows of the result need a mask. The columns
are split into stretches whose sums are stored separately and added in order: the result does not depend on the order in
which programs run.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from triton.runtime.errors import OutOfResources

PAD = 128
"""Rows and columns are padded to multiples of this."""

TILE_ROWS = 64
TILE_COLUMNS = 128
"""The tile of pairs that a program computes in each step."""

CHUNK_FEATURES = 64
"""Number of features that are multiplied at once if there are more than `RESIDENT_FEATURES`."""

RESIDENT_FEATURES = 128
"""Number of features up to which those of the rows of a tile stay in registers for all columns."""

EXACT_FEATURES = tl.constexpr(1024)
"""Number of features up to which tensor cores, which truncate their sums, add up all of them; beyond, a chunk each."""

DOT_FORMS = {"gaussian": 0, "rational_quadratic": 1, "polynomial": 2, "sigmoid": 3}
SUM_FORMS = {"gaussian": 0, "rational_quadratic": 1, "laplace": 4, "matern3": 5, "matern5": 6}


@triton.jit
def _of_dots(e, ai, bj, p, q, FORM: tl.constexpr, DEGREE: tl.constexpr):
    """Return the function of dot products e; functions of distances take -e - a_i - b_j."""
    if FORM == 0:
        value = tl.exp2(e + (ai[:, None] + bj[None, :]))
    elif FORM == 1:
        apart = tl.maximum(-(e + (ai[:, None] + bj[None, :])), 0.0)
        value = tl.exp2(-q * tl.log2(1.0 + apart))
    elif FORM == 2:
        base = p * e + q
        value = base
        for _ in tl.static_range(1, DEGREE):
            value = value * base
    else:
        value = 2.0 * tl.sigmoid(2.0 * (p * e + q)) - 1.0
    return value


@triton.jit
def _of_sums(s, p, q, FORM: tl.constexpr):
    """Return the function of sums over features; p is to the base 2 if it is an exponent."""
    if FORM == 0:
        value = tl.exp2(p * s)
    elif FORM == 1:
        value = tl.exp2(-q * tl.log2(1.0 + p * s))
    elif FORM == 4:
        value = tl.exp2(p * tl.sqrt(s))
    elif FORM == 5:
        u = p * tl.sqrt(s)
        value = (1.0 + u) * tl.exp2(u * -1.4426950408889634)
    else:
        u = p * tl.sqrt(s)
        value = (1.0 + u + u * u * 0.3333333333333333) * tl.exp2(u * -1.4426950408889634)
    return value


@triton.jit
def _dot(xh, xl, yh, yl, e, METHOD: tl.constexpr):
    """Add the dot products of a chunk of features to e; small parts first."""
    if METHOD == 0:
        e = tl.dot(xl, yh, acc=e)
        e = tl.dot(xh, yl, acc=e)
        e = tl.dot(xh, yh, acc=e)
    elif METHOD == 1:
        e = tl.dot(xh, yh, acc=e, input_precision="tf32x3")
    else:
        e = tl.dot(xh, yh, acc=e, input_precision="tf32")
    return e


@triton.jit
def _added(value, acc, over, V, j, OUT: tl.constexpr):
    """Add values times V to the sums of the rows of the tile, with compensation for rounding (Kahan)."""
    if OUT == 1:
        part = tl.sum(value * tl.load(V + j)[None, :], axis=1)
    else:
        v = tl.load(V + j[:, None].to(tl.int64) * OUT + tl.arange(0, OUT)[None, :])
        part = tl.dot(value, v, input_precision="tf32x3")
    part -= over
    total = acc + part
    return total, (total - acc) - part


@triton.jit
def _written(acc, over, out, i, s, n, OUT: tl.constexpr):
    """Store the sums of the rows of the tile over one stretch of columns, followed by their compensation."""
    place = s.to(tl.int64) * n + i
    after = tl.num_programs(1).to(tl.int64) * n * OUT
    if OUT == 1:
        tl.store(out + place, acc, mask=i < n)
        tl.store(out + after + place, over, mask=i < n)
    else:
        at = place[:, None] * OUT + tl.arange(0, OUT)[None, :]
        tl.store(out + at, acc, mask=i[:, None] < n)
        tl.store(out + after + at, over, mask=i[:, None] < n)


@triton.jit
def _scaled(X, center, unit, i, k, n, d, CENTERED: tl.constexpr):
    """Load some features of the rows of a tile, less the center, times the unit; zeros beyond both."""
    inside = (i[:, None] < n) & (k[None, :] < d)
    z = tl.load(X + i[:, None].to(tl.int64) * d + k[None, :], mask=inside, other=0.0)
    if CENTERED:
        z = tl.where(inside, z - tl.load(center + k, mask=k < d, other=0.0)[None, :], 0.0)
    return z * unit


@triton.jit
def offsets_kernel(X, center, out, n, d, unit, CENTERED: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr):
    """Store minus half the squared norms of the rows of one tile, added up in float64."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), tl.float64)
    for d0 in tl.range(0, d, BD):
        z = _scaled(X, center, unit, i, d0 + tl.arange(0, BD), n, d, CENTERED).to(tl.float64)
        total += tl.sum(z * z, axis=1)
    tl.store(out + i, (-0.5 * total).to(tl.float32))


@triton.jit
def halves_kernel(
    X, center, high, low, n, d, width, unit, CENTERED: tl.constexpr, SPLIT: tl.constexpr, BD: tl.constexpr,
    BM: tl.constexpr,
):  # fmt: skip
    """Store the features of the rows of one tile: in float32, or as the sum of two numbers in float16."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    for d0 in tl.range(0, width, BD):
        k = d0 + tl.arange(0, BD)
        at = i[:, None].to(tl.int64) * width + k[None, :]
        z = _scaled(X, center, unit, i, k, n, d, CENTERED)
        if SPLIT:
            h = z.to(tl.float16)
            tl.store(high + at, h)
            tl.store(low + at, (z - h.to(tl.float32)).to(tl.float16))
        else:
            tl.store(high + at, z)


@triton.jit
def dots_kernel(
    Xh, Xl, Yh, Yl, a, b, V, out, n, m, stretch, p, q, one,
    D: tl.constexpr, BD: tl.constexpr, FORM: tl.constexpr, DEGREE: tl.constexpr, METHOD: tl.constexpr,
    OUT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Add up functions of dot products over one stretch of columns, for the rows of one tile."""
    s = tl.program_id(1)
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.arange(0, BD)
    at = i[:, None].to(tl.int64) * D + k[None, :]
    ai = tl.load(a + i)
    xh = tl.load(Xh + at)
    xl = xh
    if METHOD == 0:
        xl = tl.load(Xl + at)
    if OUT == 1:  # noqa: SIM108 (compiled: only one branch exists)
        acc = tl.zeros((BM,), tl.float32)
    else:
        acc = tl.zeros((BM, OUT), tl.float32)
    over = acc
    for j0 in tl.range(s * stretch, tl.minimum(s * stretch + stretch, m), BN):
        j = j0 + tl.arange(0, BN)
        bt = j[None, :].to(tl.int64) * D + k[:, None]
        e = tl.zeros((BM, BN), tl.float32)
        if D == BD:
            yh = tl.load(Yh + bt)
            yl = yh
            if METHOD == 0:
                yl = tl.load(Yl + bt)
            e = _dot(xh, xl, yh, yl, e, METHOD)
        else:
            for d0 in tl.range(0, D, BD):
                ch = tl.load(Xh + at + d0)
                dh = tl.load(Yh + bt + d0)
                cl = ch
                dl = dh
                if METHOD == 0:
                    cl = tl.load(Xl + at + d0)
                    dl = tl.load(Yl + bt + d0)
                if D <= EXACT_FEATURES:
                    e = _dot(ch, cl, dh, dl, e, METHOD)
                else:
                    part = _dot(ch, cl, dh, dl, tl.zeros((BM, BN), tl.float32), METHOD)
                    e = tl.fma(part, one, e)  # `one` is known at run time only, so that this is not made one sum again
        value = _of_dots(e, ai, tl.load(b + j), p, q, FORM, DEGREE)
        acc, over = _added(value, acc, over, V, j, OUT)
    _written(acc, over, out, i, s, n, OUT)


@triton.jit
def sums_kernel(
    X, Y, V, out, n, m, stretch, X_rows, Y_rows, p, q,
    D, ABSOLUTE: tl.constexpr, FORM: tl.constexpr, OUT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Add up functions of sums of differences, feature by feature; X and Y hold one feature per row."""
    s = tl.program_id(1)
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    if OUT == 1:  # noqa: SIM108 (compiled: only one branch exists)
        acc = tl.zeros((BM,), tl.float32)
    else:
        acc = tl.zeros((BM, OUT), tl.float32)
    over = acc
    for j0 in tl.range(s * stretch, tl.minimum(s * stretch + stretch, m), BN):
        j = j0 + tl.arange(0, BN)
        total = tl.zeros((BM, BN), tl.float32)
        x_at = X + i
        y_at = Y + j
        for _ in tl.range(0, D):
            apart = tl.load(x_at)[:, None] - tl.load(y_at)[None, :]
            x_at += X_rows
            y_at += Y_rows
            if ABSOLUTE:
                total += tl.abs(apart)
            else:
                total += apart * apart
        acc, over = _added(_of_sums(total, p, q, FORM), acc, over, V, j, OUT)
    _written(acc, over, out, i, s, n, OUT)


def padded_rows(rows: int) -> int:
    """Return the number of rows, padded to whole tiles."""
    return triton.cdiv(rows, PAD) * PAD


def padded_features(d: int) -> int:
    """Return the number of features, padded to what is multiplied at once."""
    if d <= RESIDENT_FEATURES:
        return max(16, triton.next_power_of_2(d))
    return triton.cdiv(d, CHUNK_FEATURES) * CHUNK_FEATURES


def offsets(X: torch.Tensor, center: torch.Tensor | None, unit: float) -> torch.Tensor:
    """Return minus half the squared norms of ``(X - center) * unit``, padded to whole tiles."""
    n, d = X.shape
    rows = padded_rows(n)
    centered = center is not None
    out = torch.empty(rows, device=X.device, dtype=torch.float32)
    with torch.cuda.device_of(X):
        offsets_kernel[(rows // TILE_ROWS,)](
            X, center if centered else X, out, n, d, unit, centered, min(CHUNK_FEATURES, padded_features(d)), TILE_ROWS
        )
    return out


def halves(X: torch.Tensor, center: torch.Tensor | None, unit: float, split: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ``(X - center) * unit`` padded to whole tiles, if `split` in two parts in float16 that add up to it."""
    n, d = X.shape
    rows = padded_rows(n)
    width = padded_features(d)
    centered = center is not None
    high = torch.empty(rows, width, device=X.device, dtype=torch.float16 if split else torch.float32)
    low = torch.empty_like(high) if split else high
    with torch.cuda.device_of(X):
        halves_kernel[(rows // TILE_ROWS,)](
            X, center if centered else X, high, low, n, d, width, unit, centered, split, min(CHUNK_FEATURES, width),
            TILE_ROWS,
        )  # fmt: skip
    return high, low


def of_dots(
    vectors: Any, sizes: tuple[int, int], form: str, p: float, q: float, degree: int, method: str, V: torch.Tensor
) -> torch.Tensor:
    """Return the product of the matrix f(<x_i, y_j>) with V, in float64, for the halves and offsets of x and of y."""
    (x_high, x_low, x_offset), (y_high, y_low, y_offset) = vectors
    D = x_high.shape[1]
    constants = {
        "D": D,
        "BD": D if D <= RESIDENT_FEATURES else CHUNK_FEATURES,
        "FORM": DOT_FORMS[form],
        "DEGREE": degree,
        "METHOD": ("fp16x3", "tf32x3", "tf32").index(method),
    }
    arrays = (x_high, x_low, y_high, y_low, x_offset, y_offset)
    return _product(dots_kernel, arrays, sizes, V, (p, q, 1.0), constants)


def of_sums(
    vectors: Any, sizes: tuple[int, int], absolute: bool, form: str, p: float, q: float, V: torch.Tensor
) -> torch.Tensor:
    """Return the product of f(sum of absolute or squared differences of x_i and y_j) with V, for rows of features."""
    x, y = vectors
    numbers = (x.shape[1], y.shape[1], p, q, x.shape[0])
    return _product(sums_kernel, vectors, sizes, V, numbers, {"ABSOLUTE": absolute, "FORM": SUM_FORMS[form]})


def _product(
    kernel: Any, arrays: Any, sizes: tuple[int, int], V: torch.Tensor, numbers: Any, constants: dict[str, Any]
) -> torch.Tensor:
    """Run a kernel on all tiles, and add up the compensated sums of the stretches of columns in order."""
    n, m = sizes
    k = V.shape[1]
    outputs = 1
    if k > 1:  # matrix products need a power of two from 16 on
        outputs = max(16, triton.next_power_of_2(k))
    wide = torch.zeros(padded_rows(m), outputs, device=V.device, dtype=V.dtype)
    wide[: len(V), :k] = V
    rows = triton.cdiv(n, TILE_ROWS)
    # 4,096 programs keep a GPU busy to the end
    splits = max(1, min(triton.cdiv(4096, rows), triton.cdiv(m, 16 * TILE_COLUMNS)))
    stretch = triton.cdiv(triton.cdiv(m, splits), TILE_COLUMNS) * TILE_COLUMNS
    splits = triton.cdiv(m, stretch)
    out = torch.empty(2, splits, n, outputs, device=V.device, dtype=torch.float32)
    shape = {"OUT": outputs, "BM": TILE_ROWS, "BN": TILE_COLUMNS, "num_warps": 4}
    with torch.cuda.device_of(out):
        for stages in (3, 2, 1):  # fewer if the GPU has too little shared memory
            try:
                arguments = (*arrays, wide, out, n, m, stretch, *numbers)
                kernel[(rows, splits)](*arguments, **constants, **shape, num_stages=stages)
                break
            except OutOfResources:
                if stages == 1:
                    raise
    sums, over = out[..., :k].to(torch.float64)
    return (sums - over).sum(0)
