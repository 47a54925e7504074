"""Separated classes without a penalty: no maximum-likelihood estimate exists, and the fit says so ([6867] 3.2.2, D7).

Weights that run away are shown as ±inf or NaN, never as numbers; the others have their limit, which is the
estimate from the rows that are not separated; predictions are those of the limit.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.datasets import load_iris

from benchmarks import shared
from separatrix import ConvergenceWarning, LogisticRegression, SeparationWarning, separability, verify
from tests.draws import examples
from tests.models.reference import long_newton, overlapping, quiet

needs_data = pytest.mark.skipif(not shared.available(), reason="../shared/data is not here")


def unpenalised(X, y, **parameters):
    """The fit, which must warn."""
    with pytest.warns(SeparationWarning, match="no maximum-likelihood estimate exists"):
        return LogisticRegression(C=np.inf, **parameters).fit(X, y)


def quasi(seed=0, K=2, n=120):
    """Overlapping columns and a binary one that is 1 only in class 1 (and not in all of it)."""
    X, y = overlapping(n, 3, K, seed=seed, noise=2.0)
    flag = ((np.random.default_rng(seed).random(n) < 0.3) & (y == 1)).astype(float)
    return np.column_stack([X, flag]), y, flag


def assert_no_optimum(model, X, y, kind):
    verdict = model.verdict_
    assert verdict.status == "no optimum" and verdict.settled
    assert verdict.gap == np.inf and verdict.unique is False
    assert verdict.separation.kind == kind
    assert str(verdict).startswith("LogisticRegression · no optimum exists\n")
    assert "try a finite C" in str(verdict) and "no optimum exists" in verdict._repr_html_()
    assert not np.isfinite(model.coef_).all()
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all() and np.isfinite(model.predict_log_proba(X)).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    again = verify(model, X, y)
    assert again.status == "no optimum"
    assert again.separation.kind == kind and again.separation.check(X, y)


def kind_by_linear_program(X, y, K, fit_intercept):
    """complete, quasi or overlap: how many margins (w_y − w_k)·x can be positive while none is negative."""
    A = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    q = A.shape[1]
    margins = []
    for x, c in zip(A, y, strict=True):
        for k in set(range(K)) - {int(c)}:
            row = np.zeros((K, q))
            row[c], row[k] = x, -x
            margins.append(row.ravel())
    M = np.array(margins)
    # max Σ t  with  0 ≤ t ≤ 1,  M v ≥ t: at the optimum t = 1 wherever a margin can be positive
    best = linprog(
        np.concatenate([np.zeros(K * q), -np.ones(len(M))]),
        A_ub=np.column_stack([-M, np.eye(len(M))]),
        b_ub=np.zeros(len(M)),
        bounds=[(None, None)] * (K * q) + [(0, 1)] * len(M),
    )
    count = round(-best.fun)
    return "overlap" if count == 0 else "complete" if count == len(M) else "quasi"


@examples(60)
@given(data=st.data(), K=st.sampled_from([2, 3]), p=st.integers(1, 3), fit_intercept=st.booleans())
def test_against_a_linear_program(data, K, p, fit_intercept):
    """Small whole numbers meet every degenerate case: ties, repeated rows, constant and repeated columns."""
    n = data.draw(st.integers(K, 14))
    cells = data.draw(st.lists(st.integers(-2, 2), min_size=n * p, max_size=n * p))
    X = np.array(cells, dtype=float).reshape(n, p)
    y = np.array([*range(K), *data.draw(st.lists(st.integers(0, K - 1), min_size=n - K, max_size=n - K))])
    kind = kind_by_linear_program(X, y, K, fit_intercept)
    with quiet(SeparationWarning, ConvergenceWarning):
        model = LogisticRegression(C=np.inf, fit_intercept=fit_intercept).fit(X, y)
    if kind == "overlap":
        assert model.verdict_.status == "optimal", str(model.verdict_)
        assert np.isfinite(model.coef_).all()
    else:
        assert model.verdict_.status == "no optimum", str(model.verdict_)
        assert model.verdict_.separation.kind == kind
        assert model.verdict_.separation.check(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs", "gradient"])
@pytest.mark.parametrize("K", [2, 3])
def test_complete_separation(solver, K):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(K), 20)
    X = rng.standard_normal((20 * K, 3)) + 8 * np.eye(3)[y]
    model = unpenalised(X, y, solver=solver)
    assert_no_optimum(model, X, y, "complete")
    assert model.score(X, y) == 1.0
    # in the limit every row is certain
    assert model.predict_proba(X).max(axis=1).min() > 1 - 1e-12
    # the direction in the verdict separates: all margins are positive
    direction = model.verdict_.direction
    assert direction.shape == ((3,) if K == 2 else (3, 3))
    assert (model.verdict_.separation.margins > 0).all()


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs", "gradient"])
@pytest.mark.parametrize("seed", [0, 1])
def test_quasi_separation_by_one_binary_column(solver, seed):
    X, y, flag = quasi(seed)
    model = unpenalised(X, y, solver=solver)
    assert_no_optimum(model, X, y, "quasi")
    assert model.coef_[0, 3] == np.inf
    assert model.verdict_.columns == (3,)
    assert "by column 3 (coefficient → +∞)" in model.verdict_.findings[0]
    # the others: the estimate from the rows the column says nothing about
    rest = long_newton(X[flag == 0, :3], y[flag == 0], C=np.inf)
    np.testing.assert_allclose(model.coef_[0, :3], np.asarray(rest.coef, float), atol=1e-7)
    assert model.intercept_[0] == pytest.approx(float(rest.intercept), abs=1e-7)
    # and the probabilities of the limit
    scores = X[:, :3] @ np.asarray(rest.coef, float) + float(rest.intercept)
    expected = np.where(flag == 1, 1.0, 1 / (1 + np.exp(-scores)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-7)


def test_quasi_separation_with_the_sign_turned():
    X, y, _ = quasi(2)
    X[:, 3] *= -1e-3
    assert unpenalised(X, y).coef_[0, 3] == -np.inf
    assert unpenalised(X, 1 - y).coef_[0, 3] == np.inf


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_quasi_separation_of_three_classes(solver):
    X, y, flag = quasi(1, K=3)
    model = unpenalised(X, y, solver=solver)
    assert_no_optimum(model, X, y, "quasi")
    assert not np.isfinite(model.coef_[:, 3]).any()
    rest = long_newton(X[flag == 0, :3], y[flag == 0], C=np.inf)
    np.testing.assert_allclose(model.coef_[:, :3], np.asarray(rest.coef, float), atol=1e-7)
    proba = model.predict_proba(X)
    assert proba[flag == 1, 1].min() > 1 - 1e-12


@pytest.mark.parametrize("K", [2, 3])
def test_overlap_is_not_warned_about(K):
    X, y = overlapping(200, 3, K, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert model.verdict_.status == "optimal" and np.isfinite(model.coef_).all()
    assert "separation: none — the classes overlap" in str(model.verdict_)


@pytest.mark.parametrize("C", [1.0, 1e6])
def test_a_penalty_makes_separated_data_ordinary(C):
    y = np.repeat([0, 1], 20)
    X = np.random.default_rng(0).standard_normal((40, 2)) + 8 * y[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(C=C).fit(X, y)
    assert (model.verdict_.status, model.verdict_.unique) == ("optimal", True)
    assert np.isfinite(model.coef_).all()


def test_penalty_none_is_no_penalty():
    with pytest.warns(SeparationWarning):
        model = LogisticRegression(penalty=None).fit([[0.0], [1.0]], [0, 1])
    assert model.verdict_.status == "no optimum"


def test_one_quasi_separating_column_among_twenty():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((400, 20)), rng.integers(0, 2, 400)
    X[:, 13] = (rng.random(400) < 0.05) & (y == 0)
    model = unpenalised(X, y)
    assert model.verdict_.columns == (13,)
    assert model.coef_[0, 13] == -np.inf
    assert np.isfinite(np.delete(model.coef_[0], 13)).all() and np.isfinite(model.intercept_).all()


def test_the_columns_are_named():
    pd = pytest.importorskip("pandas")
    X, y, _ = quasi(3)
    frame = pd.DataFrame(X, columns=["age", "dose", "weight", "treated"])
    model = unpenalised(frame, np.array(["well", "ill"])[y])
    assert model.verdict_.columns == ("treated",)
    assert "quasi-separated by column 'treated'" in str(model.verdict_)
    assert "'treated'" in str(verify(model, frame, np.array(["well", "ill"])[y]))


def test_without_an_intercept():
    """On one side of the origin only: separated through it, though a free line would do too."""
    x = np.array([[1.0], [2.0], [-1.0], [-3.0]])
    model = unpenalised(x, [1, 1, 0, 0], fit_intercept=False)
    assert_no_optimum(model, x, [1, 1, 0, 0], "complete")
    np.testing.assert_array_equal(model.intercept_, 0.0)
    # separable by a line that the origin forbids
    shifted = x + 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = LogisticRegression(C=np.inf, fit_intercept=False).fit(shifted, [1, 1, 0, 0])
    assert fitted.verdict_.status == "optimal"


def test_sparse_rows_and_weights():
    X, y, _ = quasi(4)
    X[:, :3] = np.round(X[:, :3]) * (np.abs(X[:, :3]) > 0.8)
    weight = np.random.default_rng(4).integers(0, 3, len(y)).astype(float)
    with quiet(SeparationWarning):
        dense = LogisticRegression(C=np.inf).fit(X, y, sample_weight=weight)
        sparse = LogisticRegression(C=np.inf).fit(sp.csr_array(X), y, sample_weight=weight)
        kept = np.repeat(np.arange(len(y)), weight.astype(int))
        repeated = LogisticRegression(C=np.inf).fit(X[kept], y[kept])
    for other in (sparse, repeated):
        assert other.verdict_.status == dense.verdict_.status == "no optimum"
        np.testing.assert_allclose(other.coef_, dense.coef_, atol=1e-7)
    assert verify(dense, X, y, weight).status == "no optimum"


def test_a_row_of_weight_zero_cannot_spoil_separation():
    x = np.array([[0.0], [1.0], [2.0], [3.0]])
    with quiet(SeparationWarning):
        model = LogisticRegression(C=np.inf).fit(x, [0, 1, 0, 1], sample_weight=[1.0, 0.0, 0.0, 1.0])
    assert model.verdict_.status == "no optimum"
    assert LogisticRegression(C=np.inf).fit(x, [0, 1, 0, 1]).verdict_.status == "optimal"


def test_two_steps_of_separation():
    """One binary column separates some rows; among the rest another column does: both run away."""
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], 60)
    first = (np.arange(120) >= 90).astype(float)  # 1 only in class 1
    second = ((np.arange(120) >= 60) & (np.arange(120) < 80)).astype(float)  # then 1 only in class 1
    second[np.arange(120) >= 110] = 1.0
    noise = rng.standard_normal(120)
    X = np.column_stack([noise, first, second])
    model = unpenalised(X, y)
    assert model.verdict_.separation.kind == "quasi"
    assert np.isfinite(model.coef_[0, 0])
    assert not np.isfinite(model.coef_[0, 1:]).any()
    rest = long_newton(X[(first == 0) & (second == 0), :1], y[(first == 0) & (second == 0)], C=np.inf)
    assert model.coef_[0, 0] == pytest.approx(float(rest.coef[0]), abs=1e-6)


def test_units_do_not_hide_separation():
    X, y, _ = quasi(5)
    for scale in ([1e-8, 1.0, 1e8, 1e-8], [1e8, 1e8, 1e8, 1e8]):
        for shift in (0.0, 1e6):
            model = unpenalised((X + shift) * scale, y)
            assert model.verdict_.columns == (3,)
            assert model.coef_[0, 3] == np.inf


def test_iris_has_no_estimate():
    """Setosa stands apart: three classes are quasi-separated, and the columns are named."""
    X, y = load_iris(return_X_y=True)
    model = unpenalised(X, y)
    assert model.verdict_.status == "no optimum"
    assert separability(X, y).kind == model.verdict_.separation.kind == "quasi"
    # versicolor against virginica is the estimate of those two alone
    _, v, c = LogisticRegression(C=np.inf).fit(X[y > 0], y[y > 0]).reference_form(1)
    scores = model.decision_function(X[y > 0])
    np.testing.assert_allclose(
        scores[:, 2] - scores[:, 1], X[y > 0] @ v[0] + c[0], atol=1e-5 * np.abs(scores).max()
    )


@needs_data
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_endometrial(solver):
    """Heinze and Schemper's data: NV → +∞, PI and EH as in every text book (−0.0422, −2.9026)."""
    table = shared.table("separation/endometrial")
    X, y = table[["NV", "PI", "EH"]].astype(float), table["HG"].to_numpy()
    model = unpenalised(X, y, solver=solver)
    assert_no_optimum(model, X, y, "quasi")
    assert model.verdict_.columns == ("NV",)
    assert model.coef_[0, 0] == np.inf
    flat = (X["NV"] == 0).to_numpy()
    rest = long_newton(X[["PI", "EH"]].to_numpy()[flat], y[flat], C=np.inf)
    np.testing.assert_allclose(model.coef_[0, 1:], np.asarray(rest.coef, float), atol=1e-7)
    assert model.intercept_[0] == pytest.approx(float(rest.intercept), abs=1e-7)
    assert (model.predict(X[~flat]) == 1).all()


@needs_data
@pytest.mark.parametrize(
    "name, kind", [("sonar", "complete"), ("ionosphere", "quasi"), ("voting", "complete")]
)
def test_real_separated_tables(name, kind):
    X, y, _ = shared.numeric(name)
    model = unpenalised(X, y)
    assert model.verdict_.separation.kind == kind
    if kind == "complete":
        assert model.score(X, y) == 1.0


def test_not_converged_is_not_called_separated():
    X, y = overlapping(200, 3, 2, seed=6)
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(C=np.inf, solver="gradient", max_iter=2).fit(X, y)
    assert model.verdict_.status == "not converged"
    assert any("overlap" in f for f in model.verdict_.findings)


def test_the_proof_in_the_verdict_holds_for_labels_of_any_name():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = ["no", "no", "yes", "yes"]
    with pytest.warns(SeparationWarning):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert model.verdict_.separation.check(X, y)
    assert not model.verdict_.separation.check(X, y[::-1])
