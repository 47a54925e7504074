"""Discriminants and naive Bayes as R has them (MASS, e1071)."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import numpy as np
import pytest
from scipy.special import logsumexp

from separatrix import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from tests.models.generative.real_tables import table

NEEDS_R = pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript is not installed")
R_SCRIPT = r"""
a <- commandArgs(TRUE); options(digits = 17)
d <- read.csv(file.path(a[1], "data.csv")); x <- as.matrix(d[, -1]); g <- factor(d$y)
out <- function(m, name) write.table(format(as.matrix(m), digits = 17), file.path(a[1], name),
                                     row.names = FALSE, col.names = FALSE, quote = FALSE)
if (!suppressMessages(require(MASS, quietly = TRUE))) quit(status = 77)
l <- lda(x, g, method = "mle", tol = 1e-12)
out(predict(l, x)$posterior, "lda"); out(l$means, "means")
out(predict(qda(x, g, method = "mle"), x)$posterior, "qda")
moment <- predict(lda(x, g, tol = 1e-12), x)$posterior; out(moment, "lda_moment")
out(predict(l, x)$x, "scores")
if (!suppressMessages(require(e1071, quietly = TRUE))) quit(status = 0)
nb <- naiveBayes(as.data.frame(x), g)
n <- as.vector(table(g))
nb$tables <- lapply(nb$tables, function(t) { t[, 2] <- t[, 2] * sqrt((n - 1) / n); t })  # sd over n
out(predict(nb, as.data.frame(x), type = "raw", threshold = 0), "nb")
f <- as.data.frame(lapply(as.data.frame(x), function(v) factor(v > median(v))))
c <- naiveBayes(f, g, laplace = 1)
out(predict(c, f, type = "raw", threshold = 0), "nb_levels")
"""


@cache
def from_r(directory, name):
    X, y = table(name)
    np.savetxt(
        f"{directory}/data.csv", np.column_stack([y, X]), delimiter=",", fmt="%.17g", comments="",
        header="y," + ",".join(f"x{j}" for j in range(X.shape[1])),
    )  # fmt: skip
    with open(f"{directory}/script.R", "w") as file:
        file.write(R_SCRIPT)
    done = subprocess.run(
        ["Rscript", "--vanilla", f"{directory}/script.R", directory],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode == 77:
        pytest.skip("R lacks MASS")
    assert done.returncode == 0, done.stderr
    return lambda what: np.loadtxt(f"{directory}/{what}")


@NEEDS_R
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
def test_r_lda_qda_and_naive_bayes(tmp_path, name):
    X, y = table(name)
    r = from_r(str(tmp_path), name)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(lda.means_, r("means"), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(lda.predict_proba(X), r("lda"), atol=1e-10)
    np.testing.assert_allclose(
        QuadraticDiscriminantAnalysis().fit(X, y).predict_proba(X), r("qda"), atol=1e-10
    )
    # R's default divides by n − K: the scores are ours times (n − K)/n
    n, K = len(y), len(lda.classes_)
    scores = lda.class_log_density(X) * (n - K) / n + np.log(lda.class_prior_)
    np.testing.assert_allclose(
        np.exp(scores - logsumexp(scores, axis=1)[:, None]), r("lda_moment"), atol=1e-10
    )
    ours, theirs = lda.transform(X), r("scores").reshape(len(y), -1)
    theirs = theirs * np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(ours).max())
    try:
        theirs = r("nb")
    except OSError:
        pytest.skip("R lacks e1071: lda and qda agree")
    seen = np.isfinite(theirs).all(axis=1)  # where all classes underflow R has 0/0
    assert seen.mean() > 0.95
    ours = GaussianNB(var_smoothing=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours[seen], theirs[seen], atol=1e-10)
    levels = np.median(X, axis=0) < X
    for model in (CategoricalNB(), NaiveBayes(), BernoulliNB()):
        np.testing.assert_allclose(model.fit(levels, y).predict_proba(levels), r("nb_levels"), atol=1e-10)
