"""Features of a sample of rows, from similarities that are computed as far as they are asked for."""

from __future__ import annotations

import copy
from functools import cached_property

import numpy as np

from similitude.compute import Blocks, Encoding, as_numpy, itemsize, rows
from similitude.compute.engines import Engine
from similitude.landmarks.features import LandmarkFeatures, Landmarks, in_double, in_floats, sided
from similitude.landmarks.projection import (
    EXAMINED,
    PROJECTION,
    choose_representation,
    factor_of_landmarks,
    not_projected,
    solve_rows,
    solver,
)
from similitude.similarity import Similarity
from similitude.support import pairs_at


class SampleFeatures:
    """Similarities of a sample of rows to landmarks, and the features they give.

    Parameters
    ----------
    k : Similarity
        Resolved.
    among : encoding
        The sample, or rows that it is drawn from.
    places : array of int
        Positions of the sample in X.
    landmarks : Landmarks
        Encoded, in the order in which they are used.
    engine : Engine
    side : str
        As the user gave it.
    sparse : bool
        Whether the penalty selects landmarks.
    which : array of int, optional
        The rows that are the sample, copied when they are first needed; by default all of them.
    known : dict, optional
        Similarities to all landmarks that were computed already, by side.
    """

    def __init__(
        self,
        k: Similarity,
        among: Encoding,
        places: np.ndarray,
        landmarks: Landmarks,
        engine: Engine,
        side: str = "auto",
        sparse: bool = False,
        which: np.ndarray | None = None,
        known: dict[str, np.ndarray] | None = None,
    ) -> None:
        self.k = k
        self.places = places
        self.landmarks = landmarks
        self.engine = engine
        self.sparse = sparse
        self.proven = k.proven
        self.single = itemsize(among) == 4
        self._among = among
        self._which = which
        self._known = dict(known or {})  # similarities by side: the columns are the first landmarks
        self._gram = np.empty((0, 0))
        self._own = None
        if known or not isinstance(among, np.ndarray):
            self._own = rows_of(landmarks.positions, places)
        self.n_known = len(landmarks)  # to which all similarities are known; all landmarks before any is
        self.n_representations = 1  # that the values of a similarity decide between
        M = None
        if not (self.proven or sparse or side in ("right", "both")):
            self.n_representations = 3 if side == "auto" else 2
            M = self.gram(min(EXAMINED, len(landmarks)))
        self.representation = choose_representation(k, M, side, sparse, self.single)

    @cached_property
    def encoding(self) -> Encoding:
        """The sample."""
        return self._among if self._which is None else rows(self._among, self._which)

    def features(self, n: int, normalized: bool) -> tuple[LandmarkFeatures, np.ndarray]:
        """Return the features that the first n landmarks give, and their values for the sample."""
        if self.representation.name == PROJECTION:
            found = self.projected(n)
            if found is not None:
                return found
            self.representation = not_projected(self.gram(n))
        side = self.representation.side
        K = np.concatenate([self.similarities(n, one) for one in ("left", "right") if side in (one, "both")], axis=1)
        features = LandmarkFeatures(self.k, self.landmarks.only(np.arange(n)), side, normalized=normalized)
        return features, features.transform(K)

    def projected(self, n: int) -> tuple[LandmarkFeatures, np.ndarray] | None:
        """Return the projection onto the first n landmarks, and the projected sample; None as of `projection`."""
        made = self.projection(n)
        if made is None:
            return None
        features, pivots = made
        assert features.factor is not None
        K = np.take(self.similarities(n, "left"), pivots, axis=1)
        return features, solve_rows(K, solver(features.factor, K.dtype))

    def projection(self, n: int) -> tuple[LandmarkFeatures, np.ndarray] | None:
        """Return the projection onto the first n landmarks and its pivots; None if their Gram matrix is not PSD."""
        factor = factor_of_landmarks(self.gram(n), self.single, self.proven)
        if factor is None:
            return None
        return LandmarkFeatures(self.k, self.landmarks.only(factor.pivots), factor=factor.U), factor.pivots

    def similarities(self, n: int, side: str) -> np.ndarray:
        """Return the similarities to the first n landmarks; known ones are not computed again."""
        K = self._known.get(side)
        known = 0 if K is None else K.shape[1]
        if K is None or known < n:
            symmetric = side == "left" and self._own is not None and self.proven and self.k.hints.heavy
            if symmetric:
                values = in_floats(self._by_symmetry(known, n))
            else:
                new = np.arange(known, n)
                positions = self.landmarks.positions
                like, columns = sided(self.k, rows(self.landmarks.encoding, new), side)
                with pairs_at(self.places, None if positions is None else positions[new]):
                    values = in_floats(Blocks(like, self.encoding, columns, engine=self.engine).whole())
            K = values if K is None else np.concatenate([K, values], axis=1)
            self._known[side] = K
            self.n_known = n
            for known_ones in self._known.values():
                self.n_known = min(self.n_known, known_ones.shape[1])
        return K[:, :n]

    def _by_symmetry(self, known: int, n: int) -> np.ndarray:
        """Return the similarities of all rows to the landmarks from `known` to n - 1, each pair of landmarks once."""
        old = self._own[:known]  # type: ignore[index]
        new = self._own[known:n]  # type: ignore[index]
        others = np.setdiff1d(np.arange(len(self.places)), [*old, *new])
        B = rows(self.encoding, new)
        with pairs_at(self.places[new], self.places[new]):
            gram = Blocks(self.k, B, symmetric=True, engine=self.engine).whole()
        values = np.empty((len(self.places), n - known), gram.dtype)
        values[new] = gram
        if known:
            values[old] = self.similarities(known, "left")[new].T
        if len(others):
            with pairs_at(self.places[others], self.places[new]):
                values[others] = Blocks(self.k, rows(self.encoding, others), B, engine=self.engine).whole()
        return values

    def restricted(self, order: np.ndarray, which: np.ndarray) -> SampleFeatures:
        """Return the same for rows in another order, and for some of the landmarks that they were compared with."""
        which = which[which < self.n_known]
        made = copy.copy(self)
        vars(made).pop("encoding", None)
        made._which = order if self._which is None else self._which[order]
        made.places = self.places[order]
        made.landmarks = self.landmarks.only(which)
        made.n_known = len(which)
        made._known = {}
        for side, K in self._known.items():
            made._known[side] = K[np.ix_(order, which)]
        examined = which[which < len(self._gram)]
        made._gram = self._gram[np.ix_(examined, examined)]
        made._own = None if self._own is None else rows_of(made.landmarks.positions, made.places)
        return made

    @property
    def largest(self) -> float:
        """The largest magnitude of a similarity that was computed."""
        return max([float(np.abs(K).max(initial=0.0)) for K in (*self._known.values(), self._gram)])

    def gram(self, n: int) -> np.ndarray:
        """Return the Gram matrix of the first n landmarks in float64.

        Values are taken from the similarities of the sample if all landmarks are rows of it and these similarities are
        in double precision, and known, or those of a kernel by proof for objects other than vectors. Otherwise every
        pair is computed, once without a proof.
        """
        known = len(self._gram)
        if not self.proven and known >= n:
            return self._gram[:n, :n]
        compared = "left" in self._known and self._known["left"].shape[1] >= n
        if self._own is not None and (self.proven or compared) and self.similarities(n, "left").dtype == np.float64:
            return self.similarities(n, "left")[self._own[:n]]
        A = in_double(self.k, self.landmarks.only(np.arange(n)))
        if self.proven:
            return as_numpy(Blocks(self.k, A, A, True, self.engine).whole()).astype(np.float64, copy=False)
        whole = np.empty((n, n))
        whole[:known, :known] = self._gram
        at = np.arange(n) if self.landmarks.positions is None else self.landmarks.positions
        for down, right in ((slice(known, n), slice(0, n)), (slice(0, known), slice(known, n))):
            if down.stop > down.start:
                with pairs_at(at[down], at[right]):
                    values = Blocks(self.k, rows(A, down), rows(A, right), engine=self.engine).whole()
                self.single = self.single or str(values.dtype).endswith("float32")
                whole[down, right] = as_numpy(values)
        self._gram = whole
        return whole


def rows_of(positions: np.ndarray | None, places: np.ndarray) -> np.ndarray | None:
    """Return which rows of the sample the landmarks are; None if one of them is not in the sample."""
    if positions is None:
        return None
    row = dict(zip(places.tolist(), range(len(places)), strict=True))
    own = np.array(list(map(row.get, positions.tolist())), dtype=float)
    return None if np.isnan(own).any() else own.astype(np.intp)
