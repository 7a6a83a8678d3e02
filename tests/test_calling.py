"""Functions of pairs that are slow, async, batched, failing or limited: values, order, errors and what is kept."""

import asyncio
import itertools
import json
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from similitude import FromPairs
from similitude.errors import BudgetError, PairError
from similitude.similarity import Calls, Meter, calling, metered, progress_line

WORDS = ["kernel", "colonel", "similar", "landmark", "margin", "kern", "mark"]
TRUTH = np.array([[len(set(s) & set(t)) / (1 + len(t)) for t in WORDS] for s in WORDS])


def plain(s, t):
    return len(set(s) & set(t)) / (1 + len(t))


def batched(pairs):
    return [plain(s, t) for s, t in pairs]


async def awaited(s, t):
    await asyncio.sleep(0.0005 * (len(s) % 3))
    return plain(s, t)


async def awaited_batch(pairs):
    await asyncio.sleep(0.0005 * (len(pairs[0][0]) % 3))
    return batched(pairs)


class Callable:
    async def __call__(self, s, t):
        return plain(s, t)


@pytest.fixture(autouse=True)
def _short_delays(monkeypatch):
    monkeypatch.setattr(calling, "FIRST_DELAY", 0.001)


@pytest.mark.parametrize(
    ("f", "options"),
    [
        (plain, {}),
        (plain, {"workers": 3}),
        (plain, {"timeout": 30.0}),
        (plain, {"retries": 2, "rate": 1e6, "cost": 0.1}),
        (plain, {"repeats": 2, "workers": 2}),
        (awaited, {}),
        (awaited, {"workers": 5, "timeout": 30.0}),
        (Callable(), {"workers": 2}),
        (batched, {"batch": 1}),
        (batched, {"batch": 64}),
        (batched, {"batch": 5, "workers": 3}),
        (awaited_batch, {"batch": 4, "workers": 4, "repeats": 3}),
    ],
)
def test_values_do_not_depend_on_how_the_function_is_called(f, options):
    k = FromPairs(f, **options)
    np.testing.assert_allclose(k.gram(WORDS), TRUTH, rtol=1e-15)
    np.testing.assert_allclose(k.cross(WORDS[:2], WORDS), TRUTH[:2], rtol=1e-15)
    np.testing.assert_allclose(k.diag(WORDS), np.diag(TRUTH), rtol=1e-15)
    assert k("kern", "mark") == pytest.approx(plain("kern", "mark"))


def test_a_symmetric_function_is_called_for_each_unordered_pair_once():
    asked = []

    def f(pairs):
        asked.extend(pairs)
        return [0.0] * len(pairs)

    FromPairs(f, claims=["SYMMETRIC"], batch=4, workers=2).gram(WORDS)
    assert sorted(map(sorted, asked)) == sorted(map(sorted, itertools.combinations_with_replacement(WORDS, 2)))


def test_an_async_function_works_inside_of_a_running_event_loop():
    async def notebook():
        return FromPairs(awaited, workers=4).gram(WORDS)

    np.testing.assert_array_equal(asyncio.run(notebook()), TRUTH)


def test_waiting_calls_overlap():
    running, most, lock = 0, 0, threading.Lock()

    def slow(s, t):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.002)
        with lock:
            running -= 1
        return 1.0

    FromPairs(slow, workers=4).gram(WORDS[:4])
    assert 2 <= most <= 4


def test_no_more_calls_start_in_a_second_than_the_rate_allows():
    started = []

    async def f(s, t):
        started.append(time.monotonic())
        return 1.0

    FromPairs(f, workers=8, rate=200.0).gram(WORDS[:4])
    assert np.diff(sorted(started)).sum() >= 15 / 200 - 0.02  # the first slot may begin late


@pytest.mark.parametrize("options", [{}, {"workers": 4}])
def test_a_call_that_failed_is_repeated_and_the_last_error_names_the_pair(options):
    attempts = {}

    def flaky(s, t):
        attempts[s, t] = attempts.get((s, t), 0) + 1
        if attempts[s, t] < 3 or (s, t) == ("similar", "margin"):
            raise ConnectionError("service down")
        return 1.0

    with pytest.raises(PairError, match=r"pair \(2, 4\): f\('similar', 'margin'\) raised ConnectionError.*4 attempts"):
        FromPairs(flaky, retries=3, **options).gram(WORDS)
    assert attempts["kernel", "kernel"] == 3 and attempts["similar", "margin"] == 4


def test_only_the_named_errors_are_repeated_and_retry_after_is_waited_for():
    class BusyError(Exception):
        retry_after = 0.05

    started = []

    def f(s, t):
        started.append(time.monotonic())
        if len(started) == 1:
            raise BusyError
        if len(started) == 3:
            raise ValueError("no answer")
        return 1.0

    with pytest.raises(PairError, match="ValueError: no answer"):
        FromPairs(f, retries=5, retry_on=BusyError).gram(WORDS)
    assert len(started) == 3 and started[1] - started[0] >= 0.05


def test_the_first_pair_that_failed_is_named_whatever_the_concurrency():
    async def f(s, t):
        await asyncio.sleep(0.003 if (s, t) == ("kernel", "similar") else 0.0)
        if t in ("similar", "landmark"):
            raise RuntimeError("bad pair")
        return 1.0

    for workers in (1, 2, 7):
        with pytest.raises(PairError, match=r"pair \(0, 2\)"):
            FromPairs(f, workers=workers).gram(WORDS)


def test_a_call_that_takes_too_long_is_given_up():
    with pytest.raises(PairError, match=r"f\('kernel', 'kernel'\) took longer than 0.01 s, after 2 attempts"):
        FromPairs(lambda s, t: time.sleep(0.1) or 1.0, timeout=0.01, retries=1).gram(WORDS[:1])

    async def stuck(s, t):
        await asyncio.sleep(60)

    with pytest.raises(PairError, match=r"took longer than 0.01 s"):
        FromPairs(stuck, timeout=0.01).gram(WORDS[:1])


@pytest.mark.parametrize(
    ("f", "options", "error", "message"),
    [
        (lambda pairs: [1.0] * (len(pairs) - 1), {"batch": 5}, PairError, "batch of 5 pairs.*5 numbers are needed"),
        (lambda pairs: 1.0, {"batch": 5}, PairError, "5 numbers are needed"),
        (lambda pairs: [float("nan")] * len(pairs), {"batch": 5}, PairError, "is nan, not a finite"),
        (lambda s, t: awaited(s, t), {}, PairError, "define the function by async def"),
        (plain, {"batch": 5}, TypeError, "one argument, a list of pairs"),
        (batched, {}, TypeError, "of two arguments"),
        (plain, {"batch": 0}, ValueError, "batch must be an integer"),
        (plain, {"workers": 0}, ValueError, "workers must be an integer"),
        (plain, {"retries": -1}, ValueError, "retries must be an integer >= 0"),
        (plain, {"repeats": 0}, ValueError, "repeats must be an integer"),
        (plain, {"timeout": 0}, ValueError, "timeout must be a positive number or None"),
        (plain, {"rate": -1}, ValueError, "rate must be a positive number or None"),
        (plain, {"cost": -1}, ValueError, "cost must be a number >= 0 or None"),
        (plain, {"retry_on": "OSError"}, TypeError, "retry_on must be exception classes"),
    ],
)
def test_what_cannot_be_called_is_refused(f, options, error, message):
    with pytest.raises(error, match=message):
        FromPairs(f, **options).gram(WORDS)


@pytest.mark.parametrize("options", [{}, {"workers": 3}, {"retries": 2}])
def test_a_meter_counts_every_attempt_and_is_never_exceeded(options):
    made = []

    def f(s, t):
        made.append(1)
        return 1.0

    k = FromPairs(f, cost=0.5, **options)
    with metered(Meter(49)) as outer, metered(Meter(60)) as inner:
        k.gram(WORDS)
        with pytest.raises(BudgetError, match="the budget of 49 calls is spent"):
            k.gram(WORDS)
    assert len(made) <= outer.spent == 49 <= inner.spent
    assert outer.price == pytest.approx(0.5 * outer.spent)


def test_the_variance_of_repeated_answers_is_measured():
    rng = np.random.default_rng(0)
    with metered(Meter()) as meter:
        values = FromPairs(lambda s, t: 2.0 + rng.normal(scale=0.3), repeats=8).gram(WORDS)
    assert meter.spent == 8 * 49
    assert meter.noise == pytest.approx(0.09, rel=0.2)
    assert values.std() == pytest.approx(0.3 / np.sqrt(8), rel=0.3)


class Service(BaseHTTPRequestHandler):
    """A slow service that fails now and then, and refuses more requests at once than it can handle."""

    def do_POST(self):
        server = self.server
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.requests += 1
            server.running += 1
            busy, fails = server.running > 3, server.requests % 5 == 0
        time.sleep(0.001)
        with server.lock:
            server.running -= 1
        status = 429 if busy else 503 if fails else 200
        answer = json.dumps([plain(*pair) for pair in asked]).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def service():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.lock, server.requests, server.running = threading.Lock(), 0, 0
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_slow_failing_limited_service_gives_all_values_in_order(service):
    address = f"http://127.0.0.1:{service.server_port}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(pairs):
        request = urllib.request.Request(address, json.dumps(pairs).encode())
        try:
            with opener.open(request, timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            error.close()
            raise ConnectionError(f"status {error.code}") from None

    k = FromPairs(ask, batch=6, workers=4, retries=10)
    np.testing.assert_allclose(k.gram(WORDS), TRUTH, rtol=1e-15)
    assert service.requests > 9


# Waiting, limits and counts, without any call.


def test_a_hint_of_matrices_needs_two_vectors_of_numbers():
    asked = []

    def product(X, Z):
        asked.append((X.shape, Z.shape))
        return X @ Z.T

    x, number = np.ones(3), np.float64(1)
    assert (
        calling.hint_of_matrices(product, x, x) == "; if it is a function of matrices, f(X, Z), wrap it: FromBlocks(f)"
    )
    assert asked == [((1, 3), (1, 3))]
    for one, other in ((number, x), (x, number), (np.array(["a"]), x), (np.ones((2, 2)), x)):
        assert calling.hint_of_matrices(product, one, other) == ""
    assert len(asked) == 1
    assert calling.hint_of_matrices(lambda X, Z: np.ones(2), x, x) == ""


def test_coroutines_of_a_function_that_is_not_async_are_closed():
    made = []

    def f(s, t):
        made.append(awaited(s, t))
        return made[-1]

    with pytest.raises(PairError, match="a coroutine: define the function by async def"):
        FromPairs(f).cross(["a"], ["b", "c", "d"])
    assert len(made) == 3 and all(one.cr_frame is None for one in made)


def test_a_meter_knows_what_is_left_what_it_was_for_and_what_it_cost():
    shown = []
    meter = Meter(1_010, show=lambda one: shown.append(one.spent))
    assert (meter.left, meter.noise, Meter().left) == (1_010, None, float("inf"))
    meter.spend(3, 0.5)
    with meter.spending_on("landmarks"):
        meter.spend(4, 0.25)
        meter.spend(2)
    meter.spend(1)
    assert (meter.spent, meter.price, meter.left) == (10, 0.75, 1_000)
    assert meter.purposes == {"similarities": 4, "landmarks": 6} and shown == [3, 7, 9, 10]
    said = (
        "the budget of 1,010 calls is spent: 10 were made, and 1,001 more are needed for similarities; raise "
        "max_calls, or use fewer rows or landmarks"
    )
    with pytest.raises(BudgetError) as error:
        meter.spend(1_001)
    assert str(error.value) == said and meter.spent == 10
    meter.spend(1_000)
    assert meter.left == 0
    meter.observe(3.0, 2)
    meter.observe(1.0, 6)
    assert meter.noise == 0.5


def test_calls_of_a_meter_have_a_price_where_a_cost_is_stated():
    meter = Meter(9)
    meter.spend(4, 2.0)
    assert Calls.of(meter, None, 3.0, 5) == Calls(4, 9, {"similarities": 4}, None, 3.0, 5, None, None)
    assert Calls.of(meter, 0.5, 3.0, 5) == Calls(4, 9, {"similarities": 4}, 2.0, 3.0, 5, 1.5, None)
    assert Calls.of(meter, 0.5).price_per_prediction is None


@pytest.mark.parametrize(
    ("seconds", "left"), [(89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (36_000, "10.0 h")]
)
def test_progress_says_how_long_the_rest_will_take(seconds, left, monkeypatch):
    meter = Meter(4_000)
    assert progress_line(meter) == "0 calls"
    meter.spent, meter.started = 1_000, 50.0
    monkeypatch.setattr(calling.time, "monotonic", lambda: 50.0 + seconds / 3)
    assert progress_line(meter) == f"1,000 of 4,000 calls, about {left} left"
    meter.limit = None
    assert progress_line(meter) == "1,000 calls"


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        (Calls(1_234), "1,234 calls"),
        (Calls(5, 1_000), "5 of 1,000 calls"),
        (Calls(5, per_prediction=3.0, most_per_prediction=3), "5 calls to fit, 3 a prediction"),
        (Calls(5, per_prediction=99.5), "5 calls to fit, 99.5 a prediction"),
        (Calls(5, per_prediction=100.25), "5 calls to fit, 100 a prediction"),
        (
            Calls(5, per_prediction=2.5, most_per_prediction=4_000),
            "5 calls to fit, 2.5 a prediction on average (at most 4,000)",
        ),
        (Calls(5, price=0.0), "5 calls; about $0.00"),
        (Calls(5, price=0.01), "5 calls; about $0.01"),
        (Calls(5, price=0.0099, price_per_prediction=1_234.5), "5 calls; about $0.0099 to fit, $1,234.50 a prediction"),
    ],
    ids=str,
)
def test_calls_are_written_in_words(calls, text):
    assert str(calls) == text
