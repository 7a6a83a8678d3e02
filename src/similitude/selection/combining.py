"""Several similarities combined into one: weighted sums of kernels, or landmark features side by side."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_matrix, check_objects, is_sparse, itemsize, namespace, take
from similitude.compute.engines import Engine
from similitude.evaluation import REGRESSION, TaskTargets, at_rows, check_groups
from similitude.landmarks import SampleFeatures
from similitude.linear import SquaredHinge, l2_path
from similitude.scikit import CHECKED_OBJECTS, demand_valid
from similitude.selection import limits
from similitude.selection.candidates import NamedSimilarity, checked_engine, naming, validated
from similitude.selection.landmark_similarities import ComparedExamples, SampledData, families, sample_rows
from similitude.selection.limits import SampleSizes
from similitude.similarity import PSD, SYMMETRIC, Hints, Similarity, remembered_images
from similitude.support import NotAKernelError, UnresolvedError, brief, check_choice, generator, is_number, pairs_at
from similitude.validity import check_gram

CONSTANT_SHARE = 1e-10  # a kernel is constant if centered features are shorter than this share of the features

WAYS = ("uniform", "alignment", "easymkl", "concatenate")

NOT_A_KERNEL_ADVICE = "how='concatenate' takes any similarity, or use repair(...) first"


def combine(
    similarities: Any,
    X: Any,
    y: Any,
    *,
    how: str = "alignment",
    task: str | None = None,
    groups: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Similarity:
    r"""Combine several similarities into one.

    The first three ways add kernels, :math:`K = \sum_k w_k K_k` with :math:`w_k \ge 0`. The weights are scaled such
    that the mean of K(x, x) over X is 1; kernels with weight exactly zero are left out of the sum.

    ``"uniform"``
        The mean of the kernels, each divided by its mean K(x, x); y is not used.
    ``"alignment"``
        The weights of the sum with the largest centered alignment with the targets: :math:`\min_{v \ge 0} v^\top M v -
        2 v^\top a` with :math:`M_{kl} = \langle K^c_k, K^c_l\rangle` and :math:`a_k = \langle K^c_k, YY^\top\rangle`
        (Cortes, Mohri and Rostamizadeh, "Algorithms for Learning Kernels Based on Centered Alignment", 2012). Y is
        :math:`\pm 1`, in a column for each class if there are several, or the numbers to predict.
    ``"easymkl"``
        For classes. The weight of a kernel is its contribution to the distance between the hulls of the classes (Aiolli
        and Donini, "EasyMKL: a scalable multiple kernel learning algorithm", 2015), with kernels divided by their mean
        K(x, x) and :math:`\Lambda = 0.1`. For several classes, it is the mean over one-vs-rest problems.
    ``"concatenate"``
        For any similarities, PSD or not, symmetric or not: the dot product of all their similarities K(x, l) to
        landmarks, side by side, each similarity divided by the root mean square length of its features (Balcan and
        Blum, "On a Theory of Learning with Similarity Functions", Theorem 3). It is a kernel by construction, see
        `SideBySide`; the landmarks are drawn from X, stratified by class.

    Kernels are compared by their projections onto landmarks drawn from X (at most 500, and fewer for more than eight
    kernels), so that no matrix of examples by examples is computed; if all examples are landmarks, these are the
    kernels themselves.

    Parameters
    ----------
    similarities : list of similarities, or dict of them by name
        Each a Similarity, a name such as ``"gaussian"``, or a function of two objects. For weighted sums, one that is
        known not to be a kernel is refused by name; one without a proof is checked on at most 500 objects.
    X : sequence of objects
        Of more than 10,000 a random sample is used, with a warning.
    y : sequence of labels or numbers
        May be None for ``"uniform"``.
    how : {"alignment", "uniform", "easymkl", "concatenate"}
    task : {"classification", "regression"}, optional
        Whether y holds classes or numbers. Default: inferred as by `choose_kernel`.
    groups : sequence, optional
        What each example belongs to, such as a patient or a document. The alignment leaves out pairs of examples of one
        group: a kernel that recognizes the group says nothing about others. The other ways do not use them.
    random_state : int, optional
        Seed of landmarks and samples.
    engine : Engine, optional

    Returns
    -------
    Similarity
        With data-dependent parameters resolved.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.kernels import Gaussian, Linear
    >>> from similitude.selection import combine
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 2))
    >>> combine([Linear(), Gaussian(sigma=1.0), Gaussian(sigma=9.0)], X, (X**2).sum(axis=1) > 1.4)
    Gaussian(sigma=1.0)
    >>> combine([Gaussian(sigma=1.0), Gaussian(sigma=2.0)], X, None, how="uniform")
    0.5*Gaussian(sigma=1.0) + 0.5*Gaussian(sigma=2.0)
    """
    members = validated(similarities, "similarities")
    check_choice("how", how, WAYS)
    n = check_objects(X)
    targets = None
    if y is not None or how != "uniform":
        targets = TaskTargets.of(y, n, task)
    if how == "easymkl" and targets is not None and targets.task == REGRESSION:
        raise ValueError("how='easymkl' needs classes, y holds numbers: use how='alignment' or task='classification'")
    known = check_groups(groups, n)
    engine = checked_engine(engine)
    rng = generator(random_state)
    most = min(limits.COMBINED_LANDMARKS, max(100, 4_000 // len(members)))  # about 4,000 features together
    size = 3 * 8 * len(members)  # bytes: three arrays of all features are in memory at once
    sizes = SampleSizes(limits.COMBINED_ROWS, most).affordable(n, lambda r, m: size * r * m, engine)
    rows = sample_rows(n, targets, sizes.rows, 2, rng)
    here = targets and targets.at(rows)
    codes = None
    if here is not None and how == "concatenate":
        codes = here.codes
    sizes.announce("combine")
    with remembered_images():
        if any(one.similarity.objects == "vectors" for one in members):
            X = as_matrix(X)
        members = [one.resolved(X, random_state) for one in members]
        data = SampledData.of(X, rows, codes, sizes.landmarks, rng)
        if how == "concatenate":
            return _concatenated(members, data, engine)
        return _weighted_sum(members, data, engine, here, how, at_rows(known, rows))


def _concatenated(members: Sequence[NamedSimilarity], data: SampledData, engine: Engine) -> Similarity:
    """Return the landmark features side by side, with the same mean squared length for every similarity."""
    units = [1.0] * len(members)
    for place, one, compared in _compared(members, data, engine):
        with naming(one.name):
            K = compared.left(one.similarity)
        squared = float(np.einsum("ij,ij->", K, K, dtype=np.float64)) / len(K)
        units[place] = float(np.sqrt(squared * len(members))) or 1.0
    return SideBySide(tuple(one.similarity for one in members), take(data.X, data.landmarks), tuple(units))


def _weighted_sum(
    members: Sequence[NamedSimilarity],
    data: SampledData,
    engine: Engine,
    targets: TaskTargets | None,
    how: str,
    groups: np.ndarray | None,
) -> Similarity:
    """Return the weighted sum of kernels, with mean K(x, x) = 1."""
    features = [np.empty((len(data.rows), 0))] * len(members)
    sizes = np.zeros(len(members))
    for place, one, compared in _compared(members, data, engine):
        with naming(one.name):
            k = one.similarity
            with pairs_at(data.rows, data.rows):
                sizes[place] = float(np.asarray(k.diagonal(compared.A), dtype=np.float64).mean())
            if how != "uniform" or not k.proven:
                F = _projected(k, compared.sample(k), data)
                if sizes[place] > 0:
                    features[place] = F / np.sqrt(sizes[place])
    if not sizes.any():
        raise ValueError("every kernel is zero on X: there is nothing to add")
    if how == "uniform" or targets is None:
        weights = (sizes > 0).astype(np.float64)
    elif how == "easymkl":
        weights = easymkl_weights(features, targets.Y)
    else:
        weights = alignment_weights(features, targets.Y, groups)
    weights = np.divide(weights / weights.sum(), sizes, out=np.zeros(len(members)), where=weights > 0)
    scaled = [(float(w), one.similarity) for w, one in zip(weights, members, strict=True) if w > 0]
    return reduce(operator.add, [k if w == 1.0 else w * k for w, k in scaled])


def _compared(
    members: Sequence[NamedSimilarity], data: SampledData, engine: Engine
) -> Iterator[tuple[int, NamedSimilarity, ComparedExamples]]:
    """Yield each member with its similarities to landmarks, which members with the same distances share."""
    for places in families([one.similarity for one in members]):
        with naming(members[places[0]].name):
            compared = ComparedExamples([members[place].similarity for place in places], data, engine)
        for place in places:
            yield place, members[place], compared


def _projected(k: Similarity, sample: SampleFeatures, data: SampledData) -> np.ndarray:
    """Return the features of a kernel in double precision; refuse what is known not to be a kernel."""
    n = len(sample.landmarks)
    M = sample.gram(n)
    some = np.arange(n)[:CHECKED_OBJECTS]
    if not k.proven:
        objects = take(sample.landmarks.objects, some)
        validity = check_gram(k, M[np.ix_(some, some)], objects, data.landmarks[some], check_objects(data.X))
        demand_valid(validity, NOT_A_KERNEL_ADVICE)
    made = sample.projection(n)
    if made is None and M.any():
        problem = f"{k!r} is not a kernel: the Gram matrix of {n} landmarks is indefinite"
        raise NotAKernelError(f"{problem}. {NOT_A_KERNEL_ADVICE[0].upper()}{NOT_A_KERNEL_ADVICE[1:]}.")
    if made is None:
        return np.empty((len(data.rows), 0))
    features, pivots = made
    K = np.take(sample.similarities(n, "left"), pivots, axis=1)
    return np.asarray(features.ready(K.dtype).transform(K), dtype=np.float64)


def alignment_weights(features: Sequence[np.ndarray], Y: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    r"""Return the weights of the sum of kernels with the largest centered alignment with the targets.

    .. math:: \min_{v \ge 0} v^\top M v - 2 v^\top a, \qquad
              M_{kl} = \langle HK_kH, HK_lH \rangle, \quad a_k = \langle HK_kH, YY^\top \rangle

    with :math:`H = I - \frac{1}{n} 11^\top`: the direction v maximizes the centered alignment of :math:`\sum_k v_k K_k`
    with :math:`YY^\top` (Cortes, Mohri and Rostamizadeh, "Algorithms for Learning Kernels Based on Centered Alignment",
    2012, Proposition 9). With :math:`K_k = F_k F_k^\top`, :math:`M_{kl} = |F_k^\top H F_l|^2` and :math:`a_k =
    |F_k^\top H Y|^2`, in the Frobenius norm. The weight of a kernel that is constant on these examples is zero. With
    groups, the dot products leave out pairs of examples of one group.
    """
    from scipy.optimize import nnls

    Y = _centered(Y / max(float(np.abs(Y).max()), np.finfo(np.float64).tiny))
    if not Y.any():
        raise ValueError("y is constant: kernels cannot be aligned with it")
    together = []
    if groups is not None:
        together = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])
    centered = []
    lengths = np.ones(len(features))
    for k, F in enumerate(features):
        C = _centered(F)
        lengths[k] = np.sqrt(np.linalg.norm(C.T @ C)) or 1.0
        centered.append(C / lengths[k])
        if _aligned(centered[k], centered[k], together) <= CONSTANT_SHARE:
            centered[k][:] = 0.0
    M = np.zeros((len(centered), len(centered)))
    for k, C in enumerate(centered):
        for j in range(k + 1):
            M[k, j] = M[j, k] = _aligned(C, centered[j], together)
    a = np.array([_aligned(C, Y, together) for C in centered])
    if not a.any():
        raise ValueError("no kernel varies with y: every one is constant on these examples")
    if a.max() <= 0:
        raise ValueError("no kernel is aligned with y across groups: there is nothing to add")
    a /= a.max()
    values, vectors = np.linalg.eigh(M)
    kept = values > len(M) * np.finfo(float).eps * values[-1]
    root = np.sqrt(values[kept])
    v, _ = nnls(root[:, None] * vectors[:, kept].T, (vectors[:, kept].T @ a) / root)
    return np.asarray(v) / lengths**2


def _aligned(A: np.ndarray, B: np.ndarray, groups: Sequence[np.ndarray]) -> float:
    """Return the dot product of AA' and BB'; with groups, over pairs of rows of different ones, minus their means."""
    if not groups:
        return float(np.linalg.norm(A.T @ B) ** 2)
    ones = np.ones((len(A), 1))
    sums = []
    for P, Q in ((A, B), (A, ones), (B, ones), (ones, ones)):
        within = sum(float(np.linalg.norm(P[rows].T @ Q[rows]) ** 2) for rows in groups)
        sums.append(float(np.linalg.norm(P.T @ Q) ** 2) - within)
    return sums[0] - sums[1] * sums[2] / sums[3]


def _centered(F: np.ndarray) -> np.ndarray:
    """Return features minus their mean; exactly zero if only rounding remains."""
    C = F - F.mean(axis=0)
    if np.linalg.norm(C) <= CONSTANT_SHARE * np.linalg.norm(F):
        C[:] = 0.0
    return np.asarray(C)


def easymkl_weights(features: Sequence[np.ndarray], signs: np.ndarray) -> np.ndarray:
    r"""Return the weights of EasyMKL, which add up to one; one-vs-rest for several classes.

    Over weights of the examples, which add up to one in each class, it minimizes

    .. math:: \min_\gamma (1 - \Lambda)\, \gamma^\top Y \bar K Y \gamma + \Lambda |\gamma|^2

    where :math:`\bar K` is the mean of the kernels and :math:`\Lambda = 0.1`: the squared distance of two points in the
    hulls of the classes, pulled towards the means of the classes. A kernel then weighs as much as it contributes,
    :math:`\gamma^\top Y K_k Y \gamma`. (Aiolli and Donini, "EasyMKL: a scalable multiple kernel learning algorithm",
    2015, section 3.) This is the dual of a support vector machine with squared hinge, :math:`\sum_i \max(0, 1 - y_i
    f(x_i))^2 + \frac{\Lambda}{1 - \Lambda} |w|^2`, whose residuals are in proportion to :math:`\gamma`; so it is solved
    in the features, which must be those of kernels with the same mean K(x, x).
    """
    features = [_centered(F) for F in features]  # distances between points of the two hulls stay the same
    F = np.concatenate(features, axis=1) / np.sqrt(len(features))
    if F.shape[0] < F.shape[1]:
        F = np.ascontiguousarray(np.asarray(np.linalg.qr(F.T, mode="r")).T)  # the same dot products in fewer features
    penalty = 0.1 / 0.9
    linear = next(l2_path(F, signs, np.ones(len(F)), [penalty], SquaredHinge(), tolerance=1e-8))
    residuals = np.maximum(0.0, 1.0 - signs * linear.scores(F))
    weights = np.zeros(len(features))
    for column in range(signs.shape[1]):
        y = signs[:, column]
        gamma = residuals[:, column]
        directed = np.where(y > 0, gamma / gamma[y > 0].sum(), -gamma / gamma[y < 0].sum())
        contributed = np.array([np.sum((part.T @ directed) ** 2) for part in features])
        if contributed.sum() > 0:
            weights += contributed / contributed.sum()
    if not weights.any():
        raise ValueError("no kernel tells the classes apart: every one is constant on these examples")
    return weights / weights.sum()


class SideBySide(Similarity):
    r"""The dot product of similarities to landmarks under several similarities.

    .. math:: K(x, z) = \sum_k \frac{1}{u_k^2} \sum_j K_k(x, l_j)\, K_k(z, l_j)

    The similarities may be any functions. If some convex combination of them is :math:`(\epsilon, \gamma)`-good, then
    the features of enough landmarks have with high probability a separator of error at most :math:`\epsilon + \delta`
    at margin :math:`\gamma / (4 \sqrt{n})`, where n is the number of similarities; the combination need not be known.
    (Balcan and Blum, "On a Theory of Learning with Similarity Functions", Theorem 3.) Each object takes
    one evaluation of each similarity for each landmark.

    Parameters
    ----------
    similarities : sequence of Similarity
        With data-dependent parameters resolved.
    landmarks : sequence of objects
        The :math:`l_j`.
    units : sequence of float
        The :math:`u_k` by which the similarities are divided.

    Examples
    --------
    >>> from similitude.kernels import Linear
    >>> from similitude.selection import SideBySide
    >>> SideBySide((Linear(), 2.0 * Linear()), landmarks=[[1., 0.], [1., 1.]], units=(1.0, 2.0))([1., 0.], [0., 1.])
    2.0
    """

    claims = frozenset({SYMMETRIC, PSD})
    reason = "the dot product of explicit features: the similarities to landmarks under several similarities"
    hints = Hints()

    def __init__(self, similarities: Sequence[Similarity], landmarks: Any, units: Sequence[float]) -> None:
        self.similarities = similarities
        self.landmarks = landmarks
        self.units = units

    @property
    def objects(self) -> str:  # type: ignore[override]
        """The kind of objects that all of them take."""
        return next((k.objects for k in self.similarities if k.objects != "any"), "any")

    def parts(self) -> tuple[Similarity, ...]:
        """Return the similarities."""
        return tuple(self.similarities)

    def premises(self) -> tuple[Similarity, ...]:
        """Return nothing: it is a kernel for any similarities."""
        return ()

    def check_params(self) -> None:
        """Validate that the similarities are resolved, and that there is a positive unit for each."""
        for name in ("similarities", "units"):
            if not isinstance(getattr(self, name), (Sequence, np.ndarray)):
                raise TypeError(f"{name} must be a sequence, got {brief(getattr(self, name))}")
        if not self.similarities or not all(isinstance(k, Similarity) for k in self.similarities):
            raise TypeError(f"similarities must be one or more similarities, got {brief(self.similarities)}")
        super().check_params()
        for k in self.similarities:
            if k.unresolved():
                raise UnresolvedError(f"{', '.join(k.unresolved())} of {k!r} depends on data: use k.resolve(X)")
        if len(self.units) != len(self.similarities) or not all(is_number(u) and u > 0 for u in self.units):
            raise ValueError(f"units must be {len(self.similarities)} numbers > 0, got {brief(self.units)}")

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Return itself: nothing depends on data."""
        return self

    def encode(self, objects: Any) -> Encoding:
        """Return the features: similarities to the landmarks, divided by the units."""
        made = []
        for k, L, unit in zip(self.similarities, self._encoded_landmarks, self.units, strict=True):
            A = k.encode(objects)
            made.append(k.blocks(A, _like(L, A)).whole() / float(unit))
        xp = namespace(made[0])
        if xp is not np:
            return xp.concat(made, axis=1)
        return np.concatenate(made, axis=1, dtype=np.float32 if itemsize(objects) == 4 else np.float64)

    @cached_property
    def _encoded_landmarks(self) -> list[Encoding]:
        return [k.encode_checked(self.landmarks, "landmarks") for k in self.similarities]

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the dot products of features."""
        return A @ B.T

    def diagonal(self, A: Encoding) -> Any:
        """Return the squared lengths of features."""
        return (A * A).sum(1)

    def _set_param(self, name: str, value: Any) -> None:
        super()._set_param(name, value)
        self.__dict__.pop("_encoded_landmarks", None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_encoded_landmarks"}

    def __repr__(self) -> str:
        n = self.landmarks.shape[0] if hasattr(self.landmarks, "shape") else len(self.landmarks)
        return f"SideBySide({', '.join(map(repr, self.similarities))}; {n} landmarks)"


def _like(L: Encoding, A: Encoding) -> Encoding:
    """Return encoded landmarks in the precision and array namespace of the encoded objects."""
    if isinstance(L, tuple):
        return tuple(_like(one, other) for one, other in zip(L, A, strict=True))
    if not (hasattr(L, "dtype") and hasattr(A, "dtype")) or L.dtype == A.dtype:
        return L
    if isinstance(A, np.ndarray) or is_sparse(A):
        return L.astype(A.dtype) if getattr(L.dtype, "kind", "") == "f" else L
    return namespace(A).asarray(L, dtype=A.dtype, device=A.device)
