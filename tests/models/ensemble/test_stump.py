"""Decision stumps (row E1): the search against trying everything, its laws, and every kind of column."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from separatrix import DecisionStump, engine, verify
from separatrix.growth.stumps import Ensemble, StumpTable
from tests.draws import examples

TIE = 1e-12


def every_test(X):
    """(column, threshold, missing left, rows on the left) of every test of a numeric table, in the order of ties."""
    for j, x in enumerate(X.T):
        lost = np.isnan(x)
        values = np.unique(x[~lost])
        for a, b in pairwise(values):
            for goes in (True, False) if lost.any() else (None,):
                yield j, (a + b) / 2, goes, np.where(lost, bool(goes), x <= (a + b) / 2)
        if lost.any() and len(values):
            yield j, np.inf, False, ~lost


def brute_force(X, y, w):
    """The stump of least error by trying everything; None where no column has two values."""
    classes = np.unique(y)
    found = []
    for j, t, goes, left in every_test(X):
        sides = [[w[side & (y == c)].sum() for c in classes] for side in (left, ~left)]
        found.append((1 - (max(sides[0]) + max(sides[1])) / w.sum(), j, t, goes))
    if not found:
        return None
    least = min(f[0] for f in found)
    return next(f for f in found if f[0] <= least + TIE)


@st.composite
def tables(draw, missing=True, least=2, most=40):
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    n, p, k = draw(st.integers(least, most)), draw(st.integers(1, 4)), draw(st.integers(2, 4))
    X = rng.integers(0, 7, (n, p)).astype(float) if draw(st.booleans()) else rng.normal(size=(n, p)).round(1)
    if missing and draw(st.booleans()):
        X[rng.random((n, p)) < 0.2] = np.nan
    y = rng.integers(0, k, n)
    assume(len(np.unique(y)) > 1)
    w = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else rng.uniform(0.1, 2, n)
    return X, y, w


def same_stump(a, b):
    """Whether two stumps are the same test with the same classes and, to rounding, the same weights."""
    assert (a.feature_, a.missing_goes_) == (b.feature_, b.missing_goes_)
    np.testing.assert_equal(a.threshold_, b.threshold_)
    assert (a.left_class_, a.right_class_, a.levels_left_) == (b.left_class_, b.right_class_, b.levels_left_)
    np.testing.assert_allclose(a.error_, b.error_, atol=1e-13)


@examples(80)
@given(tables())
def test_the_search_equals_trying_everything(table):
    X, y, w = table
    stump, best = DecisionStump().fit(X, y, w), brute_force(X, y, w)
    if best is None:
        assert stump.feature_ == -1
        return
    assert (stump.feature_, stump.threshold_) == best[1:3]
    assert stump.error_ == pytest.approx(best[0], abs=1e-12)
    if best[3] is not None:
        assert (stump.missing_goes_ == "left") == best[3]
    assert np.average(stump.predict(X) != y, weights=w) == pytest.approx(stump.error_, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_more_values_than_bins(seed):
    """Bins hold several values each: the ones looked into must be enough, whatever the weights."""
    rng = np.random.default_rng(seed)
    n = 900
    X = rng.normal(size=(n, 3)) if seed % 2 else rng.lognormal(size=(n, 3)).round(3)
    X[rng.random((n, 3)) < 0.1 * (seed % 3)] = np.nan
    y = (rng.random(n) < 0.5 + 0.1 * np.sin(3 * np.nan_to_num(X[:, 1]))).astype(int) + (rng.random(n) < 0.1)
    w = rng.exponential(size=n) ** 3  # a few rows weigh a lot
    stump, best = DecisionStump().fit(X, y, w), brute_force(X, y, w)
    assert (stump.feature_, stump.threshold_) == best[1:3]
    assert stump.error_ == pytest.approx(best[0], abs=1e-12)


def test_bins_placed_by_a_sample_of_the_rows():
    """Beyond 4,096 rows the bins come from a sample; the threshold is still the best of all."""
    rng = np.random.default_rng(0)
    n = 20_000
    X = np.column_stack([rng.normal(size=n), np.r_[np.zeros(n - 30), rng.normal(size=30)]])
    y = (X[:, 0] > 0.123456).astype(int)
    stump = DecisionStump().fit(X, y)
    values = np.sort(X[:, 0])
    at = np.searchsorted(values, 0.123456)
    assert stump.feature_ == 0 and stump.error_ == 0
    assert stump.threshold_ == pytest.approx((values[at - 1] + values[at]) / 2, rel=1e-14)


@examples(40)
@given(tables(least=4))
def test_laws(table):
    X, y, w = table
    whole = np.ceil(w)
    stump = DecisionStump().fit(X, y, whole)
    repeated = np.repeat(np.arange(len(y)), whole.astype(int))
    same_stump(stump, DecisionStump().fit(X[repeated], y[repeated]))
    absent = np.vstack([X, X[::-1] + 0.5]), np.r_[y, y], np.r_[whole, np.zeros(len(y))]
    same_stump(stump, DecisionStump().fit(*absent))
    order = np.random.default_rng(0).permutation(len(y))
    same_stump(stump, DecisionStump().fit(X[order], y[order], whole[order]))
    with engine("serial", blocks=13):
        same_stump(stump, DecisionStump().fit(X, y, whole))
    same_stump(stump, DecisionStump(n_jobs=2).fit(X, y, whole))
    np.testing.assert_array_equal(
        stump.predict(X), DecisionStump().fit(np.exp(X / 3), y, whole).predict(np.exp(X / 3))
    )
    names = np.array(["p", "q", "r", "s"])[y]
    np.testing.assert_array_equal(
        DecisionStump().fit(X, names, whole).predict(X), np.array(["p", "q", "r", "s"])[stump.predict(X)]
    )


def test_threads_give_the_same_stump_on_a_large_table():
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(5000, 30)), rng.exponential(size=5000)
    y = rng.integers(0, 3, 5000)
    one, two = (DecisionStump(n_jobs=k).fit(X, y, w) for k in (1, 2))
    same_stump(one, two)
    np.testing.assert_array_equal(one.left_weights_, two.left_weights_)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("seed", range(4))
def test_gini_and_entropy_are_scikit_learns(criterion, seed):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(200, 4)), rng.uniform(0.5, 2, 200)
    y = rng.integers(0, 3, 200) + (X[:, seed % 4] > 0.3)
    ours = DecisionStump(criterion=criterion).fit(X, y, w)
    theirs = DecisionTreeClassifier(max_depth=1, criterion=criterion).fit(X, y, w).tree_
    assert (ours.feature_, ours.threshold_) == (theirs.feature[0], pytest.approx(theirs.threshold[0]))
    impurity = theirs.impurity[1:] @ theirs.weighted_n_node_samples[1:] / w.sum()
    factor = np.log(2) if criterion == "entropy" else 1.0
    assert ours.verdict_.objective == pytest.approx(factor * impurity)
    assert ours.error_ >= DecisionStump().fit(X, y, w).error_


@examples(30)
@given(tables(), st.sampled_from(["gini", "entropy"]))
def test_the_purest_sides_by_trying_everything(table, criterion):
    X, y, w = table

    def impurity(left):
        total = 0.0
        for side in (left, ~left):
            share = np.array([w[side & (y == c)].sum() for c in np.unique(y)])
            share = share[share > 0]
            p = share / share.sum()
            total += share @ (1 - p if criterion == "gini" else -np.log(p))
        return total / w.sum()

    tried = [(impurity(left), j, t) for j, t, _, left in every_test(X)]
    stump = DecisionStump(criterion=criterion).fit(X, y, w)
    if not tried:
        assert stump.feature_ == -1
        return
    least = min(tried)[0]
    assert stump.verdict_.objective == pytest.approx(least, abs=1e-10)
    assert (stump.feature_, stump.threshold_) in [(j, t) for value, j, t in tried if value <= least + 1e-10]


def test_missing_cells_go_the_better_way():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [np.nan], [np.nan]])
    stump = DecisionStump().fit(X, [0, 0, 1, 1, 1, 1])
    assert (stump.threshold_, stump.missing_goes_, stump.error_) == (2.5, "right", 0.0)
    assert stump.predict([[np.nan]]).tolist() == [1]
    stump = DecisionStump().fit(X, [0, 0, 1, 1, 0, 0])
    assert (stump.threshold_, stump.missing_goes_, stump.error_) == (2.5, "left", 0.0)
    given = DecisionStump().fit(np.where(np.isnan(X), X, 7.0), [0, 0, 0, 0, 1, 1])
    assert given.threshold_ == np.inf and given.error_ == 0 and given.rule_ == "x[0] given → 0, else 1"
    heavier = DecisionStump().fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 1, 1])
    assert heavier.missing_goes_ == "right"  # none was missing in training: to the side that weighs more


def test_a_column_of_nothing_but_missing_cells_is_no_test():
    stump = DecisionStump().fit(np.full((4, 2), np.nan), [0, 1, 1, 1])
    assert stump.feature_ == -1 and stump.predict([[1.0, 2.0]]).tolist() == [1]


LEVELS = [["a", 1.0], ["b", 1.0], ["c", 2.0], ["a", 2.0], ["c", 1.0], ["b", 2.0]]


def test_two_classes_take_the_best_subset_of_levels():
    y = [1, 0, 1, 1, 1, 0]
    stump = DecisionStump(categorical_features="from_dtype").fit(LEVELS, y)
    assert stump.error_ == 0 and stump.feature_ == 0 and stump.levels_left_ == ["b"]
    assert stump.rule_ == "x[0] among b → 0, else 1"
    assert stump.predict([["zebra", 1.0], ["b", 9.0]]).tolist() == [1, 0]  # unseen: the heavier side
    for criterion in ("gini", "entropy"):
        other = DecisionStump(criterion=criterion, categorical_features=[0]).fit(LEVELS, y)
        assert other.error_ == 0 and other.feature_ == 0


@examples(40)
@given(st.integers(0, 10**6), st.sampled_from(["error", "gini", "entropy"]))
def test_the_subset_is_the_best_of_all_subsets(seed, criterion):
    rng = np.random.default_rng(seed)
    n, levels = 40, 5
    x, y, w = rng.integers(0, levels, n), rng.integers(0, 2, n), rng.uniform(0.1, 1, n)
    assume(len(np.unique(y)) == 2 and len(np.unique(x)) == levels)
    stump = DecisionStump(criterion=criterion, categorical_features=[True]).fit(x[:, None], y, w)

    def loss(left):
        total = 0.0
        for side in (left, ~left):
            share = np.array([w[side & (y == c)].sum() for c in (0, 1)])
            p = share[share > 0] / share.sum()
            per = {"error": 1 - p.max() + 0 * p, "gini": 1 - p, "entropy": -np.log(p)}[criterion]
            total += share[share > 0] @ per
        return total / w.sum()

    splits = [np.isin(x, [l for l in range(levels) if mask >> l & 1]) for mask in range(1, 2**levels - 1)]
    majority = min(np.average(y != c, weights=w) for c in (0, 1))
    least = min(map(loss, splits))
    got = stump.verdict_.objective
    assert got == pytest.approx(least, abs=1e-12) or (criterion == "error" and got == pytest.approx(majority))


def test_more_classes_take_one_level_against_the_rest():
    x = np.repeat(["a", "b", "c", "d"], 5).astype(object)
    y = np.repeat([0, 1, 2, 2], 5)
    stump = DecisionStump(categorical_features=[0]).fit(x[:, None], y)
    assert stump.levels_left_ in (["a"], ["b"]) and stump.error_ == pytest.approx(0.25)
    x[:2] = None
    assert DecisionStump(categorical_features=[0]).fit(x[:, None], y).error_ == pytest.approx(0.25)


def test_frames_and_the_ways_to_name_nominal_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"sky": ["sun", "rain", "sun", "fog"], "zone": [3, 1, 3, 2], "t": [1.0, 2.0, np.nan, 4.0]}
    )
    y = ["yes", "no", "yes", "no"]
    for columns in ("from_dtype", ["sky"], [True, False, False], ["sky", "zone"]):
        stump = DecisionStump(categorical_features=columns).fit(frame, y)
        assert stump.rule_.startswith("sky among fog, rain → no") and stump.error_ == 0
    zone = DecisionStump(categorical_features=["zone"]).fit(frame[["zone", "t"]], y)
    assert (
        zone.levels_left_ == [1, 2]
        and zone.predict(pd.DataFrame({"zone": [3, 9], "t": [0.0, 0.0]}))[0] == "yes"
    )
    with pytest.raises(ValueError, match="'sky' holds words"):
        DecisionStump().fit(frame, y)
    with pytest.raises(ValueError, match="names column 'wind'"):
        DecisionStump(categorical_features=["wind"]).fit(frame, y)
    with pytest.raises(ValueError, match="one boolean a column"):
        DecisionStump(categorical_features=[True]).fit(frame, y)


@pytest.mark.parametrize("criterion", ["error", "gini", "entropy"])
def test_word_stumps_are_stumps_of_the_dense_table_of_presence(criterion):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.3, (200, 30)) * (1 + rng.integers(0, 3, (200, 30)))
    y = np.array(["ham", "spam", "list"])[1 * (counts[:, 7] > 0) + (rng.random(200) < 0.2)]
    w = rng.uniform(0.2, 2, 200)
    word = DecisionStump(criterion=criterion).fit(sp.csr_matrix(counts), y, w)
    dense = DecisionStump(criterion=criterion).fit((counts > 0).astype(float), y, w)
    assert (word.feature_, word.left_class_, word.right_class_) == (
        dense.feature_,
        dense.left_class_,
        dense.right_class_,
    )
    assert word.error_ == pytest.approx(dense.error_) and word.threshold_ == 0.0
    assert word.rule_ == f"x[{word.feature_}] present → {word.right_class_}, else {word.left_class_}"
    for X in (sp.csr_matrix(counts), sp.csc_matrix(counts), counts):
        np.testing.assert_array_equal(word.predict(X), dense.predict((counts > 0).astype(float)))


def test_explicit_zeros_are_no_words():
    X = sp.csr_matrix((np.array([1.0, 0.0, 1.0]), ([0, 1, 2], [0, 0, 1])), shape=(3, 2))
    assert DecisionStump().fit(X, [1, 0, 0]).error_ == 0


def test_probabilities_are_the_shares_of_a_side():
    stump = DecisionStump().fit([[0], [0], [0], [1], [1]], ["a", "a", "b", "b", "b"])
    np.testing.assert_allclose(stump.predict_proba([[0], [1]]), [[2 / 3, 1 / 3], [0, 1]])
    assert stump.left_weights_.tolist() == [2, 1] and stump.right_weights_.tolist() == [0, 2]
    assert stump.predict_log_proba([[1]])[0, 0] == -np.inf


def test_float32_and_neighbouring_numbers():
    """No number lies between: the threshold is the lower one, and the side of both is kept."""
    low = np.float32(1.0)
    X = np.array([[low], [np.nextafter(low, np.float32(2))]], dtype=np.float32)
    assert DecisionStump().fit(X, [0, 1]).predict(X).tolist() == [0, 1]
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    stump = DecisionStump().fit(X, [0, 1])
    assert stump.threshold_ == 1.0 and stump.predict(X).tolist() == [0, 1]
    huge = np.array([[-1.5e308], [1.5e308]])
    assert DecisionStump().fit(huge, [0, 1]).threshold_ == 0.0


def test_in_words():
    assert str(DecisionStump().fit([[0], [1]], [0, 1])) == "x[0] ≤ 0.5 → 0, else 1"
    assert str(DecisionStump()) == "DecisionStump()"
    constant = DecisionStump().fit(np.ones((3, 2)), ["a", "b", "b"])
    assert constant.rule_ == "always b" and constant.error_ == pytest.approx(1 / 3)
    assert "no column has two values" in str(constant.verdict_)
    alike = DecisionStump().fit([[0], [0], [1], [1]], ["a", "b", "b", "b"], [1, 2, 1, 1])
    assert alike.left_class_ == alike.right_class_ == "b" and "both sides say the same" in str(alike.verdict_)
    many = DecisionStump(categorical_features="from_dtype").fit(
        [[f"w{i:02d}"] for i in range(20)], [0] * 15 + [1] * 5
    )
    assert "and 9 more" in many.rule_


def test_an_ensemble_votes_as_its_stumps():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 5, 300)])
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, 300)
    stumps, weight = [], rng.uniform(0.5, 2, 6)
    for t in range(6):
        table = StumpTable.of(X, y, 3, np.arange(300), [1])
        stumps.append(table.best(rng.integers(1, 9, 300))[0])
    new = np.vstack([X, [[0.0, 9.0], [0.0, -1.0]]])
    expected = np.zeros((302, 3))
    for a, s in zip(weight, stumps):
        expected[np.arange(302), s.codes(new[:, s.feature])] += a
    ensemble = Ensemble.of(stumps, 3)
    np.testing.assert_allclose(ensemble.votes(new, weight), expected)
    np.testing.assert_allclose(
        ensemble.votes(sp.csr_matrix(np.nan_to_num(new)), weight), ensemble.votes(np.nan_to_num(new), weight)
    )


def test_verify_knows_the_best_stump_from_another():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    stump = DecisionStump().fit(X, y)
    assert verify(stump, X, y).status == "optimal"
    assert verify(stump, X[::-1], y).status == "not converged"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"criterion": "log_loss"}, "criterion 'log_loss' is unknown"),
        ({"categorical_features": "all"}, "categorical_features 'all' is unknown"),
    ],
)
def test_parameters_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        DecisionStump(**change).fit([[0], [1]], [0, 1])


def test_bad_input_is_refused_by_name():
    assert DecisionStump().fit([[0], [1]], [1, 1]).rule_ == "always 1"
    with pytest.raises(ValueError, match="infinity: column 1, row 0"):
        DecisionStump().fit([[0, np.inf], [1, 1]], [0, 1])
    with pytest.raises(ValueError, match="column 0 of a sparse table"):
        DecisionStump().fit(sp.csr_matrix([[np.nan], [1.0]]), [0, 1])
    with pytest.raises(ValueError, match="row 1 has weight -1"):
        DecisionStump().fit([[0], [1]], [0, 1], sample_weight=[1, -1])
    with pytest.raises(ValueError, match="column 0 was number in training"):
        DecisionStump(categorical_features=[1]).fit([[0.5, 1], [1.5, 2]], [0, 1]).predict([["a", 1]])
