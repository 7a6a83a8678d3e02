"""Tests of hypotheses: exact levels, estimates by their definitions, power, who is named, landmarks, bad input."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from cli_runs import run, write_csv

from similitude import FromPairs, Precomputed, drift_test, independence_test, load, save, two_sample_test
from similitude.engines import LocalEngine
from similitude.hypotheses import independence
from similitude.hypotheses.p_values import combined, standardized
from similitude.hypotheses.permuted_samples import squared_discrepancies
from similitude.hypotheses.samples import centered
from similitude.kernels import Gaussian, Linear, Spectrum
from similitude.support import PairError

rng = np.random.default_rng(0)
ODD = FromPairs(lambda a, b: (a - 0.3 * b) ** 2 - a * abs(b))
"""Neither symmetric nor positive semi-definite."""


TRIALS = 70
"""Number of problems in which the hypothesis holds."""


def words(n):
    return ["".join(rng.choice(list("ACGT"), 8)) for _ in range(n)]


def at_most(level, tests):
    """Return a number of rejections that would be surprising: four standard deviations above the mean."""
    return level * tests + 4 * math.sqrt(level * (1 - level) * tests)


# The estimates are what their definitions say.


def unbiased_mmd(K, n):
    m = len(K) - n
    own, other, cross = K[:n, :n], K[n:, n:], (K[:n, n:] + K[n:, :n].T) / 2
    within = (own.sum() - np.trace(own)) / (n * (n - 1)) + (other.sum() - np.trace(other)) / (m * (m - 1))
    return within - 2 * cross.mean()


def unbiased_hsic(K, L):
    """Return the mean over all quadruples of different pairs (Gretton et al. 2008, equation 4)."""
    total = [
        K[i, j] * (L[i, j] + L[q, r] - L[i, q] - L[i, r]) for i, j, q, r in itertools.permutations(range(len(K)), 4)
    ]
    return np.mean(total)


def test_the_statistic_of_one_kernel_is_the_unbiased_mmd():
    X, Z = rng.normal(size=(7, 2)), rng.normal(size=(5, 2)) + 1.0
    K = Gaussian(1.5).gram(np.concatenate([X, Z]))
    assert two_sample_test(Gaussian(1.5), X, Z).statistic == pytest.approx(unbiased_mmd(K, 7))


def test_the_statistic_of_an_asymmetric_similarity_is_that_of_its_mean_over_both_directions():
    M = rng.normal(size=(12, 12))
    found = two_sample_test(Precomputed(M), np.arange(5), np.arange(5, 12))
    assert found.statistic == pytest.approx(unbiased_mmd((M + M.T) / 2, 5))


def test_the_statistic_of_a_pair_of_kernels_is_the_unbiased_hsic():
    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    found = independence_test(Gaussian(1.0), X, Gaussian(2.0), Z)
    assert found.statistic == pytest.approx(unbiased_hsic(Gaussian(1.0).gram(X), Gaussian(2.0).gram(Z)))


def test_products_give_the_discrepancy_of_every_permutation():
    K = rng.normal(size=(9, 9))
    members = np.array([rng.permutation(9) < 4 for _ in range(6)])
    found = squared_discrepancies(centered(K), members)
    orders = [np.concatenate([np.flatnonzero(one), np.flatnonzero(~one)]) for one in members]
    assert found == pytest.approx([unbiased_mmd(K[np.ix_(order, order)], 4) for order in orders])


@pytest.mark.parametrize("n", [7, 8])
def test_fourier_transforms_give_the_sum_of_every_shift(n):
    A, B = centered(rng.normal(size=(n, n))), centered(rng.normal(size=(n, n)))
    order = rng.permutation(n)
    found = independence._correlations(independence._diagonals(A, order), independence._diagonals(B, order), n)
    moved = [np.roll(order, -k) for k in range(n)]
    assert found == pytest.approx([(A[np.ix_(order, order)] * B[np.ix_(one, one)]).sum() for one in moved])


def test_landmark_statistics_are_those_of_all_pairs_if_all_objects_are_landmarks():
    X, Z = rng.normal(size=(12, 2)), rng.normal(size=(9, 2))
    K = Gaussian(1.0).gram(np.concatenate([X, Z]))
    w = np.concatenate([np.full(12, 1 / 12), np.full(9, -1 / 9)])
    assert two_sample_test(Gaussian(1.0), X, Z, n_landmarks=21).statistic == pytest.approx(w @ K @ w, rel=1e-5)
    H = np.eye(12) - 1 / 12
    L = Linear().gram(X) @ H
    found = independence_test(Gaussian(1.0), X, "linear", X, n_landmarks=12).statistic
    assert found == pytest.approx(np.trace(K[:12, :12] @ H @ L) / 144, rel=1e-5)


# The level is exact, whatever the similarity.

NULL = {
    "vectors": lambda **seed: two_sample_test("auto", rng.normal(size=(8, 2)), rng.normal(size=(11, 2)), **seed),
    "strings": lambda **seed: two_sample_test(Spectrum(2), words(8), words(9), **seed),
    "function": lambda **seed: two_sample_test(ODD, rng.normal(size=5).tolist(), rng.normal(size=6).tolist(), **seed),
    "landmarks": lambda **seed: two_sample_test(
        Gaussian(1.0), rng.normal(size=(12, 2)), rng.normal(size=(17, 2)), n_landmarks=5, **seed
    ),
    "pairs": lambda **seed: independence_test(
        Gaussian(1.0), rng.normal(size=(9, 1)), Gaussian(1.0), rng.normal(size=(9, 1)), **seed
    ),
    "function of pairs": lambda **seed: independence_test(
        ODD, rng.normal(size=6).tolist(), ODD, rng.normal(size=6).tolist(), **seed
    ),
    "landmarks of pairs": lambda **seed: independence_test(
        Gaussian(1.0), rng.normal(size=(23, 1)), Gaussian(1.0), rng.normal(size=(23, 1)), n_landmarks=4, **seed
    ),
}


@pytest.mark.parametrize("case", NULL)
def test_the_hypothesis_is_rejected_as_rarely_as_the_level_says(case):
    found = [NULL[case](n_permutations=19, level=0.2, random_state=i) for i in range(TRIALS)]
    rejected = sum(one.rejected for one in found)
    assert TRIALS * 0.2 - 4 * math.sqrt(TRIALS * 0.16) < rejected < at_most(0.2, TRIALS)
    named = sum(min([1.0, *[object.p_value for object in one.telling]]) <= 0.2 for one in found)
    assert named < at_most(0.2, TRIALS)


def test_batches_that_have_not_drifted_are_rarely_named_although_another_one_has():
    def wrong(seed):
        new = rng.normal(size=(36, 1))
        new[12:24] += 4.0
        found = drift_test(Gaussian(1.0), rng.normal(size=(15, 1)), new, batches=12, level=0.2, random_state=seed)
        assert 1 in found.drifted
        return len(found.drifted) > 1

    assert sum(wrong(seed) for seed in range(15)) < at_most(0.2, 15)


def test_the_order_of_the_objects_does_not_choose_the_kernels():
    X, Z = rng.normal(size=(15, 2)), 3.0 + rng.normal(size=(15, 2))
    names = [[one.kernel for one in two_sample_test("auto", a, b).kernels] for a, b in [(X, Z), (Z, X)]]
    assert [name.split("=")[0] for name in names[0]] == [name.split("=")[0] for name in names[1]]
    sigmas = [[float(name.split("=")[1].rstrip(")")) for name in each] for each in names]
    assert sigmas[0] == pytest.approx(sigmas[1])


def test_a_difference_that_one_kernel_of_many_sees_is_found():
    z = standardized(rng.normal(size=200) + 0.1 * rng.normal(size=(20, 200)))
    z[7, 0] += 3.0
    assert combined(z).argmax() == 0


# What differs is found, and named.


@pytest.mark.parametrize("n_landmarks", [None, 40])
def test_differences_are_found_and_the_objects_in_the_new_region_are_named(n_landmarks):
    X, Z = rng.normal(size=(150, 2)), rng.normal(size=(150, 2))
    Z[:30] = 6.0 + 0.3 * rng.normal(size=(30, 2))
    found = two_sample_test("auto", X, Z, n_landmarks=n_landmarks, random_state=1)
    assert found.p_value == 0.001
    named = [one for one in found.telling if one.sample == "Z" and one.p_value <= 0.05]
    assert named
    assert all(one.position < 30 for one in named)
    assert all(np.array_equal(one.object, Z[one.position]) for one in named)


def test_several_widths_find_what_the_median_width_does_not():
    X = rng.uniform(size=(200, 1))
    Z = (np.floor(rng.uniform(size=(200, 1)) * 10) + 0.5 * rng.uniform(size=(200, 1))) / 10
    assert two_sample_test("gaussian", X, Z, random_state=1).p_value > 0.05
    assert two_sample_test("auto", X, Z, random_state=1).p_value < 0.01


def test_strings_of_other_lengths_differ():
    longer = [first + second[:4] for first, second in zip(words(40), words(40), strict=True)]
    assert two_sample_test("auto", words(40), longer).p_value == 0.001


def test_dependences_without_correlation_are_found():
    angle = 2 * np.pi * rng.uniform(size=200)
    x, z = np.cos(angle) + 0.1 * rng.normal(size=200), np.sin(angle) + 0.1 * rng.normal(size=200)
    assert independence_test("auto", x, "auto", z).p_value == 0.001
    assert independence_test("auto", x, "auto", z, n_landmarks=20).p_value == 0.001
    assert independence_test("linear", x, "linear", z).p_value > 0.01  # this kernel is not characteristic


def test_strings_depend_on_numbers():
    texts = ["ACGT"[i % 4] * 3 + word for i, word in enumerate(words(60))]
    numbers = [float(i % 4) for i in range(60)]
    found = independence_test("auto", texts, "auto", numbers)
    assert found.rejected
    assert found.n_permutations == 999


def test_batches_are_named_by_their_labels():
    new = rng.normal(size=(60, 1))
    days = np.array(["mon", "tue", "wed"])[np.arange(60) % 3]
    new[days == "tue"] += 3.0
    found = drift_test("auto", rng.normal(size=(50, 1)), new, batches=days)
    assert found.batches == ("mon", "tue", "wed")
    assert found.drifted == ("tue",)
    assert found.p_value == min(found.p_values)
    assert {days[one.position] for one in found.telling if one.sample == "new"} == {"tue"}
    assert "'tue'" in str(found)


def test_new_objects_as_a_whole_are_compared_as_two_samples_are():
    X, Z = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    whole, two = drift_test("auto", X, Z, random_state=3), two_sample_test("auto", X, Z, random_state=3)
    assert (whole.p_value, whole.statistic) == (two.p_value, two.statistic)
    assert len(drift_test("auto", X, Z, batches=6).batches) == 3  # the last one has eight


# Constant similarities, forms of input, results.


@pytest.mark.parametrize("n_landmarks", [None, 5])
def test_a_constant_similarity_gives_one_and_says_so(n_landmarks):
    constant = FromPairs(lambda a, b: 0.1)
    found = two_sample_test(constant, list("abcdefg"), list("hijklmno"), n_landmarks=n_landmarks)
    assert found.p_value == 1.0
    assert "the similarity is constant" in str(found)
    found = independence_test(constant, list("abcdefg"), "auto", range_of(7), n_landmarks=n_landmarks)
    assert found.p_value == 1.0
    assert any("constant" in note for note in found.notes)


def range_of(n):
    return [float(i) for i in range(n)]


def test_data_frames_and_a_limited_memory_change_nothing():
    X, Z = rng.normal(size=(60, 2)), rng.normal(size=(50, 2)) + 0.3
    found = two_sample_test("gaussian", X, Z)
    frames = [pd.DataFrame(one, columns=["a", "b"]) for one in (X, Z)]
    assert two_sample_test("gaussian", *frames).p_value == found.p_value
    assert two_sample_test("gaussian", X, Z, engine=LocalEngine(memory="2MiB")).p_value == found.p_value
    with pytest.raises(MemoryError, match="memory budget"):
        two_sample_test(FromPairs(lambda a, b: 1 / 0), X, Z, engine=LocalEngine(memory="100kB"))


def test_sums_over_landmarks_keep_to_the_memory_budget():
    X, Z = rng.normal(size=(700, 2)), rng.normal(size=(1300, 2)) + 0.05
    found, tight = (
        two_sample_test("auto", X, Z, n_landmarks=9, engine=LocalEngine(memory=memory)) for memory in ("2GiB", "2MiB")
    )
    assert tight.statistic == pytest.approx(found.statistic)
    assert tight.p_value == found.p_value
    found, tight = (
        independence_test("auto", X, "linear", X, n_landmarks=3, n_permutations=99, engine=LocalEngine(memory=memory))
        for memory in ("2GiB", "1MiB")
    )
    assert tight.statistic == pytest.approx(found.statistic)
    with pytest.raises(MemoryError, match="fewer landmarks"):
        independence_test("auto", X, "auto", X, n_landmarks=50, engine=LocalEngine(memory="1MiB"))
    with pytest.raises(MemoryError, match="fewer landmarks"):
        two_sample_test("auto", X, Z, n_landmarks=200, engine=LocalEngine(memory="1MiB"))


def test_landmarks_are_taken_for_many_objects_and_the_result_says_so():
    X, Z = rng.normal(size=(2000, 1)), rng.normal(size=(1500, 1)) + 0.2
    found = two_sample_test(Gaussian(1.0), X, Z, n_permutations=99)
    assert (found.n_landmarks, found.p_value) == (200, 0.01)
    assert "200 landmarks" in str(found)


def test_results_are_saved_printed_and_turned_into_dicts(tmp_path):
    found = drift_test(Spectrum(2), words(9), words(8), random_state=0)
    save(found, tmp_path / "found.npz")
    loaded = load(tmp_path / "found.npz")
    assert str(loaded) == str(found)
    assert loaded.to_dict() == found.to_dict()
    assert found.to_dict()["telling"][0]["sample"] == "reference"
    assert "not rejected at the level" in found._repr_html_()
    assert repr(found) == f"DriftResult(statistic={found.statistic:.4g}, p_value={found.p_value:.4g})"


def test_a_pair_without_a_similarity_is_named_by_its_positions():
    bad = FromPairs(lambda a, b: math.nan if (a, b) == ("x", "c") else 1.0)
    with pytest.raises(PairError, match=r"pair \(4, 2\)"):
        two_sample_test(bad, list("abcd"), list("xefg"))


def test_the_same_seed_gives_the_same_result():
    X, Z = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    first, second, other = (two_sample_test("auto", X, Z, random_state=seed).p_value for seed in (1, 1, 2))
    assert first == second
    assert first == pytest.approx(other, abs=0.1)


def test_rows_without_a_label_are_compared_on_the_command_line(tmp_path):
    table = write_csv(tmp_path / "half.csv", {"word": ["ACGT", "ACGA", "AGGA"] * 6, "class": ["a", "", ""] * 6})
    ran = run("drift", table, table, "--label", "class", "--similarity", "spectrum(p=2)", "--json")
    assert ran.code == 0 and json.loads(ran.out)["old_rows"] == 18


def test_drift_on_the_command_line(tmp_path):
    old = write_csv(tmp_path / "old.csv", {"word": ["ACGT" * 3, "ACGA" * 3, "AGGA" * 3] * 6, "class": [0, 1, 1] * 6})
    same = write_csv(tmp_path / "same.csv", {"word": ["ACGA" * 3, "AGGA" * 3, "ACGT" * 3] * 5})
    other = write_csv(tmp_path / "other.csv", {"word": ["ACGT" * 3, "TTTT" * 3, "TTTC" * 3] * 5})
    ran = run("drift", old, other, "--label", "class")
    assert ran.code == 0 and ran.out.startswith("15 new rows and 18 old rows differ: p = ")
    assert "  new row 1: 'TTTTTTTTTTTT'" in ran.out
    ran = run("drift", old, same, "--label", "class", "--similarity", "spectrum(p=2)", "--json")
    found = json.loads(ran.out)
    assert ran.code == 0 and not found["drifted"] and found["result"]["p_value"] > 0.05
    batches = run("drift", old, other, "--label", "class", "--batch", 8)
    assert batches.code == 0 and "Batches of 8 new rows that differ, of 1: 0 (rows 0 on)" in batches.out
