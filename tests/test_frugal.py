"""Similarities that cost money: budgets are kept exactly, few calls suffice, nothing that was paid for is lost."""

import json
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from grids import thin
from sklearn.base import clone

from similitude import (
    FromPairs,
    SimilarityClassifier,
    SimilarityRegressor,
    assess,
    check_kernel,
    choose_kernel,
    cost_curve,
    load,
    save,
    write_report,
)
from similitude.engines import LocalEngine
from similitude.errors import BudgetError, PairError
from similitude.fitting.cascade import LOST, Cascade, margins, stopping_margins
from similitude.fitting.profile_ridge import PROFILE_WIDTHS, fit_profiles
from similitude.kernels import Gaussian
from similitude.learners import KernelSVC, KernelSVR
from similitude.maps import LandmarkMap, ProjectionMap
from similitude.selection.limits import TRIED_PAIRS
from similitude.similarity import Calls, Meter, metered, progress_line

rng = np.random.default_rng(0)


class Counted:
    """A Gaussian of points, as a function of pairs that counts its calls."""

    def __init__(self, slope=0.0):
        self.pairs, self.slope = [], slope

    def __call__(self, x, z):
        self.pairs.append((x.tobytes(), z.tobytes()))
        return float(np.exp(-((x - z) ** 2).sum()) + self.slope * (x[0] - z[0]))

    @property
    def calls(self):
        return len(self.pairs)


def near(x, z):
    return float(np.exp(-((x - z) ** 2).sum()))


def rings(rng, n=200):
    X = rng.standard_normal((n, 2))
    return list(X), np.where((X**2).sum(axis=1) > 1.4, "out", "in")


def test_a_function_of_pairs_is_called_seldom_without_being_asked():
    X, y = rings(rng, 300)
    f = Counted()
    model = SimilarityClassifier(f, random_state=0).fit(X, y)
    assert f.calls == model.calls_.spent == sum(model.calls_.purposes.values())
    assert f.calls <= 40 * len(X) + 10_000 < len(X) ** 2
    assert len(set(f.pairs)) == f.calls  # nothing is computed twice
    new, truth = rings(rng, 300)
    before = f.calls
    assert model.score(new, truth) > 0.9
    assert (f.calls - before) / len(new) <= model.calls_.most_per_prediction <= 320
    assert "cost=0" in str(model.plan_)


def test_a_fit_without_further_candidates_says_so_rather_than_that_its_budget_is_spent():
    X = np.random.default_rng(0).standard_normal((106, 6))
    model = SimilarityRegressor(near, random_state=0).fit(list(X), X[:, 0])
    assert len(model.landmarks_) == 96 and model.calls_.spent < 40 * 106 + 10_000
    assert "every row is a landmark" in model.plan_.landmarks.why and "spent" not in str(model.plan_)


def test_a_function_that_is_stated_to_be_cheap_is_fitted_thoroughly():
    X, y = rings(rng)
    model = SimilarityClassifier(FromPairs(near, cost=0), random_state=0).fit(X, y)
    assert not isinstance(model._model, Cascade)


def test_a_mean_is_said_to_be_one_where_a_prediction_may_take_more():
    assert "on average (at most 90)" in str(Calls.of(Meter(), None, mean=12.5, most=90))
    for most in (None, 20):
        assert str(Calls.of(Meter(), None, mean=20, most=most)).endswith("20 a prediction")


@pytest.mark.parametrize("max_calls", [1201, 7777])
@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_budget_is_never_exceeded(max_calls, slope):
    X, y = rings(rng)
    f = Counted(slope)
    model = SimilarityClassifier(f, max_calls=max_calls, random_state=0).fit(X, y)
    assert f.calls == model.calls_.spent <= max_calls
    assert model.representation_.side == ("both" if slope else "left")


def test_both_directions_are_not_bought_before_asymmetry_is_seen():
    X, y = rings(rng)
    f = Counted()
    SimilarityClassifier(f, max_calls=5000, random_state=0).fit(X, y)
    seen = set(f.pairs)
    both = sum((z, x) in seen for x, z in seen if x != z)
    assert both <= 2 * 50 < len(seen)  # those of the sample that looks for asymmetry


def test_held_out_rows_judge_as_new_rows_do():
    X, y = rings(rng, 400)
    model = SimilarityClassifier(near, max_calls=14_000, random_state=0).fit(X, y)
    new, truth = rings(rng, 1000)
    error = 1 - model.score(new, truth)
    assert model.held_out_error_.low - 0.02 <= error <= model.held_out_error_.high + 0.02


def test_explanations_add_up_to_scores():
    X, y = rings(rng)
    model = SimilarityClassifier(near, max_calls=5000, random_state=0).fit(X, y)
    new, _ = rings(rng, 20)
    scores = model.decision_function(new)
    for why, score in zip(model.explain(new), scores, strict=True):
        assert why.base + why.influences.sum() == pytest.approx(why.score) == pytest.approx(abs(score))
        assert why.counts.sum() == len(X)
    with pytest.raises(ValueError, match="no weights of landmarks"):
        model.explain(new, by="landmarks")


def test_a_saved_cascade_predicts_alike(tmp_path):
    X, y = rings(rng)
    model = SimilarityClassifier(FromPairs(near), max_calls=5000, random_state=0).fit(X, y)
    save(model, tmp_path / "model.sim")
    again = load(tmp_path / "model.sim", functions={"near": near})
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.calls_ == model.calls_


def test_numbers_are_predicted_within_a_budget():
    X = list(rng.uniform(-2, 2, (200, 1)))
    y = np.sin(np.ravel(X))
    model = SimilarityRegressor(near, max_calls=6000, random_state=0).fit(X, y)
    assert model.calls_.spent <= 6000 and model.score(X, y) > 0.9


def test_weights_and_several_classes():
    X = rng.standard_normal((240, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    weights = rng.uniform(0.5, 2.0, 240)
    model = SimilarityClassifier(near, max_calls=8000, random_state=0).fit(list(X), y, weights)
    assert model.score(list(X), y) > 0.9 and model.predict_proba(list(X)).shape == (240, 3)


def test_a_budget_for_less_than_two_landmarks_of_a_class_is_refused_before_the_first_call():
    X, y = rings(rng)
    f = Counted()
    with pytest.raises(BudgetError, match="two landmarks of each class takes 800 calls"):
        SimilarityClassifier(f, max_calls=799).fit(X, y)
    with pytest.raises(ValueError, match="max_calls must be an integer"):
        SimilarityClassifier(f, max_calls=0).fit(X, y)
    assert not f.calls


def test_a_fit_repeated_with_a_cache_makes_no_calls():
    X, y = rings(rng)
    f = Counted()
    k = FromPairs(f).cached()
    model = SimilarityClassifier(k, max_calls=5000, random_state=0)
    first = model.fit(X, y).decision_function(X)
    paid = f.calls
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), first)
    assert f.calls == paid and again.calls_.spent == 0


def test_nothing_is_lost_when_a_call_fails():
    X, y = rings(rng)
    f, broken = Counted(), [True]

    def fails(x, z):
        if broken[0] and f.calls == 700:
            raise RuntimeError("no answer")
        return f(x, z)

    k = FromPairs(fails).cached()
    model = SimilarityClassifier(k, max_calls=5000, random_state=0)
    with pytest.raises(PairError, match="no answer"):
        model.fit(X, y)
    broken[0] = False
    model.fit(X, y)
    assert f.calls == model.calls_.spent + 700 == len(set(f.pairs))


def test_prices_and_noise_are_reported():
    X, y = rings(rng)

    def asked(x, z):
        return near(x, z) + 0.1 * rng.standard_normal()

    model = SimilarityClassifier(FromPairs(asked, cost=0.002, repeats=2), max_calls=8000, random_state=0).fit(X, y)
    calls = model.calls_
    assert calls.price == pytest.approx(0.002 * calls.spent)
    assert f"${calls.price:.2f} to fit" in str(calls) and "a prediction" in str(calls)
    assert calls.noise == pytest.approx(0.01, rel=0.2)
    found = assess(FromPairs(asked, repeats=2), X[:40], y[:40])
    assert any("answers vary with a standard deviation of 0.1" in note or "0.09" in note for note in found.notes)


def test_noise_raises_the_penalty():
    F, Y = rng.standard_normal((60, 3)), rng.standard_normal((60, 1))
    quiet, _ = fit_profiles(F, 10 * F[:, :1], np.ones(60))
    noisy, _ = fit_profiles(F, 10 * F[:, :1], np.ones(60), noise=5.0)
    assert noisy.lam > quiet.lam and len(PROFILE_WIDTHS) == 4 and len(Y) == 60


def test_left_out_rows_of_profiles_are_predicted_without_them():
    F = rng.standard_normal((30, 4))
    Y, weights = F[:, :1] + 0.3 * rng.standard_normal((30, 1)), rng.uniform(0.5, 2.0, 30)
    ridge, trial = fit_profiles(F, Y, weights)
    assert ridge.width is None
    for i in range(5):
        others = np.arange(30) != i
        moved = replace(ridge, center=np.average(F[others], axis=0, weights=weights[others]))
        alone = moved.refitted(F[others], Y[others], weights[others]).scores(F[i : i + 1])
        assert alone[0] == pytest.approx(trial.scores[i])
    shares, targets = ridge.influences(F)
    np.testing.assert_allclose(shares @ targets + ridge.base, ridge.scores(F))


def waves(rng, n=300, d=3):
    X = rng.uniform(-2, 2, (n, d))
    return list(X), np.where(np.sin(2 * X[:, 0]) * np.sin(2 * X[:, 1]) + 0.2 * rng.standard_normal(n) > 0, "up", "down")


def test_stages_stop_where_the_margin_is_large():
    X, y = waves(rng)
    model = SimilarityClassifier(near, max_calls=12_000, random_state=0).fit(X, y)
    stages = model._model.stages
    scores, calls, settled = model._model.scored(X)
    assert len(stages) > 1 and set(calls) <= {stage.n for stage in stages}
    stopped = (calls < stages[-1].n) & ~settled
    assert stopped.any()
    for stage in stages:
        here = stopped & (calls == stage.n)
        assert (margins(scores[here]) >= stage.threshold).all()
    assert model.early_stops(X).calls.mean() == pytest.approx(model.calls_.per_prediction, rel=0.4)


def test_stopping_margins_lose_little_and_save_calls():
    last = rng.standard_normal((500, 1))
    first = last + 0.3 * rng.standard_normal((500, 1))
    margin, end = stopping_margins([first, last], [np.inf, np.inf], gain=0.5)
    stops = np.abs(first[:, 0]) >= margin
    flipped = stops & ((first > 0) != (last > 0))[:, 0]
    assert end <= np.abs(last).min() and stops.mean() > 0.3 and np.abs(last[flipped]).sum() / 500 <= 1.5 * LOST * 0.5


def test_stops_lose_about_as_much_on_new_rows_as_they_may():
    lost = []
    for _ in range(60):  # few rows, of two sizes: margins that follow their accidents would lose more on new ones
        last = rng.standard_normal((480, 1)) * rng.choice([0.2, 1.0], size=(480, 1))
        stages = [last + spread * rng.standard_normal((480, 1)) for spread in (0.6, 0.4, 0.2)] + [last]
        stops = stopping_margins([one[:80] for one in stages], [np.inf] * 4, gain=0.5)
        going = np.arange(80, 480)
        for scores, stop in zip(stages, stops, strict=True):
            here = going[np.abs(scores[going, 0]) >= stop]
            flipped = here[((scores > 0) != (last > 0))[here, 0]]
            lost.append(np.abs(last[flipped]).sum() / 400)
            going = np.setdiff1d(going, here)
    assert np.sum(lost) / 60 <= 2 * LOST * 0.5


def test_intervals_of_scores_hold_the_scores():
    F, Y = rng.uniform(0, 1, (40, 6)), rng.standard_normal((40, 3))
    new, low, high = rng.uniform(0, 1, (20, 6)), np.full((20, 4), 0.0), np.full((20, 4), 1.0)
    for width in (None, 0.5, 3.0):
        ridge = replace(fit_profiles(F, Y, np.ones(40))[0], width=width).refitted(F, Y, np.ones(40))
        least, most = ridge.score_range(new[:, :2], low, high)
        found = ridge.scores(new)
        assert (least <= found + 1e-12).all() and (found <= most + 1e-12).all()
        exactly = ridge.score_range(new[:, :2], new[:, 2:], new[:, 2:])
        np.testing.assert_allclose(exactly, [found, found])


def test_thorough_fits_do_not_stop_early():
    X, y = rings(rng, 40)
    with pytest.raises(ValueError, match="after frugal fits only"):
        SimilarityClassifier(FromPairs(near, cost=0)).fit(X, y).early_stops(X)


def test_directions_are_bought_one_by_one():
    rng = np.random.default_rng(1)
    links = rng.random((300, 300)) < 0.01
    y = np.arange(300) % 2
    links[:, :12] |= (y[:, None] == y[:12]) & (
        rng.random((300, 12)) < 0.5
    )  # twelve rows that others of a class link to

    def linked(i, j):
        return float(links[i, j])

    model = SimilarityClassifier(linked, max_calls=12_000, random_state=0).fit(list(range(300)), y)
    cascade = model._model
    left = model.landmark_indices_[~cascade.turned]
    assert model.representation_.side == "both" and len(cascade.turned) == model.n_similarity_calls_
    assert (left < 12).sum() >= 5  # found among 600 columns, most of which say nothing
    assert 1 - model.held_out_error_.value > 0.85 and model.calls_.most_per_prediction == len(cascade.turned)


@pytest.mark.parametrize("max_calls", [6, 100, 999])
def test_checks_stay_within_a_budget(max_calls):
    X, _ = rings(rng, 80)
    f = Counted()
    check_kernel(f, X, max_calls=max_calls, random_state=0)
    assert 0 < f.calls <= max_calls


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_assessments_choices_and_maps_stay_within_a_budget():
    X, y = rings(rng, 120)
    f = Counted()
    assert len(assess(f, X, y, max_calls=2500, random_state=0).used) == 50
    assert 0 < f.calls <= 2500
    f = Counted()
    choose_kernel({"f": f, "gaussian": "gaussian"}, np.array(X), y, max_calls=6000, random_state=0)
    assert 0 < f.calls <= 6000
    with pytest.raises(BudgetError, match="two landmarks"):
        choose_kernel([f, near], X, y, max_calls=100)
    with pytest.raises(BudgetError, match="two objects"):
        check_kernel(f, X, max_calls=5)
    f = Counted()
    mapped = ProjectionMap(FromPairs(f, claims=["SYMMETRIC", "PSD"]), n_components=10, max_calls=500).fit(X)
    assert f.calls == mapped.calls_.spent <= 500 and mapped.calls_.per_prediction == mapped.rank_
    with pytest.raises(BudgetError, match="budget of 20 calls"):
        ProjectionMap(FromPairs(f), n_components=10, max_calls=20).fit(X)
    assert LandmarkMap(f, n_components=10).fit(X).calls_.per_prediction == 10


@pytest.mark.usefixtures("quick_reports")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("slope", [pytest.param(0.0, marks=pytest.mark.deep), 0.3])
def test_a_report_stays_within_a_budget(slope, tmp_path):
    X, y = waves(rng, 120, 2)
    f = Counted(slope)
    found = write_report(f, X, y, tmp_path / "page.txt", max_calls=2500, random_state=0, compare={"g": "gaussian"})
    assert 0.6 * 2500 < f.calls <= 2500 and found.about.n == 44
    assert any(f"{f.calls:,} of 2,500" in note for note in found.about.notes)
    assert any("44 of 120 examples" in note for note in found.about.notes)
    assert "max_calls=2500, " in found.reproduce.code and "--max-calls 2500 " in found.reproduce.command
    spent = f.calls
    with pytest.raises(BudgetError, match="20 examples with each other"):
        write_report(f, X, y, tmp_path / "page.txt", max_calls=499)
    assert f.calls == spent
    assert write_report("gaussian", np.array(X), y, tmp_path / "page.txt", max_calls=1).about.n == 120  # no calls


@pytest.mark.parametrize(("max_calls", "slope"), thin([2500, 7000], [0.0, 0.3]))
def test_a_certificate_is_paid_for_from_the_same_budget(max_calls, slope):
    X, y = waves(rng, 200, 2)
    f = Counted(slope)
    model = SimilarityClassifier(f, max_calls=max_calls, certify=0.3, random_state=0).fit(X, y)
    assert f.calls == model.calls_.spent <= max_calls and model.certificate_.grade == "PROVEN"
    new, truth = waves(rng, 1000, 2)
    assert 1 - model.score(new, truth) <= model.certificate_.high + 0.05


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_choice_among_similarities_spends_what_it_was_given():
    X, y = rings(rng, 300)
    for claims, slope in ((["SYMMETRIC"], 0.0), ([], 0.3)):
        f = Counted(slope)
        choose_kernel([FromPairs(f, claims=claims), "gaussian"], np.array(X), y, max_calls=9000, random_state=0)
        assert 0.95 * 9000 < f.calls <= 9000


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_choice_pays_for_both_directions_only_if_they_differ(slope):
    X, y = rings(rng, 300)
    f = Counted(slope)
    chosen = choose_kernel([FromPairs(f), "gaussian"], np.array(X), y, max_calls=9000, random_state=0)
    examples, landmarks, sides = (224, 20, 2) if slope else (300, 29, 1)
    assert f.calls == 2 * TRIED_PAIRS + examples * landmarks * sides <= 9000 and len(chosen.table) == 2


def test_a_choice_is_refused_before_pairs_are_tried():
    X, y = rings(rng, 300)
    f = Counted()
    with pytest.raises(BudgetError, match="two landmarks takes 240 calls"):
        choose_kernel([f], X, y, max_calls=239)
    assert not f.calls


def test_a_cost_curve_comes_from_one_run():
    X, y = rings(rng, 300)
    f = Counted()
    curve = cost_curve(FromPairs(f, cost=0.01), X, y, max_calls=9000, random_state=0)
    assert curve.x[-1] == f.calls <= 9000
    assert (np.diff(curve.x) > 0).all() and (curve.low <= curve.y).all() and (curve.y <= curve.high).all()
    assert curve.y[-1] > curve.majority + 0.2 and "$" in str(curve)
    chart = curve.plot()
    assert [row[0] for row in chart.rows] == curve.x.tolist() and f"{curve.x[-1]:,.0f} calls" in chart.finding
    with pytest.raises(ValueError, match="two classes"):
        cost_curve(f, X, ["same"] * len(X))


@pytest.mark.parametrize("learner", [KernelSVC(tol=1e-4), KernelSVR(), KernelSVC(hard=True)])
def test_a_support_vector_machine_calls_the_function_once_for_each_pair(learner):
    X = list(rng.standard_normal((60, 2)))
    f = Counted()
    model = clone(learner).set_params(kernel=FromPairs(f)).fit(X, np.arange(60) % 2)
    assert f.calls == len(set(f.pairs)) == 60**2
    twin = clone(learner).set_params(kernel=Gaussian(sigma=0.5**0.5)).fit(np.array(X), np.arange(60) % 2)
    np.testing.assert_allclose(model.predict(X), twin.predict(np.array(X)), atol=0.02)


def test_progress_says_how_long_it_takes():
    meter = Meter(limit=20_000)
    meter.spent, meter.started = 12_400, time.monotonic() - 600
    assert progress_line(meter) == "12,400 of 20,000 calls, about 6 min left"
    with metered(Meter(limit=3)) as bound, pytest.raises(BudgetError, match="budget of 3 calls"):
        FromPairs(near).gram(list(np.zeros((2, 1))))
    assert bound.spent <= 3


class Judge(BaseHTTPRequestHandler):
    """A slow service that fails now and then and refuses more than a few requests at once."""

    def do_POST(self):
        server = self.server
        with server.lock:
            server.asked += 1
            number, busy = server.asked, server.busy
            server.busy += 1
        try:
            time.sleep(0.001)
            x, z = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = 429 if busy >= server.most else 503 if number % 7 == 0 else 200
            with server.lock:
                server.answered += status == 200
            body = json.dumps(float(np.exp(-((x - z) ** 2)))).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        finally:
            with server.lock:
                server.busy -= 1

    def log_message(self, *_):
        pass


@pytest.fixture
def service():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    server.lock, server.asked, server.answered, server.busy, server.most = threading.Lock(), 0, 0, 0, 8
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_a_service_that_is_slow_fails_and_limits(service, monkeypatch, tmp_path):
    from similitude.similarity import calling

    monkeypatch.setattr(calling, "FIRST_DELAY", 0.001)

    def judged(x, z):
        address = f"http://127.0.0.1:{service.server_address[1]}"
        try:
            with urllib.request.urlopen(address, json.dumps([x, z]).encode(), timeout=5) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            error.close()
            raise ConnectionError(f"status {error.code}") from None

    X = np.linspace(-2, 2, 20).tolist()
    y = [x > 0 for x in X]
    asked = FromPairs(judged, workers=4, retries=6, cost=0.001)
    k = asked.cached(tmp_path / "pairs.sqlite", name="judge-1")
    model = SimilarityClassifier(k, max_calls=400, random_state=0).fit(X, y)
    assert service.asked == model.calls_.spent <= 400 and service.answered < service.asked
    assert model.score(X, y) > 0.9
    paid = service.asked
    again = SimilarityClassifier(k, max_calls=400, random_state=0).fit(X, y)
    assert service.asked == paid and again.calls_.spent == 0


def test_calls_in_other_processes_cannot_be_counted():
    def never(x, z):
        raise AssertionError("asked")

    engine = LocalEngine(processes=2)
    for call in (
        lambda: SimilarityClassifier(never, max_calls=4000, engine=engine).fit(["a", "b", "c"] * 9, [0, 1, 1] * 9),
        lambda: LandmarkMap(never, n_components=2, max_calls=4000, engine=engine).fit(["a", "b", "c"]),
    ):
        with pytest.raises(ValueError, match="max_calls counts the calls that this process makes"):
            call()


@pytest.mark.parametrize("claims", [[], ["BOUNDED"], ["SYMMETRIC", "PSD", "UNIT_DIAGONAL"]])
def test_nothing_within_the_bounds_changes_a_settled_class(claims):
    X, y = waves(rng, 160, 2)
    model = SimilarityClassifier(FromPairs(near, claims=claims), max_calls=6_000, random_state=0).fit(X, y)
    cascade = model._model
    new, _ = waves(rng, 60, 2)
    F = cascade.similarities(new, 0, cascade.stages[-1].n)
    scores = np.zeros((len(new), 1))
    tried = 0
    for k, stage in enumerate(cascade.stages[:-1]):
        scores = stage.scores(F[:, : stage.n], scores)
        settled = cascade.settled(k, F[:, : stage.n], scores)
        low, high = cascade.values.of_rest(F[:, : stage.n], cascade.stages[-1].n)
        rest = F[:, stage.n :]
        assert (low <= rest + 1e-9).all() and (rest <= high + 1e-9).all()
        tried += settled.sum()
        for extreme in (low, high, np.where(rng.random(low.shape) < 0.5, low, high), rng.uniform(low, high), rest):
            filled = np.concatenate([F[:, : stage.n], extreme], axis=1)
            end = scores
            for later in cascade.stages[k + 1 :]:
                end = later.scores(filled[:, : later.n], end)
            np.testing.assert_array_equal((end > 0)[settled], (scores > 0)[settled])
    assert tried > 0 or len(claims) < 3  # intervals of kernels are narrow enough to settle some
    stops = model.early_stops(new)
    assert stops.grade == ("PROVEN" if claims else "ESTIMATE")
    assert set(stops.grades[stops.calls < stops.most]) <= {stops.grade, "ESTIMATE"} and "stopped early" in str(stops)
