"""SVC, SVR and LinearSVC held to LIBSVM and to each other on real tables, every objective recomputed here.

    dual     D(β) = Σ|β_i| − ½ βᵀKβ,          0 ≤ y_i β_i ≤ C_i,  Σ β_i = 0         one machine for a pair of classes
    tube     D(β) = z·β − ε Σ|β_i| − ½ βᵀKβ,  |β_i| ≤ C,          Σ β_i = 0
    primal   P(w, b) = ½‖w‖² + C Σ ξ_i ≥ D,   f = Kβ + b

K is formed here in double precision from differences of rows. LIBSVM is scikit-learn's copy, at its tightest; it
keeps its kernel in single precision, so what it finds is the optimum of a matrix rounded to 6e-8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import (
    load_breast_cancer,
    load_iris,
    load_wine,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as LibSVC

from separatrix import SVC
from tests.models.margin.references import (
    STEPS,
    TIGHT,
    Case,
    Machine,
    cases,
    factors,
    is_feasible,
    kernel,
    load,
    machines,
    rounding,
    table,
)

# ---- 1. the dual, the scores and the support vectors of SVC ----

DUALS = (
    Case("bundled iris", given={"C": 10.0}),
    Case("bundled wine", given={"kernel": "poly", "degree": 2, "coef0": 1.0}),
    Case("bundled cancer", given={"kernel": "linear", "C": 0.5}),
    Case("bundled cancer", scaled=False, given={"C": 5.0}),
    Case("bundled digits", scaled=False, rows=600, given={"C": 1.0}),
    Case("banknote", rows=900, given={"C": 10.0}),
    Case("glass", given={"kernel": "poly", "degree": 2, "coef0": 1.0}),
    Case("haberman", scaled=False, given={"gamma": 0.01}),
    Case("heart_scale", given={"kernel": "linear"}),
    Case("ionosphere", scaled=False, given={"C": 5.0}),
    Case("liver_disorders", scaled=False, given={"C": 10.0}),
    Case("pima", given={"kernel": "linear", "C": 0.1}),
    Case("sonar", given={"C": 100.0}),
    Case("vehicle", given={"C": 10.0}),
    Case("german_numer_scale", given={"gamma": "auto"}),
    Case("breast_cancer_wisconsin", scaled=False, given={"gamma": 0.02}),
    Case("voting", scaled=False, given={"C": 2.0}),
    Case("yeast", rows=900, given={"class_weight": "balanced"}),
    Case("balance_scale", given={"kernel": "poly", "degree": 3}),
    Case("lymphography", scaled=False, given={"kernel": "linear", "C": 0.2}),
    Case("splice", scaled=False, rows=500, given={}),
    Case("spambase", rows=700, given={"kernel": "linear", "C": 0.02}),
)


@cases(*DUALS)
def test_the_dual_is_never_below_libsvms(case):
    X, y = table(case)
    mine = SVC(tol=TIGHT, **case.given).fit(X, y)
    peer = LibSVC(tol=TIGHT, max_iter=STEPS, **case.given).fit(X, y)
    assert mine.verdict_.status == "optimal"
    K, factor = kernel(X, X, case.given, X), factors(y, case.given.get("class_weight"))
    primal = 0.0
    for ours, theirs in zip(machines(mine, y, factor), machines(peer, y, factor), strict=True):
        part = K[np.ix_(ours.rows, ours.rows)]
        assert is_feasible(ours)
        best, gap = ours.dual(part), ours.primal(part) - ours.dual(part)
        primal += ours.primal(part)
        assert best >= theirs.dual(part) * (1 - 1e-13)
        assert gap <= TIGHT * best
        assert ours.violation(part) <= TIGHT * 1.01
        near = rounding(ours.beta, part)
        score = ours.score(part)
        np.testing.assert_allclose(score, theirs.score(part), rtol=0, atol=near)
        one_has_it = (ours.beta != 0) != (theirs.beta != 0)
        assert (np.abs(ours.sign * score - 1)[one_has_it] <= near).all()
    np.testing.assert_allclose(mine.verdict_.objective, primal, rtol=1e-9)


@pytest.mark.parametrize("given", [{"C": 3.0, "gamma": 0.02}, {"kernel": "linear", "C": 0.1}], ids=str)
def test_libsvm_in_its_own_package_says_the_same(given):
    svmutil = pytest.importorskip("libsvm.svmutil", reason="libsvm-official is not installed")
    X, y = table(Case("bundled cancer"))
    options = f"-t {2 if 'gamma' in given else 0} -c {given['C']} -g {given.get('gamma', 1.0)} -e {TIGHT} -q"
    theirs = svmutil.svm_train(y.astype(float), X, options)
    beta = np.zeros(len(y))
    beta[np.array(theirs.get_sv_indices()) - 1] = np.ravel(theirs.get_sv_coef())
    sign = 1.0 if theirs.get_labels()[0] == 1 else -1.0
    rows, C = np.arange(len(y)), np.full(len(y), given["C"])
    official = Machine(rows, np.where(y == 1, 1.0, -1.0), C, sign * beta, -sign * theirs.rho[0])
    (ours,) = machines(SVC(tol=TIGHT, **given).fit(X, y), y, np.ones(2))
    K = kernel(X, X, given, X)
    assert is_feasible(official) and ours.dual(K) >= official.dual(K) * (1 - 1e-13)
    np.testing.assert_allclose(ours.score(K), official.score(K), rtol=0, atol=rounding(ours.beta, K))


# ---- 2. test rows predicted right ----

SPLITS = (
    Case("bundled digits", scaled=False, rows=900),
    Case("bundled cancer", rows=300, given={"C": 10.0}),
    Case("optdigits", scaled=False, rows=2000, test="optdigits/optdigits.tes", given={"C": 5.0}),
    Case("a9a", rows=2500, test="a9a/a9a.t", given={"gamma": "auto"}),
    Case("reuters_money_fx", rows=1500, test="reuters_money_fx/reuters.tst", given={"kernel": "linear"}),
    Case("mushrooms_agaricus", rows=1500, test="mushrooms_agaricus/agaricus.test", given={"C": 0.1}),
    Case("phoneme", rows=1500, given={"C": 100.0}),
    Case("spambase", rows=1200),
    Case("car", scaled=False, rows=900, given={"kernel": "poly", "degree": 2, "coef0": 1.0}),
    Case("splice", scaled=False, rows=900),
    Case("krkopt", rows=1000, given={"C": 10.0}),
)

TESTED = 1500


def split(case: Case) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Training and test rows: the set's own where it has them, else by a fixed draw."""
    X, y = load(case.name)
    order = np.random.default_rng(1).permutation(len(y))
    train, test = order[: case.rows], order[case.rows : case.rows + TESTED]
    if case.test:
        Z, t = load(case.test)
        Z, t = Z[:TESTED], t[:TESTED]
    else:
        Z, t = X[test], y[test]
    X, y = X[train], y[train]
    if case.scaled and not sp.issparse(X):
        scaler = StandardScaler().fit(X)
        X, Z = scaler.transform(X), scaler.transform(Z)
    return X, y, Z, t


@cases(*SPLITS)
def test_test_rows_are_predicted_as_libsvm_does(case):
    """The same number right; a row predicted otherwise has a score within the tolerance of zero, in both."""
    X, y, Z, t = split(case)
    for tol in (1e-3, 1e-6):
        options = {"tol": tol, "decision_function_shape": "ovo", **case.given}
        mine, peer = SVC(**options).fit(X, y), LibSVC(max_iter=STEPS, **options).fit(X, y)
        ours, theirs = mine.predict(Z), peer.predict(Z)
        f, g = (m.decision_function(Z).reshape(len(t), -1) for m in (mine, peer))
        turned = (f > 0) != (g > 0)
        assert np.abs(f[turned]).max(initial=0.0) <= tol and np.abs(g[turned]).max(initial=0.0) <= tol
        settled = ~turned.any(axis=1)
        np.testing.assert_array_equal(ours[settled], theirs[settled])
        assert abs(int((ours == t).sum()) - int((theirs == t).sum())) <= (~settled).sum()


# ---- 3. where LIBSVM stops short, where nobody can promise, and where nothing can be found ----


@pytest.mark.parametrize(
    "given",
    [
        {"kernel": "linear"},
        {"kernel": "linear", "C": 0.1},
        {"kernel": "poly", "degree": 2, "coef0": 1.0},
        {"gamma": 1e-4, "C": 1e4},
    ],
    ids=str,
)
def test_wine_as_it_comes(given):
    """Columns from 0.1 to 1,000: the primal of every machine is at or below LIBSVM's, at the same tolerance."""
    X, y = load_wine(return_X_y=True)
    mine, peer = SVC(tol=1e-6, **given).fit(X, y), LibSVC(tol=1e-6, **given).fit(X, y)
    assert mine.verdict_.status == "optimal"
    K, ours, theirs = kernel(X, X, given, X), [], []
    for a, b in zip(machines(mine, y, np.ones(3)), machines(peer, y, np.ones(3)), strict=True):
        part = K[np.ix_(a.rows, a.rows)]
        ours.append(a.primal(part))
        theirs.append(b.primal(part))
        assert a.dual(part) >= b.dual(part) * (1 - 1e-12)
        assert ours[-1] <= theirs[-1] * (1 + 1e-9)
    np.testing.assert_allclose(mine.verdict_.objective, sum(ours), rtol=1e-9)
    if given.get("kernel") == "linear":
        assert sum(ours) < 0.999 * sum(theirs)


@pytest.mark.parametrize("load_it", [load_breast_cancer, load_wine, load_iris])
@pytest.mark.parametrize(
    "given", [{}, {"coef0": 1.0, "gamma": 0.5}, {"coef0": -1.0, "gamma": 0.1, "C": 5.0}], ids=str
)
def test_a_sigmoid_ends_as_libsvm_ends_and_claims_nothing(load_it, given):
    """tanh is no kernel: the dual is not concave, and all that ends the search is LIBSVM's own condition."""
    given = {"kernel": "sigmoid", **given}
    X, y = load_it(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    mine, peer = SVC(**given).fit(X, y), LibSVC(**given).fit(X, y)
    assert mine.verdict_.status == "no claim" and mine.verdict_.gap == np.inf and mine.fit_status_ == 0
    K, factor = kernel(X, X, given, X), np.ones(y.max() + 1)
    assert np.linalg.eigvalsh(K[::4, ::4])[0] < -1e-3
    for ours, theirs in zip(machines(mine, y, factor), machines(peer, y, factor), strict=True):
        part = K[np.ix_(ours.rows, ours.rows)]
        assert is_feasible(ours)
        assert ours.violation(part) <= 1e-3 and theirs.violation(part) <= 1.01e-3
        if load_it is load_iris:  # on the other two there are several such ends, and the paths part
            np.testing.assert_allclose(ours.dual(part), theirs.dual(part), rtol=1e-4)
            np.testing.assert_allclose(ours.score(part), theirs.score(part), rtol=0, atol=1e-2)
    assert mine.score(X, y) > peer.score(X, y) - 0.02


@pytest.mark.parametrize(
    "given", [{}, {"kernel": "linear"}, {"kernel": "poly"}, {"kernel": "sigmoid"}], ids=str
)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_equal_rows_of_two_classes_have_no_hard_margin(given, storage):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    twice, labels = storage(np.vstack([X, X[7]])), np.append(y, 1 - y[7])
    with pytest.raises(ValueError, match=r"C=np\.inf asks for a margin that no row enters.*Use a finite C"):
        SVC(C=np.inf, **given).fit(twice, labels)
    soft = SVC(**given).fit(twice, labels)
    assert soft.predict(twice)[7] == soft.predict(twice)[-1]
    if given.get("kernel") != "sigmoid":
        assert SVC(C=np.inf, **given).fit(storage(X), y).score(storage(X), y) == 1.0
