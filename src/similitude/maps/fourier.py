"""FourierMap: cosines and sines at random frequencies, whose dot products approximate a kernel of differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils.validation import check_is_fitted

from similitude.compute import Blocks, Encoding, check_fits, is_sparse, itemsize, loops, namespace
from similitude.compute.engines import Engine, one_blas_thread
from similitude.kernels import Gaussian, Laplace, Matern, RationalQuadratic
from similitude.kernels.vectors import IDENTITY, pairwise
from similitude.maps.landmark import FeatureMap
from similitude.maps.sketches import Written, hadamard, padded, random_signs, strips
from similitude.similarity import Scaled, as_similarity
from similitude.support import Guarantee, Premise, check_choice, check_integer, generator, rounded_up
from similitude.theory import DELTA


@dataclass(frozen=True)
class Law:
    """The law of frequencies whose mean cosine is a kernel: a normal vector times `scale` times a random factor.

    ``stretch(rng, m)`` draws m of these factors. Without `radial` the entries are independent Cauchy variables.
    """

    scale: float
    stretch: Callable[[np.random.Generator, int], Any] = lambda rng, m: 1.0
    radial: bool = True
    factor: float = 1.0

    def plain(self, d: int, m: int, rng: np.random.Generator) -> Matrix:
        """Draw m independent frequencies for vectors of dimension d."""
        directions = (rng.standard_normal if self.radial else rng.standard_cauchy)((d, m))
        return Matrix(directions * self._scales(m, rng))

    def orthogonal(self, d: int, m: int, rng: np.random.Generator) -> Matrix:
        """Draw frequencies in orthogonal directions in blocks of d; each alone, up to its sign, follows the law."""
        blocks, rest = divmod(m, d)
        with one_blas_thread:  # several would wait for each other more than they work
            directions = list(np.linalg.qr(rng.standard_normal((blocks, d, d)))[0])
            G = rng.standard_normal((d, rest))
            if 2 * rest > d:
                directions.append(np.linalg.qr(G)[0])
            elif rest:  # few normal columns, far from dependent, need no pivots
                lower = np.linalg.cholesky(G.T @ G)
                directions.append(solve_triangular(lower, G.T, lower=True, check_finite=False).T)
        lengths = np.sqrt(rng.chisquare(d, m)) * self._scales(m, rng)
        return Matrix(np.concatenate(directions, axis=1) * lengths)

    def structured(self, d: int, m: int, rng: np.random.Generator) -> Structured:
        """Draw frequencies whose directions are rows of products H D H D H D."""
        # dimension to which shorter vectors are padded before structured transforms: their directions are then many
        size = max(64, padded(d))
        signs = random_signs(rng, (3, size * math.ceil(m / size)), np.dtype(np.float64))
        lengths = np.sqrt(rng.chisquare(size, m)) * self._scales(m, rng)
        return Structured(signs, size, lengths / size**1.5)

    def _scales(self, m: int, rng: np.random.Generator) -> Any:
        return self.stretch(rng, m) * (self.scale * 2.0 / math.pi)


def law_of(kernel: Any) -> Law:
    """Return the law of frequencies of a kernel; a scale that is not resolved counts as 1."""
    kind = type(kernel)  # a subclass may compute something else
    if kind is Scaled and kernel.factor > 0:
        inside = law_of(kernel.k)
        return replace(inside, factor=inside.factor * float(kernel.factor))
    if kind is Gaussian:
        return Law(1.0 / _number(kernel.sigma))
    if kind is Laplace:
        sigma = _number(kernel.sigma)
        rate = 1.0 / sigma
        if kernel.squared_scale:
            rate = 0.5 / sigma**2
        if kernel.norm == 1:
            return Law(rate, radial=False)
        return Law(rate, _student(1.0))
    if kind is Matern:
        scale = 1.0 / _number(kernel.length)
        if kernel.nu == math.inf:
            return Law(scale)
        return Law(scale, _student(2.0 * kernel.nu))
    if kind is RationalQuadratic:
        alpha = float(kernel.alpha)
        return Law(1.0 / _number(kernel.length), lambda rng, m: np.sqrt(rng.gamma(alpha, 1.0 / alpha, m)))
    raise TypeError(
        f"FourierMap knows the frequencies of Gaussian, Laplace, Matern and RationalQuadratic kernels and of positive "
        f"multiples of them, not of their subclasses, got {kernel!r}: ProjectionMap takes any kernel, "
        f"PolynomialSketchMap polynomial ones"
    )


def base_kernel(kernel: Any) -> Any:
    """Return the kernel below positive factors, which encodes the vectors that frequencies are drawn for."""
    return base_kernel(kernel.k) if type(kernel) is Scaled else kernel


def _number(scale: Any) -> float:
    return 1.0 if isinstance(scale, str) else float(scale)


def _student(degrees: float) -> Callable[[np.random.Generator, int], Any]:
    """Return what makes a normal vector one of the multivariate Student law."""
    # largest factor by which a heavy-tailed law increases a frequency: larger angles have no correct digits
    return lambda rng, m: np.sqrt(np.minimum(degrees / np.maximum(rng.chisquare(degrees, m), 1e-300), 1e18**2))


@dataclass(frozen=True, eq=False)
class Matrix:
    """Frequencies in quarter turns, as the columns of a matrix."""

    weights: np.ndarray

    def astype(self, dtype: np.dtype) -> Matrix:
        """Return them in another precision."""
        return Matrix(self.weights.astype(dtype, copy=False))

    def strips(self, n: int) -> Iterable[slice]:
        """Return all rows at once."""
        return [slice(0, n)]

    def write_turns(self, A: Encoding, out: np.ndarray) -> None:
        """Write the angle of every row at every frequency, in quarter turns."""
        if is_sparse(A):
            pairwise(A, self.weights.T, "product", IDENTITY, out)
        else:
            np.matmul(A, self.weights, out=out)


@dataclass(frozen=True, eq=False)
class Structured:
    """Frequencies as products of signs and Walsh-Hadamard matrices of a size, times their lengths in quarter turns."""

    signs: np.ndarray
    size: int
    lengths: np.ndarray

    def astype(self, dtype: np.dtype) -> Structured:
        """Return them in another precision."""
        return replace(self, signs=self.signs.astype(dtype, copy=False), lengths=self.lengths.astype(dtype, copy=False))

    def strips(self, n: int) -> Iterable[slice]:
        """Return rows few enough for the cache."""
        return strips(n, self.signs.shape[1] * self.signs.itemsize)

    def write_turns(self, A: Encoding, out: np.ndarray) -> None:
        """Write the angle of every row at every frequency, in quarter turns."""
        np.multiply(hadamard(A, self.signs, self.size)[:, : len(self.lengths)], self.lengths, out=out)


FREQUENCY_KINDS = ("plain", "orthogonal", "structured")


class FourierMap(FeatureMap):
    r"""Random Fourier features of a kernel of differences: :math:`F(x) \cdot F(z) \approx K(x, z)`.

    A continuous kernel of x - z is the mean of :math:`\cos(w \cdot (x - z))` over a law of frequencies w (Bochner's
    theorem). With frequencies drawn from it, :math:`F(x) = \sqrt{2/D}\,(\cos w_j \cdot x, \sin w_j \cdot x)_{j \le
    D/2}`; if D is odd, one feature :math:`\sqrt{2/D}\cos(w \cdot x + b)` with a random phase b is added. No data are
    needed but to fix what the kernel leaves open. (Rahimi and Recht, "Random features for large-scale kernel
    machines", 2007.)

    Parameters
    ----------
    kernel : Similarity or str
        Gaussian, Laplace, Matern, RationalQuadratic, with or without a metric, or a positive multiple of one.
    n_components : int
        The number of features D.
    kind : {"plain", "orthogonal", "structured"}
        How frequencies are drawn: independently; in blocks of orthogonal directions with independent lengths, which
        errs less; or as products of signs and Walsh-Hadamard matrices, which costs :math:`D \log d` instead of
        :math:`D d` per vector and needs no matrix (Yu, Suresh, Choromanski, Holtmann-Rice and Kumar, "Orthogonal random
        features", 2016). The lengths are drawn from the kernel's own law: with equal lengths it would be another
        kernel (Demni and Kadri, "Orthogonal random features: explicit forms and sharp inequalities", 2023). Laplace
        with norm=1 depends on more than the length of x - z: it takes "plain".
    random_state : int, optional
    engine : Engine, optional

    Attributes
    ----------
    kernel_ : Similarity
        With data-dependent parameters resolved.
    frequencies_ : array of shape (ceil(D / 2), d)
        The frequencies, one in each row; made when asked for.
    waves_ : Waves
        What the features are made with.
    guarantee_ : Guarantee
        How far F(x) . F(z) may be from K(x, z).

    Notes
    -----
    In single precision angles lose digits where data lie far from the origin: center them first.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.kernels import Gaussian
    >>> from similitude.maps import FourierMap
    >>> X = np.array([[0., 0.], [1., 1.]])
    >>> F = FourierMap(Gaussian(sigma=1.0), n_components=4000).fit_transform(X)
    >>> F.shape, (F @ F.T).round(1)
    ((2, 4000), array([[1. , 0.4], [0.4, 1. ]]))
    """

    waves_: Waves

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        n_components: int = 1000,
        kind: str = "orthogonal",
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.kind = kind
        self.random_state = random_state
        self.engine = engine

    def fit(self, X: Any, y: Any = None) -> Any:
        """Draw frequencies.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Vectors; they fix what the kernel leaves open, such as ``sigma="median"``.
        y : ignored
        """
        width = check_integer("n_components", self.n_components)
        check_choice("kind", self.kind, FREQUENCY_KINDS)
        self._law(self.kernel if self._precomputed else as_similarity(self.kernel))
        with self._sampled(X) as given:
            X = self._checked(given.objects, reset=True)
        rng = generator(self.random_state)
        kernel = self._start(X, rng)[0]
        law = self._law(kernel)
        d = base_kernel(kernel).encode(X[:1]).shape[1]
        m = math.ceil(width / 2)
        if self.kind != "structured":
            check_fits(d, m, 8, self._engine)
        angles = getattr(law, self.kind)(d, m, rng)
        waves = Waves(angles, width, math.sqrt(2.0 * law.factor / width), rng.random())
        self.waves_ = waves.astype(np.dtype(f"float{8 * itemsize(X)}"))
        self.guarantee_ = promise(self.kind, width, d, law.factor)
        self.n_features_out_ = width
        return self

    def features(self, X: Any) -> Blocks:
        """Return the features as strips of rows: the cosines, then the sines."""
        check_is_fitted(self)
        A = base_kernel(self.kernel_).encode(self._checked(X, reset=False))
        waves = self.waves_.astype(np.dtype(f"float{8 * itemsize(A)}"))
        return Blocks(Written("FourierMap"), A, waves, engine=self._engine, whole_rows=True)

    @property
    def frequencies_(self) -> np.ndarray:
        """The frequencies, one in each row."""
        check_is_fitted(self)
        return self.waves_.frequencies(base_kernel(self.kernel_).encode(np.eye(self.n_features_in_)))

    def _law(self, kernel: Any) -> Law:
        law = law_of(kernel)
        if not law.radial and self.kind != "plain":
            raise ValueError(
                f"kind={self.kind!r} needs a kernel of the Euclidean length of x - z, and {kernel!r} is none: "
                f"use kind='plain'"
            )
        return law


@dataclass(frozen=True, eq=False)
class Waves:
    """The waves that features are made of, as an encoding that is never cut.

    The features are `amplitude` times the cosines of all angles, then the sines; of an odd number `width` of features
    the last cosine, after which no sine comes, is moved by a `phase` (in turns).
    """

    angles: Matrix | Structured
    width: int
    amplitude: float
    phase: float

    def __len__(self) -> int:
        return self.width

    def __getitem__(self, which: Any) -> Waves:
        return self

    __iter__ = None  # every part is the whole: there would be no end

    def astype(self, dtype: np.dtype) -> Waves:
        """Return them in another precision."""
        return replace(self, angles=self.angles.astype(dtype))

    def movable(self) -> bool:
        """Tell whether a device can hold them: signs of structured frequencies wait for a loop of their own."""
        return isinstance(self.angles, Matrix)

    def moved(self, move: Callable[[Any], Any]) -> Waves:
        """Return the same with the frequencies passed through `move`."""
        if isinstance(self.angles, Structured):
            return self
        return replace(self, angles=Matrix(move(self.angles.weights)))

    def of_tensor(self, A: Any) -> Any:
        """Return the features of every row of a tensor."""
        assert isinstance(self.angles, Matrix)
        xp = namespace(A)
        pairs = self.width // 2
        turns = A @ self.angles.weights
        if turns.shape[1] > pairs:
            turns[:, pairs:] += 4 * self.phase
        angles = (turns - 4.0 * xp.round(turns / 4.0)) * (math.pi / 2)
        return self.amplitude * xp.concat([xp.cos(angles), xp.sin(angles[:, :pairs])], axis=1)

    def frequencies(self, basis: np.ndarray) -> np.ndarray:
        """Return the frequencies along the encoded unit vectors, one in each row."""
        turns = np.empty((len(basis), math.ceil(self.width / 2)))
        self.astype(np.dtype(np.float64)).angles.write_turns(basis, turns)
        return turns.T * (math.pi / 2)

    def write(self, A: Encoding, out: np.ndarray) -> None:
        """Write the features of every row of A."""
        pairs = self.width // 2
        cosines = math.ceil(self.width / 2)
        for some in self.angles.strips(len(out)):
            turns = out[some, :cosines]
            self.angles.write_turns(A[some], turns)
            loops.cos_sin(turns[:, :pairs], out[some, cosines:], self.amplitude)
            if cosines > pairs:
                last = turns[:, pairs:]
                last += 4 * self.phase
                loops.cos_sin(last, np.empty_like(last), self.amplitude)


def promise(kind: str, width: int, d: int, factor: float) -> Guarantee:
    """Return how far F(x) . F(z) may be from K(x, z) for one pair.

    It is a sum over frequencies of terms in [-2/D, 2/D] times the factor; those of different blocks are independent.
    """
    theorem = "Hoeffding's inequality, with frequencies as in Rahimi and Recht, 2007"
    numbers: dict[str, float] = {"n_components": width, "delta": DELTA}
    if kind == "structured":
        why = "F(x).F(z) is close to K(x, z) in practice: structured directions follow the kernel's law only nearly"
        return Guarantee.none(why, theorem, numbers)
    frequencies = math.ceil(width / 2)
    block = 1 if kind == "plain" else d
    full, rest = divmod(frequencies, block)
    terms = width**2 / (4.0 * (full * block**2 + rest**2))
    epsilon = math.sqrt(2.0 * math.log(2.0 / DELTA) / terms)
    if epsilon >= 1.0 and kind == "orthogonal":
        why = (
            f"the mean of F(x).F(z) is K(x, z), but the {frequencies:,} frequencies form {full + (rest > 0):,} "
            f"orthogonal blocks, too few independent terms for a bound: kind='plain' has one"
        )
        return Guarantee.none(why, theorem, numbers)
    numbers |= {"independent_terms": terms, "epsilon": epsilon * factor}
    statement = f"|F(x).F(z) - K(x, z)| < {rounded_up(epsilon * factor, 2)} with probability >= {1 - DELTA:g}"
    independent = Premise("x and z do not depend on the frequencies drawn", "proven", "they were drawn at random")
    return Guarantee.under([independent], statement, theorem, numbers)
