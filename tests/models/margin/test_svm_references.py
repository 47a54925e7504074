"""SVC, SVR and LinearSVC held to LIBSVM and to each other on real tables, every objective recomputed here.

    dual     D(β) = Σ|β_i| − ½ βᵀKβ,          0 ≤ y_i β_i ≤ C_i,  Σ β_i = 0         one machine for a pair of classes
    tube     D(β) = z·β − ε Σ|β_i| − ½ βᵀKβ,  |β_i| ≤ C,          Σ β_i = 0
    primal   P(w, b) = ½‖w‖² + C Σ ξ_i ≥ D,   f = Kβ + b

K is formed here in double precision from differences of rows. LIBSVM is scikit-learn's copy, at its tightest; it
keeps its kernel in single precision, so what it finds is the optimum of a matrix rounded to 6e-8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_friedman1,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as LibSVC
from sklearn.svm import SVR as LibSVR
from sklearn.svm import LinearSVC as Liblinear

from benchmarks import shared
from separatrix import SVC, SVR, LinearSVC, LinearSVR
from separatrix.data.rows import Rows
from separatrix.problems.margin import MarginMachine as Tube
from separatrix.solve.ascent import coordinate_ascent

SINGLE = float(np.finfo(np.float32).eps) / 2
TIGHT = 1e-9
STEPS = 3_000_000  # LIBSVM's steps; on unscaled rows its rounded kernel may never satisfy it
BUNDLED = {
    "bundled iris": load_iris,
    "bundled wine": load_wine,
    "bundled cancer": load_breast_cancer,
    "bundled digits": load_digits,
}
absent = pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")


@dataclass(frozen=True)
class Case:
    """A table, how its rows are read, and the parameters of the machine."""

    name: str
    scaled: bool = True
    rows: int = 0  # 0: all
    test: str = ""  # a file of test rows, where the set has its own
    given: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        words = ", ".join(f"{k}={v}" for k, v in self.given.items())
        return f"{self.name}{'' if self.scaled else ' unscaled'} {words}".strip()


def cases(*all_: Case) -> pytest.MarkDecorator:
    """One test a case; those of the shared tables are skipped, one by one, where they are not."""
    marked = [pytest.param(c, id=str(c), marks=() if c.name.startswith("bundled") else absent) for c in all_]
    return pytest.mark.parametrize("case", marked)


def load(name: str) -> tuple[Any, np.ndarray]:
    if name in BUNDLED:
        return BUNDLED[name](return_X_y=True)
    X, y, _ = shared.numeric(name)
    return X, y


def table(case: Case) -> tuple[Any, np.ndarray]:
    """Rows and class codes; a share of the rows, drawn, where the case asks for fewer."""
    X, y = load(case.name)
    y = np.unique(y, return_inverse=True)[1]
    if case.rows:
        keep = np.random.default_rng(0).permutation(len(y))[: case.rows]
        X, y = X[keep], y[keep]
    return (StandardScaler().fit_transform(X) if case.scaled and not sp.issparse(X) else X), y


# ---- the arithmetic, apart from the library ----


def dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)


def gamma_of(X: np.ndarray, gamma: Any) -> float:
    return {"scale": 1.0 / (X.shape[1] * X.var()), "auto": 1.0 / X.shape[1]}.get(gamma, gamma)


def kernel(A: Any, B: Any, given: dict[str, Any], X: Any) -> np.ndarray:
    """k(a, b) of all pairs, parameters as for a fit on X."""
    A, B, X = dense(A), dense(B), dense(X)
    gamma, coef0 = gamma_of(X, given.get("gamma", "scale")), given.get("coef0", 0.0)
    match given.get("kernel", "rbf"):
        case "linear":
            return A @ B.T
        case "poly":
            return (gamma * (A @ B.T) + coef0) ** given.get("degree", 3)
        case "sigmoid":
            return np.tanh(gamma * (A @ B.T) + coef0)
        case _:
            return np.exp(-gamma * cdist(A, B, "sqeuclidean"))


@dataclass(frozen=True)
class MarginMachine:
    """One pair of classes of a fitted SVC: its rows, signs, prices, β and b."""

    rows: np.ndarray
    sign: np.ndarray
    C: np.ndarray
    beta: np.ndarray
    intercept: float

    def score(self, K: np.ndarray) -> np.ndarray:
        return K @ self.beta + self.intercept

    def dual(self, K: np.ndarray) -> float:
        return float(np.abs(self.beta).sum() - 0.5 * self.beta @ K @ self.beta)

    def primal(self, K: np.ndarray) -> float:
        slack = np.maximum(0.0, 1.0 - self.sign * self.score(K))
        return float(0.5 * self.beta @ K @ self.beta + self.C @ slack)

    def violation(self, K: np.ndarray) -> float:
        """LIBSVM's m(α) − M(α): how far the rows that may rise are above those that may fall."""
        alpha, up = self.sign * self.beta, self.sign - K @ self.beta
        rise = np.where(self.sign > 0, alpha < self.C, alpha > 0)
        fall = np.where(self.sign > 0, alpha > 0, alpha < self.C)
        return float(up[rise].max() - up[fall].min())


def machines(model: Any, y: np.ndarray, factor: np.ndarray) -> list[MarginMachine]:
    """The pairs' machines, out of scikit-learn's layout of ``dual_coef_``."""
    dual, K = dense(model.dual_coef_), len(np.unique(y))
    out = []
    for m, (i, j) in enumerate(combinations(range(K), 2)):
        positive = j if K == 2 else i
        beta, own = np.zeros(len(y)), y[model.support_]
        for mine, other in ((i, j), (j, i)):
            at = own == mine
            beta[model.support_[at]] = dual[0 if K == 2 else (other - 1 if other > mine else other), at]
        rows = np.flatnonzero((y == i) | (y == j))
        sign = np.where(y[rows] == positive, 1.0, -1.0)
        C = model.C * factor[y[rows]]
        out.append(MarginMachine(rows, sign, C, beta[rows], float(model.intercept_[m])))
    return out


def factors(y: np.ndarray, weight: Any) -> np.ndarray:
    counts = np.bincount(y)
    return len(y) / (len(counts) * counts) if weight == "balanced" else np.ones(len(counts))


def is_feasible(machine: MarginMachine) -> bool:
    alpha, top = machine.sign * machine.beta, machine.C.max()
    inside = (alpha >= 0).all() and (alpha <= machine.C * (1 + 1e-12)).all()
    return bool(inside and abs(machine.beta.sum()) <= 1e-9 * top * np.sqrt(len(alpha)))


def rounding(beta: np.ndarray, K: np.ndarray) -> float:
    """What scores may differ by when the entries of K are rounded to single precision, and β moves with them."""
    return float(4 * SINGLE * (np.abs(K) @ np.abs(beta)).max())


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
    official = MarginMachine(rows, np.where(y == 1, 1.0, -1.0), C, sign * beta, -sign * theirs.rho[0])
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


# ---- 3. four ways to one linear machine; regression ----

LINEAR = (
    Case("bundled cancer", given={"C": 1.0}),
    Case("bundled wine", given={"C": 0.1}),
    Case("bundled iris", scaled=False, given={"C": 10.0}),
    Case("heart_statlog", given={"C": 1.0}),
    Case("sonar", given={"C": 0.05}),
    Case("pima", rows=400, given={"C": 2.0}),
    Case("liver_disorders", given={"C": 1.0}),
)
AGREE = 1e-6


def two_classes(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """The last class against the rest."""
    X, y = table(case)
    return X, (y == y.max()).astype(int)


def linear_primal(w: np.ndarray, b: float, X: np.ndarray, y: np.ndarray, C: float, power: int = 1) -> float:
    slack = np.maximum(0.0, 1.0 - np.where(y == 1, 1.0, -1.0) * (X @ w + b))
    return float(0.5 * w @ w + C * (slack**power).sum())


def assert_one_machine(models: list[Any], X: np.ndarray, y: np.ndarray, C: float, power: int) -> None:
    first, *others = models
    assert first.verdict_.status == "optimal"
    least = linear_primal(first.coef_[0], first.intercept_[0], X, y, C, power)
    for model in others:
        assert model.verdict_.status == "optimal"
        value = linear_primal(model.coef_[0], model.intercept_[0], X, y, C, power)
        assert value == pytest.approx(least, rel=1e-10)
        np.testing.assert_allclose(model.coef_, first.coef_, rtol=0, atol=AGREE * np.abs(first.coef_).max())
        np.testing.assert_allclose(
            model.decision_function(X), first.decision_function(X), rtol=AGREE, atol=AGREE
        )


@cases(*LINEAR)
def test_four_solvers_find_one_hinge_machine(case):
    """The intercept is free of the penalty in SVC and in LinearSVC: with loss="hinge" they are one problem."""
    X, y = two_classes(case)
    C = case.given["C"]
    models: list[Any] = [SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)]
    for solver in ("interior", "qp", "coordinate"):
        models.append(LinearSVC(loss="hinge", solver=solver, C=C, tol=1e-9, max_iter=200_000).fit(X, y))
        assert models[-1].solver_ == solver
    assert_one_machine(models, X, y, C, 1)


@cases(*LINEAR)
def test_three_solvers_find_one_squared_hinge_machine(case):
    X, y = two_classes(case)
    C = case.given["C"]
    models = [
        LinearSVC(solver=solver, C=C, tol=1e-11, max_iter=200_000).fit(X, y)
        for solver in ("newton", "qp", "coordinate")
    ]
    assert_one_machine(models, X, y, C, 2)


def test_a_solver_that_runs_out_of_passes_says_how_far_it_is():
    """Coordinate ascent slows down as C grows; its bound must then cover what the interior point shows, which
    finishes it in the model."""
    X, y = two_classes(Case("bundled cancer"))
    best = LinearSVC(loss="hinge", solver="interior", C=1e3, tol=1e-7).fit(X, y)
    signs = np.where(y == best.classes_[1], 1.0, -1.0)
    short = coordinate_ascent(Tube.hinge(Rows.of(X), signs, np.full(len(X), 1e3)), 1e-11, 500)
    value = linear_primal(short.coef, short.intercept, X, y, 1e3)
    assert short.stopped_by == "max_iter reached"
    assert 0 < value - best.verdict_.objective <= short.proof.gap * (1 + 1e-9)
    assert short.proof.dual <= best.verdict_.objective * (1 + 1e-9)
    whole = LinearSVC(loss="hinge", solver="coordinate", C=1e3, tol=1e-7, max_iter=500).fit(X, y)
    assert whole.verdict_.status == "optimal" and "500 passes, an interior point" in str(whole.verdict_)
    np.testing.assert_allclose(whole.verdict_.objective, best.verdict_.objective, rtol=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@cases(*LINEAR)
def test_liblinears_own_problem_is_a_column_of_ones(case, loss):
    """liblinear penalises the intercept, as the weight of a column of ones: posed so, the answers are one."""
    X, y = two_classes(case)
    C, power = min(case.given["C"], 1.0), 1 + (loss == "squared_hinge")
    X = StandardScaler().fit_transform(X)
    ones = np.column_stack([X, np.ones(len(X))])
    mine = LinearSVC(loss=loss, C=C, tol=1e-9, fit_intercept=False).fit(ones, y)
    peer = Liblinear(loss=loss, C=C, tol=1e-9, max_iter=1_000_000, random_state=0).fit(X, y)
    w = np.append(peer.coef_[0], peer.intercept_)
    theirs = linear_primal(w, 0.0, ones, y, C, power)
    assert linear_primal(mine.coef_[0], 0.0, ones, y, C, power) <= theirs * (1 + 1e-12)
    np.testing.assert_allclose(mine.coef_[0], w, rtol=0, atol=AGREE)


REGRESSION: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "bundled diabetes": lambda: load_diabetes(return_X_y=True),
    "bundled friedman": lambda: make_friedman1(300, 8, noise=1.0, random_state=1),
    "boston_housing": lambda: load("boston_housing"),
    "bodyfat": lambda: load("bodyfat"),
    "auto_mpg": lambda: load("auto_mpg"),
    "abalone": lambda: tuple(part[::9] for part in load("abalone")),
}
TUBES = (
    {},
    {"C": 20.0, "epsilon": 0.5},
    {"kernel": "linear", "C": 0.5},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "epsilon": 1.0},
)
regressions = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n.startswith("bundled") else absent) for n in REGRESSION]
)


def regression(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, z = REGRESSION[name]()
    return StandardScaler().fit_transform(X), np.asarray(z, dtype=float)


def tube_primal(norm2: float, residual: np.ndarray, C: float, epsilon: float) -> float:
    return float(0.5 * norm2 + C * np.maximum(0.0, np.abs(residual) - epsilon).sum())


@regressions
@pytest.mark.parametrize("given", TUBES, ids=str)
def test_the_tube_is_never_worse_than_libsvms(name, given):
    X, z = regression(name)
    C, epsilon = given.get("C", 1.0), given.get("epsilon", 0.1)
    mine, peer = SVR(tol=TIGHT, **given).fit(X, z), LibSVR(tol=TIGHT, max_iter=STEPS, **given).fit(X, z)
    K, betas, duals, scores = kernel(X, X, given, X), [], [], []
    for model in (mine, peer):
        beta = np.zeros(len(z))
        beta[model.support_] = model.dual_coef_[0]
        betas.append(beta)
        duals.append(z @ beta - epsilon * np.abs(beta).sum() - 0.5 * beta @ K @ beta)
        scores.append(K @ beta + model.intercept_)
    ours = betas[0]
    assert (np.abs(ours) <= C).all() and abs(ours.sum()) <= 1e-9 * C
    assert duals[0] >= duals[1] - 1e-13 * abs(duals[1])
    primal = tube_primal(ours @ K @ ours, z - scores[0], C, epsilon)
    assert primal - duals[0] <= TIGHT * primal
    np.testing.assert_allclose(mine.verdict_.objective, primal, rtol=1e-9)
    near = rounding(ours, K)
    np.testing.assert_allclose(scores[0], scores[1], rtol=0, atol=near)
    np.testing.assert_allclose(mine.predict(X), scores[0], rtol=1e-9)
    one_has_it = (ours != 0) != (betas[1] != 0)
    assert (np.abs(np.abs(z - scores[0]) - epsilon)[one_has_it] <= near).all()


@regressions
def test_four_solvers_find_one_linear_tube(name):
    X, z = regression(name)
    smo = SVR(kernel="linear", C=0.5, tol=1e-10).fit(X, z)
    want = smo.predict(X)
    least = tube_primal(float((smo.coef_**2).sum()), z - want, 0.5, 0.1)
    solvers = ["interior", "qp", "coordinate"]
    if name == "bodyfat":  # nearly collinear columns: coordinate ascent would need millions of passes
        solvers.pop()
    for solver in solvers:
        model = LinearSVR(epsilon=0.1, C=0.5, solver=solver, tol=1e-9, max_iter=200_000).fit(X, z)
        assert model.verdict_.status == "optimal"
        score = model.predict(X)
        value = tube_primal(float((model.coef_**2).sum()), z - score, 0.5, 0.1)
        assert value == pytest.approx(least, rel=1e-10)
        np.testing.assert_allclose(np.ravel(model.coef_), smo.coef_[0], rtol=0, atol=AGREE)
        np.testing.assert_allclose(score, want, rtol=AGREE, atol=AGREE)


# ---- 4. where LIBSVM stops short, where nobody can promise, and where nothing can be found ----


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
    assert abs(mine.score(X, y) - peer.score(X, y)) < 0.02


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
