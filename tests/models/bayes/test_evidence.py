"""Models ranked by their evidence and by BIC."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from separatrix import BayesianLogisticRegression, LogisticRegression, compare_evidence
from tests.models.bayes.beliefs import one_weight


def polynomial(degree, **parameters):
    return make_pipeline(
        PolynomialFeatures(degree, include_bias=False),
        StandardScaler(),
        BayesianLogisticRegression(**parameters),
    )


def parabola(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    return X, (rng.random(n) < expit(3 * X[:, 0] ** 2 - 4)).astype(int)


def test_models_are_ranked_by_evidence_and_by_bic():
    pytest.importorskip("pandas")
    X, y = parabola(200)
    models = {f"degree {d}": polynomial(d, prior_precision="evidence") for d in (1, 2, 3, 5)}
    found = compare_evidence(models, X, y)
    assert found.best == "degree 2" and found.ranked("bic").best == "degree 2"
    assert (np.diff(found.log_evidence) <= 0).all() and (np.diff(found.ranked("bic").bic) >= 0).all()
    assert found.probability.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(
        np.log(found.probability[0] / found.probability[1]), found.log_evidence[0] - found.log_evidence[1]
    )
    frame = found.to_frame()
    assert list(frame.index) == list(found.names) and "log Occam factor" in frame.columns
    np.testing.assert_allclose(frame["log evidence"], frame["log likelihood"] + frame["log Occam factor"])
    assert "degree 5" in str(found) and "<table" in found._repr_html_()
    own = polynomial(3, prior_precision="evidence").fit(X, y)[-1]
    assert found.log_evidence[found.names.index("degree 3")] == pytest.approx(own.log_evidence_, abs=1e-9)
    assert not hasattr(models["degree 1"][-1], "coef_")  # the given ones stay as they were
    assert found.models["degree 2"].predict(X).shape == (200,)


def test_forms_of_the_list_prior_and_weights():
    X, y = parabola(100)
    models = [BayesianLogisticRegression(), BayesianLogisticRegression(10.0)]
    plain = compare_evidence(models, X, y)
    assert plain.names[0].startswith("BayesianLogisticRegression")
    named = compare_evidence(models, X, y, names=["wide", "sharp"], by="bic")
    assert set(named.names) == {"wide", "sharp"}
    pairs = compare_evidence([("wide", models[0]), ("sharp", models[1])], X, y, prior=[1, 0])
    assert pairs.probability[pairs.names.index("wide")] == 1.0
    weight = np.random.default_rng(0).integers(0, 3, 100).astype(float)
    repeated = np.repeat(np.arange(100), weight.astype(int))
    a = compare_evidence({"p": polynomial(1), "m": models[0]}, X, y, sample_weight=weight)
    b = compare_evidence({"m": models[0]}, X[repeated], y[repeated])
    assert a.log_evidence[a.names.index("m")] == pytest.approx(b.log_evidence[0], abs=1e-8)
    with pytest.raises(TypeError, match="'ridge' is a LogisticRegression, which has no evidence"):
        compare_evidence({"ridge": LogisticRegression()}, X, y)
    with pytest.raises(ValueError, match="models is empty"):
        compare_evidence([], X, y)
    with pytest.raises(ValueError, match="names has 1 entries for 2 models"):
        compare_evidence(models, X, y, names=["one"])
    with pytest.raises(ValueError, match="two models are named 'a'"):
        compare_evidence([("a", models[0]), ("a", models[1])], X, y)
    with pytest.raises(ValueError, match="prior must be 2 numbers"):
        compare_evidence(models, X, y, prior=[1, -1])
    with pytest.raises(ValueError, match="by='aic' is unknown"):
        compare_evidence(models, X, y, by="aic")


def test_bic_is_the_evidence_at_leading_order():
    """(log evidence + BIC/2) / log n → 0: the terms BIC drops do not grow with n."""
    left = []
    for n in (100, 1000, 10_000):
        X, y = one_weight(n)
        model = BayesianLogisticRegression().fit(X, y)
        left.append(abs(model.log_evidence_ + model.bic_ / 2))
    assert max(left) < 4 and left[2] / np.log(10_000) < left[0] / np.log(100)
    assert abs(left[2] - left[1]) < 0.3
