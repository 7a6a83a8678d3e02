"""PolynomialSketchMap: random features whose dot products have a polynomial kernel as their mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import fft
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from similitude.compute import Blocks, Encoding, as_matrix
from similitude.compute.engines import Engine
from similitude.kernels import Cosine, Linear, Polynomial
from similitude.kernels.vectors import inner, unit_rows
from similitude.maps.landmark import FeatureMap
from similitude.maps.sketches import Written, random_signs, strips
from similitude.similarity import Power, Scaled, Shifted, as_similarity
from similitude.support import Guarantee, Premise, check_integer, generator, rounded_up
from similitude.theory import DELTA


class PolynomialSketchMap(FeatureMap):
    r"""Random features of a polynomial kernel by TensorSketch: :math:`E[F(x) \cdot F(z)] = K(x, z)`.

    The features of :math:`(s \langle x, z\rangle + c)^p` are all products of p entries of
    :math:`u = (\sqrt{s}\,x, \sqrt{c})`. Each of p independent count sketches adds every entry of u, with a random
    sign, to one of D sums; the circular convolution of the p sketches, computed by Fourier transforms, is a count
    sketch of all products: :math:`O(p (d + D \log D))` per vector, or the number of its non-zero entries in place of
    d. (Pham and Pagh, "Fast and scalable polynomial kernels via explicit feature maps", 2013.)

    Parameters
    ----------
    kernel : Similarity or str
        Polynomial, Linear or Cosine; whole powers and positive multiples of these; Linear or Cosine plus a constant.
        No coefficient may be negative.
    n_components : int
        The number of features D.
    random_state : int, optional
    engine : Engine, optional

    Attributes
    ----------
    kernel_ : Similarity
    sketch_ : TensorSketch
        Which sum each entry is added to, and with which sign.
    guarantee_ : Guarantee
        How far F(x) . F(z) may be from K(x, z).

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.kernels import Polynomial
    >>> from similitude.maps import PolynomialSketchMap
    >>> X = np.array([[1., 0.], [.6, .8]])
    >>> F = PolynomialSketchMap(Polynomial(degree=2), n_components=5000).fit_transform(X)
    >>> F.shape, (F @ F.T).round(0)
    ((2, 5000), array([[4., 3.], [3., 4.]]))
    """

    sketch_: TensorSketch
    _takes_tensors = False

    def __init__(
        self,
        kernel: Any = "polynomial",
        *,
        n_components: int = 1000,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state
        self.engine = engine

    def fit(self, X: Any, y: Any = None) -> Any:
        """Draw the sketches.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Vectors, of which the dimension and the precision matter.
        y : ignored
        """
        width = check_integer("n_components", self.n_components)
        form = form_of(self.kernel if self._precomputed else as_similarity(self.kernel))
        with self._sampled(X) as given:
            X = self._checked(given.objects, reset=True)
        rng = generator(self.random_state)
        self._start(X, rng)
        shape = (form.degree, X.shape[1] + 1)
        self.sketch_ = TensorSketch(form, width, rng.integers(width, size=shape), random_signs(rng, shape, X.dtype))
        self.guarantee_ = promise(width, form.degree)
        self.n_features_out_ = width
        return self

    def features(self, X: Any) -> Blocks:
        """Return the features as strips of rows."""
        check_is_fitted(self)
        A = as_matrix(self._checked(X, reset=False))
        if self.sketch_.form.unit:
            A = unit_rows(A)
        recipe = replace(self.sketch_, signs=self.sketch_.signs.astype(A.dtype, copy=False))
        return Blocks(Written("PolynomialSketchMap"), A, recipe, engine=self._engine, whole_rows=True)


@dataclass(frozen=True)
class Form:
    """The kernel factor (scale <x, z> + coef0)^degree, of vectors scaled to length 1 where `unit`."""

    degree: int = 1
    coef0: float = 0.0
    scale: float = 1.0
    factor: float = 1.0
    unit: bool = False


def form_of(kernel: Any) -> Form:
    """Return a kernel as a power of a dot product; raise an error for other kernels."""
    form = _form_of(kernel)
    if form is None:
        raise TypeError(
            f"PolynomialSketchMap takes Polynomial, Linear and Cosine kernels, their whole powers and positive "
            f"multiples, and Linear or Cosine plus a constant, not subclasses of them, got {kernel!r}: FourierMap "
            f"takes kernels of differences, ProjectionMap any kernel"
        )
    if min(form.coef0, form.scale, form.factor) < 0:
        raise ValueError(f"{kernel!r} has a negative coefficient: it need not be a kernel, and no features give it")
    return form


def _form_of(kernel: Any) -> Form | None:
    kind = type(kernel)  # a subclass may compute something else
    if kind is Polynomial:
        return Form(int(kernel.degree), float(kernel.coef0), float(kernel.scale))
    if kind in (Linear, Cosine):
        return Form(unit=kind is Cosine)
    if kind not in (Scaled, Power, Shifted):
        return None
    inside = _form_of(kernel.k)
    if inside is None:
        return None
    if kind is Scaled:
        return replace(inside, factor=inside.factor * float(kernel.factor))
    if kind is Power and kernel.exponent >= 1 and float(kernel.exponent).is_integer():
        n = int(kernel.exponent)
        return replace(inside, degree=inside.degree * n, factor=inside.factor**n)
    if kind is Shifted and inside.degree == 1:
        scale = inside.scale * inside.factor
        coef0 = inside.coef0 * inside.factor + float(kernel.constant)
        return replace(inside, scale=scale, coef0=coef0, factor=1.0)
    return None


@dataclass(frozen=True, eq=False)
class TensorSketch:
    """Count sketches of a vector and a constant, to be convolved: row i of `sums` and `signs` belongs to sketch i.

    As an encoding they are never cut.
    """

    form: Form
    width: int
    sums: np.ndarray
    signs: np.ndarray

    def __len__(self) -> int:
        return self.width

    def __getitem__(self, which: Any) -> TensorSketch:
        return self

    @cached_property
    def matrices(self) -> list[Any]:
        """Each sketch of a vector as a sparse matrix."""
        d = self.sums.shape[1] - 1
        scaled = self.signs[:, :d] * self.signs.dtype.type(math.sqrt(self.form.scale))
        places = zip(scaled, self.sums[:, :d], strict=True)
        return [csr_array((sign, (sums, np.arange(d))), shape=(self.width, d)) for sign, sums in places]

    def write(self, A: Encoding, out: np.ndarray) -> None:
        """Write the features of every row of A."""
        # bytes of features that are computed at once: many rows for each Fourier transform, and still in the cache
        for some in strips(len(out), out.itemsize * self.width, 2**19):
            counts = self._counted(A[some], 0)
            if len(self.sums) > 1:  # convolved: the product of all Fourier transforms, transformed back
                product = fft.rfft(counts)
                for i in range(1, len(self.sums)):
                    product *= fft.rfft(self._counted(A[some], i), overwrite_x=True)
                counts = fft.irfft(product, n=self.width, overwrite_x=True)
            out[some] = counts
        if self.form.factor != 1.0:
            out *= math.sqrt(self.form.factor)

    def _counted(self, A: Encoding, i: int) -> np.ndarray:
        """Return count sketch i of every row."""
        counts = inner(A, self.matrices[i])
        counts[:, self.sums[i, -1]] += self.signs[i, -1] * self.signs.dtype.type(math.sqrt(self.form.coef0))
        return counts


def promise(width: int, degree: int) -> Guarantee:
    """Return how far F(x) . F(z) may be from K(x, z) for one pair: Chebyshev's inequality on its variance.

    The square of F(x) . F(z) is a sum over four products of p entries each. The mean of their signs is zero unless the
    four entries at each of the p places are two equal pairs. One of the three kinds at every place gives K(x, z)^2;
    each of the 3^p - 1 other choices needs two sums to coincide, which has probability 1/D, and adds at most K(x, x)
    K(z, z) / D.
    """
    spread = (3.0**degree - 1.0) / width
    epsilon = math.sqrt(spread / DELTA)
    statement = (
        f"|F(x).F(z) - K(x, z)| < {rounded_up(epsilon, 2)} sqrt(K(x, x) K(z, z)) with probability >= {1 - DELTA:g}, "
        f"since the mean of F(x).F(z) is K(x, z) and its variance at most (3^p - 1) K(x, x) K(z, z) / D"
    )
    numbers: dict[str, float] = {"n_components": width, "degree": degree, "epsilon": epsilon, "delta": DELTA}
    theorem = "Chebyshev's inequality (Avron, Nguyen and Woodruff, Subspace embeddings for the polynomial kernel, 2014)"
    independent = Premise("x and z do not depend on the sketches drawn", "proven", "they were drawn at random")
    return Guarantee.under([independent], statement, theorem, numbers)
