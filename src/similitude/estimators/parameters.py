"""The parameters that all estimators on landmarks share: what they must satisfy, and what a fit makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from similitude.compute import check_objects
from similitude.fitting import similarity_without_labels
from similitude.landmarks import RULES, refuse_function
from similitude.similarity import Learnable, Similarity, as_similarity
from similitude.support import brief, check_integer, check_share

if TYPE_CHECKING:
    from similitude.estimators.base import LandmarkEstimator

SIDES = ("auto", "left", "right", "both")


def similarities_of(given: Any, kind: str | None) -> tuple[Similarity, ...]:
    """Return what was given, as similarities; `kind` is that of the objects, if the choice is left to the fit."""
    if kind is not None:
        return (similarity_without_labels(kind),)
    if not isinstance(given, (list, tuple)):
        return (as_similarity(given),)
    if not given:
        raise ValueError("similarity is an empty list: give one similarity at least")
    if any(isinstance(one, str) and one == "precomputed" for one in given):
        raise ValueError("'precomputed' stands alone: in a list use Precomputed(M), with indices as objects")
    parts = tuple(as_similarity(one) for one in given)
    kinds = {one.objects for one in parts} - {"any"}
    if len(kinds) > 1:
        raise ValueError(f"the similarities take objects of different kinds: {', '.join(sorted(kinds))}")
    return parts


def kind_of_several(given: Any) -> str:
    """Return the kind of objects that several similarities take."""
    try:
        kinds = {one.objects for one in similarities_of(given, None)} - {"any"}
    except (TypeError, ValueError):  # refused with its reason when it is used
        return "any"
    return kinds.pop() if kinds else "any"


def check_landmark_params(
    model: LandmarkEstimator, similarities: tuple[Similarity, ...], losses: tuple[str, ...]
) -> None:
    """Refuse contradictory or unknown parameters before the first similarity is computed.

    `similarities` are empty for a precomputed matrix.
    """
    precomputed = not similarities
    if isinstance(model.similarity, Similarity):
        model.similarity.check_params()
    for k in similarities:
        k.check_params()
        if isinstance(k, Learnable):
            from similitude.kernel_learning import check_learnable

            check_learnable(k)
    if model.loss not in ("auto", *losses):
        raise ValueError(f"loss must be 'auto', {', '.join(map(repr, losses))}, got {brief(model.loss)}")
    if model.penalty not in ("l2", "l1"):
        raise ValueError(f"penalty must be 'l2' or 'l1', got {brief(model.penalty)}")
    if model.penalty == "l1" and model.loss == "logistic":
        raise ValueError("penalty='l1' needs loss='squared_hinge' or 'squared', got loss='logistic'")
    if model.side not in SIDES:
        raise ValueError(f"side must be one of {', '.join(map(repr, SIDES))}, got {brief(model.side)}")
    if precomputed and model.side not in ("auto", "left"):
        raise ValueError("K(new, train) holds no K(train, new): with a precomputed matrix side must be 'left'")
    _check_landmarks(model, precomputed)
    if model.certify is not None:
        check_share("certify", model.certify)
        if precomputed or model.landmark_indices is not None:
            raise ValueError("certify keeps rows out of everything: give objects in X, and landmarks themselves")


def _check_landmarks(model: LandmarkEstimator, precomputed: bool) -> None:
    """Refuse contradictions between the parameters that name landmarks."""
    own = not isinstance(model.landmarks, str)
    if own:
        refuse_function(model.landmarks)
        check_objects(model.landmarks, "landmarks")
    if model.unlabeled is not None:
        check_objects(model.unlabeled, "unlabeled")
    if own + (model.landmark_indices is not None) + (model.unlabeled is not None) > 1:
        raise ValueError("give landmarks, landmark_indices or an unlabeled pool, not several of them")
    if not own and model.landmarks not in ("auto", *RULES):
        raise ValueError(
            f"landmarks must be 'auto', a rule ({', '.join(RULES)}) or objects, got {brief(model.landmarks)}"
        )
    if precomputed and (own or model.unlabeled is not None):
        raise ValueError("with a precomputed matrix landmarks are columns: name them by landmark_indices")
    if not (isinstance(model.n_landmarks, str) and model.n_landmarks == "auto"):
        check_integer("n_landmarks", model.n_landmarks, otherwise="'auto'")
