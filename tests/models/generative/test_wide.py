"""Gaussian discriminants of fewer rows than columns: the same answers as by matrices of columns, without them."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as TheirLDA

import separatrix
from separatrix import GaussianDiscriminant, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, verify
from separatrix.core.statistics.spans import SpanScatter
from separatrix.models.generative.common import Generative
from separatrix.models.generative.gaussian import Gaussian
from separatrix.models.generative.impossible import NoSpreadWarning

LDA, QDA, GD = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianDiscriminant
CASES = {
    "lda": lambda: LDA(),
    "lda priors": lambda: LDA(solver="lsqr", priors=[0.2, 0.3, 0.5]),
    "lda shrunk": lambda: LDA(solver="eigen", shrinkage=0.3),
    "lda hardly shrunk": lambda: LDA(shrinkage=1e-6),
    "lda auto": lambda: LDA(solver="lsqr", shrinkage="auto"),
    "qda": lambda: QDA(),
    "qda regularised": lambda: QDA(reg_param=0.1),
    "qda shrunk": lambda: QDA(solver="eigen", shrinkage=0.2),
    "qda auto": lambda: QDA(solver="eigen", shrinkage="auto"),
    "shared": lambda: GD(),
    "groups": lambda: GD(covariance=[[0, 1], [2]]),
    "groups shrunk": lambda: GD(covariance=[[0, 1], [2]], shrinkage=0.1),
    "diagonal": lambda: GD(covariance="diagonal"),
    "spherical": lambda: GD(covariance="spherical"),
}
every = pytest.mark.parametrize("make", CASES.values(), ids=CASES.keys())
quiet = pytest.mark.filterwarnings(f"ignore::{NoSpreadWarning.__module__}.NoSpreadWarning")


def wide(n=36, p=70, seed=1):
    """Rows of three classes; columns of different unit and origin, one constant and one that repeats another."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-1, 1, p) + 20 * rng.standard_normal(p)
    y = np.arange(n) % 3
    X[:, :20] += 2 * y[:, None] * X[:, :20].std(axis=0)
    X[:, 5], X[:, 9] = 7.0, X[:, 10]
    return X, y, rng.standard_normal((25, p)) * X.std(axis=0) + X.mean(axis=0)


def by_columns(monkeypatch):
    """Scatters of columns by columns, however few the rows."""

    def rows(self, *args, **how):
        found = Generative._labelled_rows(self, *args, **how)
        self._wide = False
        return found

    monkeypatch.setattr(Gaussian, "_labelled_rows", rows)


def near(a, b, tol=1e-8):
    a, b = np.asarray(a), np.asarray(b)
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol * max(1.0, np.abs(b).max()))


@quiet
@every
def test_the_same_as_by_columns(make, monkeypatch):
    X, y, new = wide()
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    gaps = new.copy()
    gaps[2, 3], gaps[4, 30:45] = np.nan, np.nan
    ours = make().fit(X, y, sample_weight=weight)
    assert isinstance(ours._facts_seen.of_x, SpanScatter)
    found = verify(ours, X, y, sample_weight=weight)
    by_columns(monkeypatch)
    theirs = make().fit(X, y, sample_weight=weight)
    assert not isinstance(theirs._facts_seen.of_x, SpanScatter)
    near(ours.decision_function(new), theirs.decision_function(new))
    near(ours.score_samples(new), theirs.score_samples(new))
    near(ours.score_samples(gaps), theirs.score_samples(gaps), 1e-6)
    near(ours.covariance_, theirs.covariance_, 1e-12)
    near(ours.verdict_.objective, theirs.verdict_.objective)
    assert ours.verdict_.findings[1:] == theirs.verdict_.findings[1:]
    assert found.status == "closed form" and abs(found.objective - ours.verdict_.objective) < 1e-8
    if not isinstance(ours, LDA):
        ours.means_ = ours.means_ + 1e-3
        assert verify(ours, X, y, sample_weight=weight).status == "not converged"


@pytest.mark.parametrize("settings", [
    {}, {"priors": [0.2, 0.3, 0.5]}, {"solver": "lsqr", "shrinkage": 0.3}, {"solver": "lsqr", "shrinkage": "auto"},
    {"solver": "eigen", "shrinkage": "auto"}, {"solver": "eigen", "shrinkage": 0.05, "priors": [0.2, 0.3, 0.5]},
])  # fmt: skip
@quiet
def test_as_scikit_learn(settings):
    X, y, new = wide(60, 200)
    X = np.delete(X, 5, axis=1)  # a constant column stops its eigen solver
    new = np.delete(new, 5, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = LDA(**settings).fit(X, y), TheirLDA(**settings).fit(X, y)
    near(ours.predict_proba(new), theirs.predict_proba(new), 1e-7)
    near(ours.decision_function(new), theirs.decision_function(new), 1e-7)
    if "solver" not in settings:  # its eigen solver's directions do not leave from the middle of the rows
        near(np.abs(ours.transform(new)), np.abs(theirs.transform(new)), 1e-7)


@quiet
@pytest.mark.parametrize("case", [c for c in CASES if "auto" not in c])
def test_chunks_merges_weights_and_order(case):
    make, (X, y, new) = CASES[case], wide()
    whole = make().fit(X, y)
    parts = make()
    for i in range(0, len(X), 12):
        parts.partial_fit(X[i : i + 12], y[i : i + 12])
    near(parts.decision_function(new), whole.decision_function(new))
    merged = make().fit(X[:18], y[:18]).merge(make().fit(X[18:], y[18:]))
    near(merged.score_samples(new), whole.score_samples(new))
    many = make()  # chunks that come to more rows than columns
    long_X, long_y = np.vstack([X, X + 0.1 * new[:1], X[::-1]]), np.concatenate([y, y, y[::-1]])
    for i in range(0, len(long_X), 36):
        many.partial_fit(long_X[i : i + 36], long_y[i : i + 36])
    assert not isinstance(many._facts_seen.of_x, SpanScatter)
    near(many.decision_function(new), make().fit(long_X, long_y).decision_function(new), 1e-6)
    weight = np.tile([1.0, 2.0, 0.0, 1.0], 9)
    again = np.repeat(np.arange(36), weight.astype(int))
    weighted = make().fit(X, y, sample_weight=weight)
    near(weighted.decision_function(new), make().fit(X[again], y[again]).decision_function(new))
    turn, order = np.random.default_rng(0).permutation(70), np.random.default_rng(1).permutation(36)
    turned = make().fit(np.asfortranarray(X[order][:, turn]), y[order])
    near(turned.decision_function(new[:, turn]), whole.decision_function(new))
    if "shrunk" not in case and case not in ("qda regularised", "spherical"):  # units count there
        unit = 10.0 ** np.random.default_rng(2).uniform(-3, 3, 70)
        near(make().fit(X * unit, y).predict_proba(new * unit), whole.predict_proba(new), 1e-6)


@quiet
@pytest.mark.parametrize("case", ["lda", "lda shrunk", "qda regularised", "groups"])
def test_rows_without_a_label(case, monkeypatch):
    X, y, new = wide()
    y = y.copy()
    y[::4] = -1
    ours = CASES[case]().fit(X, y)
    by_columns(monkeypatch)
    near(ours.decision_function(new), CASES[case]().fit(X, y).decision_function(new), 1e-6)


@quiet
@every
def test_nothing_of_columns_by_columns(make):
    rng = np.random.default_rng(0)
    n, p = 24, 6000
    X, y = rng.standard_normal((n, p)), np.arange(n) % 3
    make().fit(X[:, :40], y)  # what is imported
    tracemalloc.start()
    model = make().fit(X, y)
    model.predict_proba(X)
    model.score_samples(X)
    X_new, _ = model.sample(5, random_state=0)
    status = verify(model, X, y).status
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert status == "closed form" and X_new.shape == (5, p)
    assert peak < 8 * p * p / 4, f"{peak / 8 / p:.0f} numbers a column"


def test_missing_cells_of_very_many_columns_are_refused_before_any_work():
    X = np.ones((6, 30_000))
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"30000 × 30000 numbers .* GaussianNB"):
        LDA().fit(X, [0, 1] * 3)


@quiet
def test_principal_axes_and_edits():
    X, y, new = wide()
    model = QDA(reg_param=0.1).fit(X, y)
    before = model.decision_function(new)
    assert [R.shape for R in model.rotations_] == [(70, 70)] * 3  # made when read
    near([(R * s) @ R.T for R, s in zip(model.rotations_, model.scalings_)], model.covariance_)
    near(model.decision_function(new), before)
    model.scalings_ = [s * 2 for s in model.scalings_]
    assert not np.allclose(model.decision_function(new), before)
    thin = QDA().fit(X, y)
    assert thin.rotations_[0].shape == (70, 35)
    thin.scalings_[0][:] *= 2
    assert not np.allclose(thin.score_samples(new), QDA().fit(X, y).score_samples(new))


@quiet
@every
def test_model_files(make, tmp_path):
    X, y, new = wide()
    model = make().fit(X, y)
    separatrix.save(model, tmp_path / "model.sepx")
    again = separatrix.load(tmp_path / "model.sepx")
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    np.testing.assert_array_equal(again.score_samples(new), model.score_samples(new))
