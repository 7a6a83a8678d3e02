"""SimilarityClassifier: classes from similarities to landmarks."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from similitude.compute import as_numpy, beside, is_tensor, namespace
from similitude.compute.engines import Engine
from similitude.estimators.base import LandmarkEstimator, upper_bound
from similitude.estimators.explanation import Asked, Explanations
from similitude.evaluation import dealt_folds, error_of_classes, suspicious_labels
from similitude.fitting import (
    ClassCalibration,
    ClassTargets,
    Facts,
    FitOptions,
    FittedModel,
    Plan,
    ScoredRows,
    SpreadFit,
    TrainingSet,
    Uncertainty,
    class_numbers,
    plan_fit,
    probabilities,
    run,
    scale_and_shift,
    temperature,
)
from similitude.scikit import (
    all_or_nothing,
    check_labels,
    check_weights,
    class_codes,
    class_weights,
    has_rare_class,
)
from similitude.support import Estimate, number_of, written

NAMED_SUSPECTS = 6
"""Suspicious labels that a sentence names."""

CALIBRATION_PARTS = 5
"""Parts of the rows that evaluate a model of a rare class: the scores of each are shifted by what suits the others."""

SHIFTED = "a class is rare: scores are shifted so that probabilities agree with frequencies"
"""What is noted where a class is rare, and no second fit was tried."""


class SimilarityClassifier(ClassifierMixin, LandmarkEstimator):
    """Classify objects of any kind by landmark features and a linear model.

    Landmarks are chosen, every object is described by its similarities to them, and a linear model of these features is
    fitted; the model keeps the landmarks and never the training set. There are two representations. A similarity that
    is a kernel (proven, or positive semi-definite on the landmarks and not known to be none) is projected: the features
    are coordinates in the span of the landmarks (Balcan, Blum and Vempala, "On Kernels, Margins, and Low-dimensional
    Mappings", Theorem 1). Any other similarity, PSD or not, symmetric or not, is used as it is: the features are the
    similarities themselves (Balcan and Blum, "On a Theory of Learning with Similarity Functions", Theorem 2).
    ``representation_`` says which, and why.

    Parameters
    ----------
    similarity : Similarity, str, callable, or a list of these
        Any measure of how similar two objects are. ``"auto"``: for vectors and tables, Gaussian, Laplace and Matern
        kernels, with and without ranks of columns and learned metrics (see `learn_kernel`), and a blend of two are
        compared on pilot rows, and ``plan_`` says what was chosen. Up to 5,000 rows the fit is then exact: every row
        is a landmark. More rows in memory are split into cells, each with an exact fit (see `kernels.Partitioned`),
        where that clearly beats landmarks of the learned kernel on held-out rows. For fewer than 60 rows, sparse
        vectors and streams, and where another loss is asked for, it is a Gaussian kernel. Of strings, series,
        graphs and sets, a few similarities of their kind are tried on up to 500 rows, each row left out alone, and the
        best is taken: substrings, windows with gaps, words; convolutions, warping, alignments; subtrees, paths. (An
        array of two dimensions holds vectors; series are an array of three, or a list of arrays.) Records, which are
        data frames or dicts with texts, sets, vectors, series or graphs in some columns, are compared column by column
        (`kernels.Columns`), with weights that the labels choose. ``"precomputed"``: X is the matrix K(train, train) in
        ``fit`` and K(new, train) afterwards. Several: their features are used side by side, each divided by its root
        mean square length (Balcan and Blum, Theorem 3). A scale left at ``"median"`` is chosen among a quarter, a half,
        one, two and four times the median; a costly similarity, such as `GlobalAlignment`, keeps the median.
    landmarks : str or sequence of objects
        A rule (``uniform stratified kmeans++ rpcholesky leverage diverse``) or the objects themselves. ``"auto"``:
        uniform for proven kernels, otherwise stratified by class.
    landmark_indices : sequence of int, optional
        Positions in X to use as landmarks.
    n_landmarks : int or "auto"
        ``"auto"``: starts at 100 (or 20 for each class, if that is more) and doubles while the held-out loss falls by
        more than one standard error, up to 2,400, up to half of the rows if there are many, and up to what fits into
        memory. For a kernel of vectors with a unit diagonal and 1,000 to 20,000 rows, scale, penalty and number are
        chosen on pilot rows instead: twice as many landmarks as do as well as all that are tried; if none do, every row
        up to 5,000 rows, and 2,400 with more. The models of more are found by conjugate gradients, to 0.1 %.
    loss : {"auto", "squared", "logistic", "squared_hinge"}
        The loss of the linear model. ``"squared"``: least squares on the codes -1 and +1, in one pass over the
        similarities. ``"auto"``: squared, or squared hinge with ``penalty="l1"``.
    penalty : {"l2", "l1"}
        ``"l2"``: the squared length of the weights. ``"l1"``: the sum over landmarks of the length of their weights,
        so that few landmarks are kept, each of which serves all classes (Balcan, Blum and Srebro, "Improved guarantees
        for learning via similarity functions"); its loss is squared hinge or squared.
    side : {"auto", "left", "right", "both"}
        Which similarities: K(x, l), K(l, x) or both. ``"auto"``: both if they differ; K(x, l) with ``penalty="l1"``.
    unlabeled : sequence of objects, optional
        Draw landmarks from these objects instead of X: landmarks need no labels.
    class_weight : dict, "balanced", "auto" or None
        Multiplies the weights of the rows of each class; ``"balanced"`` gives all classes the same total weight.
        ``"auto"``: all rows alike; but if a class is rare (less than 5 % of the rows, and less than half of an even
        share), a balanced fit is tried too, and the better one for rows left out is kept. Scores are then shifted such
        that probabilities agree with the frequencies of the classes; ``notes_`` says so. Rows that do not fit into
        memory, streams and functions that may be costly are never fitted twice.
    certify : float, optional
        The share of rows, 0.25 for instance, that is kept out of everything, choices included, for ``certificate_``: a
        random sample of rows, or of groups.
        The model is fitted to the other rows.
    max_calls : int, optional
        The most calls of your own function that a fit may make; one more raises BudgetError before it is made. Where
        comparing all rows would take more, the fit is frugal: a few landmarks are chosen that tell most, and a
        prediction stops as soon as it is certain. A function of pairs may be costly, so that without `max_calls` a fit
        makes at most 100 n + 10,000 calls, unless ``FromPairs(f, cost=0)`` states that it is cheap.
    random_state : int, optional
    engine : Engine, optional

    Attributes
    ----------
    classes_ : array
    similarity_ : Similarity
        With data-dependent parameters resolved; a list if several were given.
    landmarks_, landmark_indices_
        The landmarks with a weight, and their positions in X (None for objects that are not rows of X); lists if
        several similarities were given.
    landmark_weights_ : array of shape (landmarks, outputs)
        The weight of the similarity to each landmark; a list if several similarities were given.
    loss_, penalty_ : str
    representation_ : Representation
        ``projection`` or ``similarities``, and why; a tuple if several similarities were given.
    guarantee_ : Guarantee
        What theory promises of the features, under which assumption.
    landmark_curve_ : LandmarkCurve
        The held-out loss by the number of landmarks, and why there are not more.
    learned_ : LearnedSummary or None
        With ``similarity="auto"``, if a kernel was learned: held-out losses before and after, the importance of columns
        with intervals, and the leading directions of the metric.
    held_out_error_ : Estimate
        The error of the model on new rows. Up to 5,000 rows it comes from nested folds (three; two from 300 rows on):
        scale, number of landmarks and penalty are chosen without the rows that evaluate them, and copies are in the
        same fold. With more rows it comes from a tenth of them, at most 2,500, on which no choice was made; and
        from a fifth of 1,000 to 5,000 rows if choices were made on pilot rows (see `n_landmarks`), each left out alone.
        Fewer than ten rows bound no error.
    constant_error_ : float
        The error of always predicting the most frequent class.
    suspects_ : array of int
        Positions of rows whose labels look wrong, the least probable first: nested folds give them a probability below
        10 %, and below 0.3 times the share of their class, and another label one above 90 %. There are none if the
        probabilities of left-out rows are not clearly better than the frequencies of the classes. Only rows that
        ``held_out_error_`` comes from are looked at; none with more than 5,000 rows, except those that evaluate after
        choices on pilot rows.
    certificate_ : Estimate
        With `certify`: an upper bound on the error on new rows, from rows that were used for nothing else; it holds
        with probability 0.95 if the rows are independent draws. Its grade is PROVEN, or NONE without `certify`.
    uncertainty_ : Uncertainty
        How :meth:`predict_set` is calibrated: the method, its grade, and the number of rows.
    lam_ : float
        The strength of the penalty, chosen by exact leave-one-out up to 5,000 rows and on held-out rows beyond.
    intercept_ : array
    temperature_ : float
        Scores are multiplied by it before they are turned into probabilities; 1 for the logistic loss.
    class_weight_ : array of shape (classes,)
        What the weights of the rows of each class were multiplied by.
    shift_ : array of shape (outputs,)
        The part of ``intercept_`` that makes probabilities agree with the frequencies of the classes if one is rare;
        0 otherwise.
    n_similarity_calls_ : int
        The number of landmarks with a weight: the most similarity evaluations per prediction.
    calls_ : Calls
        The calls of your own function: how many the fit made, on what they were spent, how many a prediction takes on
        average and at most, and what both cost.

    Examples
    --------
    >>> from similitude import SimilarityClassifier
    >>> from similitude.datasets import iris
    >>> X, y = iris()
    >>> model = SimilarityClassifier().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> print(model.representation_.name)
    projection
    >>> words, kinds = ["kernel", "kerning", "kernels", "margin", "margins", "marginal"], ["k", "k", "k", "m", "m", "m"]
    >>> shared = SimilarityClassifier(lambda s, t: len(set(s) & set(t))).fit(words, kinds)
    >>> shared.predict(["kern", "margin."]).tolist()
    ['k', 'm']
    """

    _losses = ("squared", "logistic", "squared_hinge")

    def __init__(
        self,
        similarity: Any = "auto",
        *,
        landmarks: Any = "auto",
        landmark_indices: Any = None,
        n_landmarks: int | str = "auto",
        loss: str = "auto",
        penalty: str = "l2",
        side: str = "auto",
        unlabeled: Any = None,
        class_weight: Any = "auto",
        certify: float | None = None,
        max_calls: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        super().__init__(
            similarity,
            landmarks=landmarks,
            landmark_indices=landmark_indices,
            n_landmarks=n_landmarks,
            loss=loss,
            penalty=penalty,
            side=side,
            unlabeled=unlabeled,
            certify=certify,
            max_calls=max_calls,
            random_state=random_state,
            engine=engine,
        )
        self.class_weight = class_weight

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> SimilarityClassifier:
        """Learn from a further batch of a stream.

        The first batch decides scale and landmarks; later ones add to the sums over the features. A fifth of each
        batch is held out, up to 5,000 rows in all, and the penalty that is best for these is used. The first batch
        discards what `fit` learned before.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        classes : sequence of labels, optional
            All labels that may occur; required in the first call unless the first batch holds them all.
        sample_weight : sequence of float, optional
        """
        self._check_params()
        if isinstance(self.class_weight, str) and self.class_weight != "auto":
            raise ValueError("class_weight='balanced' needs all labels at once: give a dict of weights to partial_fit")
        first = not hasattr(self, "_stream")
        X = self._checked(X, reset=first)
        if first:
            self.classes_ = np.unique(np.asarray(y if classes is None else classes))
            if len(self.classes_) < 2:
                raise ValueError("the first batch holds one class only: give all of them by classes=")
        elif classes is not None and not np.array_equal(self.classes_, np.unique(np.asarray(classes))):
            raise ValueError(f"classes were {self.classes_.tolist()} in the first batch: leave them out, or start anew")
        numbers = self._known_numbers(X, y)
        codes = class_codes(numbers, len(self.classes_))
        weights = self._weights(numbers, sample_weight)
        self._has_rare_class = False
        self._evaluate(self._partial_train(X, codes, weights, sample_weight, numbers))
        return self

    def _known_numbers(self, X: Any, y: Any) -> np.ndarray:
        """Return the class number of each label; refuse a label that is not one of the classes."""
        y = column_or_1d(as_numpy(y) if is_tensor(y) else y, warn=True)
        check_consistent_length(X, y)
        places = {label: number for number, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in y.tolist() if label not in places]
        if unknown:
            raise ValueError(f"label {written(unknown[0])} is not one of the classes {self.classes_.tolist()}")
        return np.array([places[label] for label in y.tolist()], dtype=np.intp)

    def _weights(self, numbers: np.ndarray, sample_weight: Any) -> np.ndarray:
        """Return the weight of each row, multiplied by that of its class."""
        weights = check_weights(sample_weight, len(numbers))
        totals = np.bincount(numbers, weights, minlength=len(self.classes_))
        automatic = isinstance(self.class_weight, str) and self.class_weight == "auto"
        self.class_weight_ = class_weights(None if automatic else self.class_weight, self.classes_, totals)
        self._has_rare_class = automatic and has_rare_class(totals)
        weights = weights * self.class_weight_[numbers]
        missing = np.bincount(numbers, weights > 0, minlength=len(self.classes_)) == 0
        if missing.any() and not hasattr(self, "_stream") and len(np.unique(numbers)) == len(self.classes_):
            name = self.classes_[missing].tolist()[0]
            raise ValueError(f"class {name!r} has examples of weight zero only: leave it out")
        return weights

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self.classes_, numbers = check_labels(self, X, y)
        weights = self._weights(numbers, sample_weight)
        return class_codes(numbers, len(self.classes_)), weights, numbers

    def _targets(self) -> ClassTargets:
        given = None
        if not (isinstance(self.class_weight, str) and self.class_weight == "auto"):
            given = self.class_weight
        excluded = []
        if isinstance(given, dict):
            excluded = [label for label, weight in given.items() if weight == 0]
        return ClassTargets(type(self).__name__, functools.partial(class_weights, given), excluded)

    def _learn_targets(self, targets: Any) -> None:
        self.classes_ = targets.classes
        self.class_weight_ = targets.multipliers
        automatic = isinstance(self.class_weight, str) and self.class_weight == "auto"
        self._has_rare_class = automatic and has_rare_class(targets.totals)

    def _in_memory(self, data: TrainingSet) -> bool:
        """Whether the rows are all there are, rather than a sample of a source."""
        return data.sampling.places is None or self.certify is not None

    def _planned(self, facts: Facts) -> Plan:
        """Plan a second fit if a class is rare: of rows in memory, if no function of the user is called."""
        plan = plan_fit(facts)
        if not self._has_rare_class or not self._in_memory(facts.data):
            return plan
        if any([k.calls for k in plan.sizes.used]):
            return plan
        return plan.repeated(2, "a class is rare: all rows alike, then all classes alike, and the better one is kept")

    def _fit_rows(self, data: TrainingSet, options: FitOptions) -> FittedModel:
        """Fit to rows; if the plan is to try balanced classes too, keep the better fit."""
        facts = Facts(data, options)
        fit = run(self._planned(facts), facts)
        assert fit.plan is not None
        if fit.plan.sizes.fits > 1:
            fit = self._better_fit(fit, data, options)
        elif self._has_rare_class and self._in_memory(data) and fit.cascade is None:
            fit = replace(fit, notes=[*fit.notes, SHIFTED])
        if fit.cascade is not None:  # its stops forbid to shift scores
            self._has_rare_class = False
        self._keep(fit)
        return fit

    def _better_fit(self, fit: FittedModel, data: TrainingSet, options: FitOptions) -> FittedModel:
        """Return the better one of a fit and one with balanced classes, by the log loss of rows left out."""
        assert data.labels is not None
        totals = np.bincount(data.labels, data.weights, minlength=len(self.classes_))
        multipliers = class_weights("balanced", self.classes_, totals)
        alike = replace(data, weights=data.weights * multipliers[data.labels])
        facts = Facts(alike, options)
        balanced = run(self._planned(facts), facts)
        loss = log_loss_of(fit, np.ones(len(totals)))
        balanced_loss = log_loss_of(balanced, multipliers)
        best = fit
        same = "all rows"
        if balanced_loss < loss:
            best = balanced
            same = "all classes"
            self.class_weight_ = multipliers
        rarest = self.classes_.tolist()[int(totals.argmin())]
        note = (
            f"class {rarest!r} has {100 * totals.min() / totals.sum():.2g} % of the rows: {same} have the same weight "
            f"in the fit (log loss {min(loss, balanced_loss):.3g} on rows left out, {max(loss, balanced_loss):.3g} "
            "otherwise), and scores are shifted so that probabilities agree with the frequencies of the classes"
        )
        assert best.plan is not None
        compared = (("all rows alike (log loss)", loss), ("all classes alike (log loss)", balanced_loss))
        plan = replace(best.plan, scores=best.plan.scores + compared)
        return replace(best, plan=plan, notes=[*best.notes, note])

    def _calibrate(self, rows: ScoredRows, at: np.ndarray | None = None, sized: SpreadFit | None = None) -> None:
        """Keep what probabilities and sets of classes need."""
        scores = rows.trial.scores
        numbers = class_numbers(rows.Y)
        self.shift_ = np.zeros(scores.shape[1])
        if self._has_rare_class:
            plain = undone(rows.weights, self.class_weight_, numbers)
            self.temperature_, self.shift_ = scale_and_shift(scores, numbers, plain)
            self.intercept_ = self.intercept_ + self.shift_
        elif self.loss_ == "logistic":
            self.temperature_ = 1.0
        else:
            self.temperature_ = temperature(scores, numbers, rows.weights)
        chances = self._own_chances(scores + self.shift_, numbers)
        self._sets = ClassCalibration.of(1.0 - chances, numbers, len(self.classes_))
        self.uncertainty_ = Uncertainty.left_out(len(numbers))

    def _calibrate_apart(self, X: Any, scores: np.ndarray, Y: np.ndarray) -> None:
        numbers = class_numbers(Y)
        self._sets = ClassCalibration.of(1.0 - self._own_chances(scores, numbers), numbers, len(self.classes_))
        self.uncertainty_ = Uncertainty.split(len(Y))

    def _own_chances(self, scores: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return the probability of each row's own class."""
        chances: np.ndarray = probabilities(scores, self.temperature_)[np.arange(len(numbers)), numbers]
        return chances

    def _evaluate(self, scored: ScoredRows) -> None:
        """Keep the error on new rows."""
        counted = scored.weights > 0
        numbers = class_numbers(scored.Y)
        plain = undone(scored.weights, self.class_weight_, numbers)
        scores = self._shifted_by_others(scored, numbers, plain) if self._has_rare_class else scored.trial.scores
        wrong = (class_numbers(scores) != numbers)[counted]
        groups = None
        if scored.groups is not None:
            groups = scored.groups[counted]
        self.held_out_error_ = error_of_classes(wrong, len(self.classes_), groups)
        shares = np.bincount(numbers, plain, minlength=len(self.classes_)) / plain.sum()
        self.constant_error_ = 1.0 - float(shares.max())
        own = self._own_chances(scores, numbers)
        if scored.within is not None and scored.folds is not None:
            outside = 1.0 - own
            if self._has_rare_class:
                outside = 1.0 - self._own_chances(scored.trial.scores + self.shift_, numbers)
            known, targets = zip(*scored.within, strict=True)
            known_numbers = class_numbers(np.concatenate(targets))
            inside = 1.0 - self._own_chances(np.concatenate(known) + self.shift_, known_numbers)
            models = np.repeat(np.unique(scored.folds), list(map(len, known)))
            self._sets = self._sets.corrected((inside, known_numbers, models), (outside, numbers, scored.folds))
        self.suspects_ = np.empty(0, dtype=np.intp)
        if scored.positions is not None:
            chances = probabilities(scores, self.temperature_)
            self.suspects_ = scored.positions[suspicious_labels(chances, numbers, plain)]

    def _shifted_by_others(self, scored: ScoredRows, numbers: np.ndarray, plain: np.ndarray) -> np.ndarray:
        """Return the scores of rows, shifted as other rows ask for because a class is rare.

        Every model that scored some of the rows is shifted on its own, five times: each fifth of its rows, with its
        share of each class, by the shift that is best for the others. `plain` are weights without those of classes.
        """
        scores: np.ndarray = scored.trial.scores
        shifted = scores.copy()
        folds = np.zeros(len(scores), dtype=np.intp) if scored.folds is None else scored.folds
        for fold in np.unique(folds):
            rows = np.flatnonzero(folds == fold)
            rows = rows[np.argsort(numbers[rows], kind="stable")]
            together = np.arange(len(rows)) if scored.groups is None else scored.groups[rows]
            parts = dealt_folds(together, CALIBRATION_PARTS)
            for part in range(CALIBRATION_PARTS):
                apart = parts == part
                mine = rows[apart]
                others = rows[~apart]
                if not len(others):  # one group
                    continue
                shifted[mine] += scale_and_shift(scores[others], numbers[others], plain[others])[1]
        return shifted

    def verdict(self) -> str:
        """Say in one sentence whether similar objects share labels, as far as new rows show, and which look wrong.

        Examples
        --------
        >>> from similitude import SimilarityClassifier
        >>> from similitude.datasets import iris
        >>> said = SimilarityClassifier("gaussian", random_state=0).fit(*iris()).verdict()
        >>> print(said[: said.index(" by comparing")])
        similar objects share labels: 95 % of new rows right
        """
        check_is_fitted(self)
        error = self.held_out_error_
        most = self.constant_error_
        clear = error.high < most
        how = "share labels"
        if not clear:
            how = "do not clearly share labels"
        found = (
            f"similar objects {how}: {100 * (1 - error.value):.0f} % of new rows right by comparing with "
            f"{number_of(self.n_similarity_calls_, 'landmark')} (always the same class: {100 * (1 - most):.0f} %)"
        )
        if not len(self.suspects_):
            return found
        rows = ", ".join(map(str, np.sort(self.suspects_[:NAMED_SUSPECTS]).tolist()))
        rows += ", …" if len(self.suspects_) > NAMED_SUSPECTS else ""
        if len(self.suspects_) == 1:
            return f"{found}; one label looks wrong: row {rows}"
        return f"{found}; {len(self.suspects_):,} labels look wrong: rows {rows}"

    def _certified(self, scores: np.ndarray, codes: np.ndarray) -> Estimate:
        return upper_bound(int((class_numbers(scores) != class_numbers(codes)).sum()), len(codes))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of every object: one number for two classes, one per class for several.

        Parameters
        ----------
        X : sequence of objects
        """
        return self._predictions(X, "decision_function", _decision)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every object.

        Parameters
        ----------
        X : sequence of objects
        """
        return self._predictions(X, "predict", lambda scores: labels_of(self.classes_, class_numbers(scores)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class; the largest belongs to the predicted class.

        The scores under the logistic loss are log odds; those under the other losses are multiplied by one number that
        is best for rows that the model was not fitted to (temperature scaling).

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n, classes)
        """
        return self._predictions(X, "predict_proba", lambda s: probabilities(s, self.temperature_))

    def predict_set(self, X: Any, level: float = 0.9, *, by_class: bool = False) -> np.ndarray:
        """Return for every object which classes it may have: sets that hold its class with a given probability.

        They are the smallest such sets on average as far as the probabilities are right: all classes that are probable
        enough. An object that is unlike all others may have none. With ``certify=share`` the rows set apart calibrate
        the sets (split conformal), and the level is PROVEN for independent rows. Otherwise rows of the fit do, each
        predicted by a model without it, and the level is an ESTIMATE: ``uncertainty_`` says which. See
        ``docs/theory/uncertainty.md``.

        Parameters
        ----------
        X : sequence of objects
        level : float
            Strictly between 0 and 1. m rows calibrate levels up to m / (m + 1); a higher one is refused.
        by_class : bool
            Whether the level is to hold for the rows of each class by themselves, rather than for all rows together. A
            class with too few rows to calibrate the level is then in every set.

        Returns
        -------
        array of bool of shape (n, classes)

        Examples
        --------
        >>> from similitude import SimilarityClassifier
        >>> from similitude.datasets import iris
        >>> X, y = iris()
        >>> model = SimilarityClassifier("gaussian", certify=0.4, random_state=0).fit(X, y)
        >>> model.uncertainty_.grade, model.uncertainty_.n_rows
        ('PROVEN', 60)
        >>> sets = model.predict_set([[5.0, 3.4, 1.5, 0.2], [6.2, 2.8, 4.8, 1.8]], level=0.98)
        >>> [model.classes_[one].tolist() for one in sets]
        [['setosa'], ['versicolor', 'virginica']]
        """
        self._check_calibrated(level)
        self._check_in_memory(X, "predict_set")
        limits = self._sets.limits(level, by_class)

        def sets(scores: Any) -> Any:
            chances = probabilities(scores, self.temperature_)
            return chances >= beside(limits, chances)

        found: np.ndarray = self._predictions(X, "predict_set", sets)
        return found

    def explain(self, X: Any, *, by: str = "auto", against: Any = "runner-up") -> Explanations:
        r"""Return for every object which training examples decided its class, with their labels.

        A score is an exact sum over training examples (see ``docs/theory``): their influences. Where every row is a
        landmark, each row has its own; otherwise rows are grouped around landmarks, a class at a time.

        Parameters
        ----------
        X : sequence of objects
        by : {"auto", "examples", "landmarks"}
            ``"auto"``: by examples, or groups of them; where the six most influential ones do not tell what decided,
            the nearest rows of each label are taken together, and so are its other rows, with a note. ``"examples"``:
            never together. ``"landmarks"``: weights of landmarks times similarities, which may cancel; there is a
            warning if they do.
        against : label or None
            With more than two classes: the class that the predicted one is compared with. ``"runner-up"``: the one
            with the second largest score, which is also taken where the given class is the predicted one. None: the
            score of the predicted class by itself.

        Returns
        -------
        Explanations
            A sequence of :class:`Explanation`. Positive influences speak for the predicted class.

        Examples
        --------
        >>> from similitude import SimilarityClassifier
        >>> from similitude.datasets import iris
        >>> X, y = iris()
        >>> model = SimilarityClassifier("gaussian", random_state=0).fit(X, y)
        >>> why = model.explain(X[70:71])[0]
        >>> why.prediction, why.against, why.labels[0]
        ('versicolor', 'virginica', 'versicolor')
        """
        check_is_fitted(self)
        scores = self._scores(X)
        n = len(scores)
        decided = class_numbers(scores)
        directions = np.zeros_like(scores)
        others = np.zeros(n, dtype=np.intp)
        if scores.shape[1] == 1:
            directions[:, 0] = 2.0 * decided - 1.0
            others = 1 - decided
        else:
            directions[np.arange(n), decided] = 1.0
            if against is not None:
                ranked = np.where(directions > 0, -np.inf, scores)
                others = ranked.argmax(axis=1)
                if not (isinstance(against, str) and against == "runner-up"):
                    others = np.where(decided == self._number(against), others, self._number(against))
                directions[np.arange(n), others] = -1.0
        compared = [None] * n if scores.shape[1] > 1 and against is None else list(self.classes_[others])
        asked = Asked(self.classes_[decided], scores, directions, compared, self.shift_)
        return self._explain(X, by, asked, self.classes_)

    def _number(self, label: Any) -> int:
        """Return the number of a class."""
        found = np.flatnonzero(self.classes_ == label)
        if not len(found):
            raise ValueError(f"against must be one of the classes {self.classes_.tolist()}, got {written(label)}")
        return int(found[0])


def log_loss_of(fit: FittedModel, multipliers: np.ndarray) -> float:
    """Return the log loss of rows left out of a fit with weights of classes, its scores shifted to agree with them."""
    scores = fit.trial.scores
    Y, weights = fit.held_out
    numbers = class_numbers(Y)
    plain = undone(weights, multipliers, numbers)
    scale, shift = scale_and_shift(scores, numbers, plain)
    chances = probabilities(scores + shift, scale)
    # probabilities count as at least this much, so that the loss is finite
    own = np.maximum(chances[np.arange(len(numbers)), numbers], 1e-300)
    return -float(np.average(np.log(own), weights=plain))


def undone(weights: np.ndarray, multipliers: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the weights of rows before they were multiplied by those of their classes.

    >>> undone(np.array([3.0, 1.0]), np.array([3.0, 1.0]), np.array([0, 1]))
    array([1., 1.])
    """
    each = multipliers[numbers]
    return np.divide(weights, each, out=np.zeros(len(weights)), where=each > 0)


def labels_of(classes: np.ndarray, numbers: Any) -> Any:
    """Return the labels of numbered classes: a tensor for a tensor, unless labels are no numbers."""
    if isinstance(numbers, np.ndarray):
        return classes[numbers]
    if classes.dtype.kind in "biuf":
        return namespace(numbers).asarray(classes, device=numbers.device)[numbers]
    labels: np.ndarray = classes[as_numpy(numbers)]
    return labels


def _decision(scores: np.ndarray) -> np.ndarray:
    if scores.shape[1] == 1:
        return scores[:, 0]
    return scores
