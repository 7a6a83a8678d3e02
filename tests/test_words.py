"""The kernel of words: brute force, scikit-learn's tf-idf, new texts, keys of weights and bad input."""

import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from similitude import SimilarityClassifier, as_similarity, check_kernel, load, save
from similitude.errors import UnresolvedError
from similitude.kernels import Words, explicit_map

TEXTS = [
    "The cat sat on the mat.",
    "A cat, a CAT: the cat!",
    "on the mat sat two cats",
    "Straße naïve 日本語 x_1",
    "stock prices fell",
    "",
    "?!",
]


def bag(text, words, letters):
    """Count the terms of a text, letter by letter."""
    found, tokens, current = {}, [], ""
    for letter in text.lower() + " ":
        if letter.isalnum() or letter == "_":
            current += letter
        elif current:
            tokens, current = [*tokens, current], ""
    terms = [tuple(tokens[i : i + n]) for n in range(1, words + 1) for i in range(len(tokens) - n + 1)]
    for token in tokens if letters else []:
        padded = " " + token + " "
        if len(padded) < letters[0]:
            terms.append(padded)
        for n in range(letters[0], letters[1] + 1):
            terms += [padded[i : i + n] for i in range(len(padded) - n + 1)]
    for term in terms:
        found[term] = found.get(term, 0) + 1
    return found


def brute_force(texts, new, words, letters):
    """Cosines of tf-idf, where a term that no text has is as rare as can be."""
    bags, n = [bag(text, words, letters) for text in texts], len(texts)
    having = {}
    for one in bags:
        for term in one:
            having[term] = having.get(term, 0) + 1

    def vector(text):
        counts = bag(text, words, letters)
        values = {u: (1 + math.log(c)) * (math.log((1 + n) / (1 + having.get(u, 0))) + 1) for u, c in counts.items()}
        norm = math.sqrt(sum(value * value for value in values.values())) or 1.0
        return {u: value / norm for u, value in values.items()}

    left, right = [vector(text) for text in new], [vector(text) for text in texts]
    return [[sum(value * b.get(u, 0.0) for u, value in a.items()) for b in right] for a in left]


texts = st.lists(st.text(alphabet="aB 1_,é", max_size=14), min_size=1, max_size=5)


@given(texts, texts, st.integers(1, 3), st.sampled_from([None, (1, 1), (2, 4), (5, 6)]))
def test_brute_force(X, new, words, letters):
    k = Words(words, letters)
    np.testing.assert_allclose(k.gram(X), brute_force(X, X, words, letters), atol=1e-12)
    np.testing.assert_allclose(k.resolve(X).cross(new, X), brute_force(X, new, words, letters), atol=1e-12)


def tokens(text):
    return re.findall(r"\w+", text.lower())


@pytest.mark.parametrize(
    ("k", "theirs"),
    [
        (Words(1), TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+")),
        (Words(2), TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+", ngram_range=(1, 2))),
        (
            Words(0, (3, 5)),
            TfidfVectorizer(
                sublinear_tf=True,
                analyzer="char_wb",
                ngram_range=(3, 5),
                preprocessor=lambda text: " ".join(tokens(text)),
            ),
        ),
    ],
    ids=["words", "pairs", "letters"],
)
def test_agrees_with_scikit_learn(k, theirs):
    M = theirs.fit_transform(TEXTS)
    np.testing.assert_allclose(k.gram(TEXTS), (M @ M.T).toarray(), atol=1e-12)


def test_known_values():
    plain = Words(1, weights=None)
    assert plain("a b", "B, a!") == pytest.approx(1.0)
    assert plain("a b", "b c") == pytest.approx(0.5)
    assert plain("", "") == 0.0 and plain("?!", "a") == 0.0, "a text without words is similar to nothing"
    assert plain("a a a b", "a") == pytest.approx((1 + math.log(3)) / math.hypot(1 + math.log(3), 1))
    assert plain(b"\xe9t\xe9", "ÉTÉ") == pytest.approx(1.0)
    assert Words(2, weights=None)("new york", "york new") == pytest.approx(2 / 3)
    assert Words(1, weights=None)("cats", "cat") == 0.0 < Words(0, (3, 3), weights=None)("cats", "cat")


def test_new_texts_have_columns_for_known_terms_and_one_for_the_rest():
    k, new = Words(2, (3, 4)).resolve(TEXTS), ["the cat of Rome", "", "Rome", *TEXTS]
    F, G = explicit_map(k, TEXTS), explicit_map(k, new, like=TEXTS)
    assert F.format == "csr" and F.shape[1] == G.shape[1]
    np.testing.assert_allclose((G @ F.T).toarray(), k.cross(new, TEXTS), atol=1e-12)
    np.testing.assert_allclose((G * G).sum(axis=1), k.diag(new), atol=1e-12)
    with pytest.raises(UnresolvedError, match="weights"):
        Words().cross(new, TEXTS)


def test_weights_name_terms():
    k = Words(2, (3, 4), weights={"cat": 4.0, "the cat": 0.0, "~cat": 0.0})
    table = k.feature_table(["The cat"])
    assert {"the", "cat", "the cat", "~ cat", "~the "} <= set(table.keys)
    assert k.feature_names([], ["cat", "~at "]) == ["cat", "'at '"]
    plain = Words(1, weights={"cat": 4.0})
    assert plain("cat dog", "cat") == pytest.approx(2 / math.sqrt(5))
    assert Words(1, weights={"cat": 0.0})("cat", "cat") == 0.0


def test_is_a_kernel_that_can_be_saved(tmp_path):
    assert as_similarity("words(words=1, letters=(3, 5))") == Words(1, (3, 5))
    assert check_kernel(Words()).verdict == "VALID"
    k = Words().resolve(TEXTS)
    assert "weights>" in repr(k) and k == pickle.loads(pickle.dumps(k))
    model = SimilarityClassifier(Words(1), random_state=0).fit(TEXTS, ["a", "a", "a", "b", "b", "b", "b"])
    save(model, tmp_path / "words.model")
    new = ["the mat", "prices of stock", "nothing known"]
    np.testing.assert_array_equal(load(tmp_path / "words.model").predict_proba(new), model.predict_proba(new))


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (Words(-1), "words must be an integer >= 0"),
        (Words(0), "leave no terms"),
        (Words(letters=3), "letters must be None or a pair"),
        (Words(letters=(5, 3)), "a smallest and a largest length"),
        (Words(letters=(0, 3)), "letters must be an integer >= 1"),
        (Words(weights={"New York": 1.0}), "in lower case"),
        (Words(1, weights={"new york": 1.0}), "1 to 1 words"),
        (Words(weights={"~ing": 1.0}), "letters=None"),
        (Words(weights="df"), "or 'idf'"),
    ],
)
def test_bad_parameters(k, message):
    with pytest.raises((TypeError, ValueError), match=message):
        k.gram(["abc"])


def test_what_is_no_text_is_named():
    with pytest.raises(TypeError, match=r"X: object 1 is None: string kernels need str or bytes"):
        Words(weights=None).gram(["a", None])
