"""What is recorded of a fitted model."""

import numpy as np

from record.plain import digest, plain, size

MOST_SCORES = 20
"""Most numbers of a kind that are kept; with many outputs, fewer objects are predicted."""

SAID = (
    "held_out_error_",
    "constant_error_",
    "certificate_",
    "certified_size_",
    "uncertainty_",
    "calls_",
    "notes_",
    "loss_",
    "penalty_",
    "class_weight_",
    "classes_",
    "temperature_",
    "shift_",
    "intercept_",
    "n_similarity_calls_",
)
"""Attributes that are recorded as they are, where a model has them."""


def of_model(model, new, **asked):
    """Return what a model predicts for new objects, what was chosen, and what it says of itself.

    What an explanation is asked for, besides objects, is given by name.
    """
    found = {name: plain(getattr(model, name)) for name in SAID if says_something(model, name)}
    return {**found, **chosen(model), **predicted(model, new), **explained(model, new, asked)}


def says_something(model, name):
    """Tell whether a model has an attribute, other than a certificate or a count of calls where there is none."""
    if not hasattr(model, name):
        return False
    value = getattr(model, name)
    return not (name == "certificate_" and value.grade == "NONE") and not (name == "calls_" and value.spent == 0)


def chosen(model):
    """Return what a fit chose: similarity, landmarks, their number, and the penalty."""
    found = {}
    if hasattr(model, "lam_"):
        found["log10 of lam_"] = size(float(model.lam_))
    if hasattr(model, "similarity_"):
        found["similarity_"] = plain(repr(model.similarity_))
    if hasattr(model, "landmark_indices_"):
        found["landmark_indices_"] = positions(model.landmark_indices_)
    if hasattr(model, "representation_"):
        found["representation_"] = plain(str(model.representation_))
        found["guarantee_"] = plain(model.guarantee_.grade)
    if hasattr(model, "landmark_curve_"):
        curve = model.landmark_curve_
        found["landmark_curve_"] = [plain(curve.x), plain(curve.y), plain(curve.reason)]
    if getattr(model, "learned_", None) is not None:
        found["learned_.reason"] = plain(model.learned_.reason)
    if hasattr(model, "suspects_"):
        found["suspects_"] = len(model.suspects_)
    if hasattr(model, "verdict"):
        found["verdict"] = plain(model.verdict())
    return found


def positions(found):
    """Return the number of landmarks, the first of them, and a digest of all; for each similarity if several."""
    if isinstance(found, list):
        return [positions(one) for one in found]
    if found is None:
        return None
    return [len(found), plain(found[:3]), digest(np.ascontiguousarray(found, dtype=np.int64).tobytes())]


def predicted(model, new):
    """Return predictions, scores, probabilities, deviations, and intervals or sets."""
    found = {}
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, name):
            found[name] = few(getattr(model, name)(new))
    if hasattr(model, "predict_interval"):
        _, deviations = model.predict(new, return_std=True)
        found["predict, return_std"] = few(deviations)
        found["predict_interval"] = calibrated(model.predict_interval, new)
    if hasattr(model, "predict_set"):
        found["predict_set"] = calibrated(model.predict_set, new)
    return found


def few(values):
    """Return the values of as many objects as are not too many numbers."""
    values = np.asarray(values)
    width = max(1, int(np.prod(values.shape[1:])))
    return plain(values[: max(1, MOST_SCORES // width)])


def calibrated(method, new):
    """Return intervals or sets at the level of 80 %, or why there are none."""
    try:
        return few(method(new, level=0.8))
    except ValueError as error:
        return plain(str(error))


def explained(model, new, asked):
    """Return what decided the first two predictions: the three examples of most influence."""
    if not hasattr(model, "explain"):
        return {}
    return {"explain": [explanation(one) for one in model.explain(new[:2], **asked)]}


def explanation(one):
    return {
        "score": plain(one.score),
        "base": plain(one.base),
        "rest": plain(one.rest),
        "by": one.by,
        "positions": None if one.positions is None else plain(one.positions[:3]),
        "influences": plain(one.influences[:3]),
        "similarities": plain(one.similarities[:3]),
        "examples": len(one.influences),
        "sum": plain(float(np.sum(one.influences))),
    }
