"""The data of the workloads, as BENCHMARKS.md defines them; `scale` shrinks the number of rows only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from benchmarks import cache, shared, text
from benchmarks.model import Dataset

LEAST_ROWS = 200  # below this the classes of a scaled-down set may be missing


def dense(n: int, p: int, n_classes: int = 2) -> Callable[[float], Dataset]:
    """A maker of the synthetic set n×p."""

    def make(scale: float = 1.0) -> Dataset:
        rows = _scaled(n, scale)
        kept = cache.arrays(f"dense-{rows}x{p}-{n_classes}", lambda: _classification(rows, p, n_classes))
        return Dataset(kept["X"], kept["y"], f"make_classification, {rows:,}×{p}, {n_classes} classes")

    return make


def held_out(n: int, p: int) -> Callable[[float], Dataset]:
    """A maker of the synthetic set n×p with a quarter as many rows besides, to judge the fits by."""

    def make(scale: float = 1.0) -> Dataset:
        rows = _scaled(n, scale)
        whole = dense(rows + rows // 4, p)(1.0)
        source = f"make_classification, {rows:,}×{p}, 2 classes, {rows // 4:,} rows held out"
        return Dataset(whole.X[:rows], whole.y[:rows], source, (whole.X[rows:], whole.y[rows:]))

    return make


def few(n: int, p: int, n_classes: int = 2) -> Callable[[float], Dataset]:
    """A maker of n rows of the synthetic set, as many at every scale, with 1,000 besides to judge ensembles by."""

    def make(scale: float = 1.0) -> Dataset:
        whole = dense(n + 1000, p, n_classes)(1.0)
        source = f"make_classification, {n:,}×{p}, {n_classes} classes, 1,000 rows held out"
        return Dataset(whole.X[:n], whole.y[:n], source, (whole.X[n:], whole.y[n:]))

    return make


def tumours(scale: float = 1.0) -> Dataset:
    """scikit-learn's breast cancer, standardised; it has one size."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return Dataset((X - X.mean(axis=0)) / X.std(axis=0), y, "breast cancer standardised, 569×30, 2 classes")


def counts(n: int, p: int, *, at_least_one: bool = False) -> Callable[[float], Dataset]:
    """A maker of correlated columns n×p with Poisson counts of mean about one, or whether they are positive."""

    def make(scale: float = 1.0) -> Dataset:
        rows = _scaled(n, scale)
        kept = cache.arrays(f"counts-{rows}x{p}", lambda: _counts(rows, p))
        y, what = (kept["y"] > 0, "two classes") if at_least_one else (kept["y"], "Poisson counts")
        return Dataset(kept["X"], y.astype(np.int64), f"correlated normal columns, {rows:,}×{p}, {what}")

    return make


def friedman(n: int, p: int) -> Callable[[float], Dataset]:
    """A maker of Friedman's first regression problem with noise 1."""

    def make(scale: float = 1.0) -> Dataset:
        from sklearn.datasets import make_friedman1

        X, y = make_friedman1(_scaled(n, scale), p, noise=1.0, random_state=0)
        return Dataset(X, y, f"friedman1, noise 1, {len(y):,}×{p}")

    return make


def words(n_classes: int) -> Callable[[float], Dataset]:
    """A maker of the text set: 20 classes, or two groups of them."""

    def make(scale: float = 1.0) -> Dataset:
        corpus = text.corpus()
        kept = cache.arrays(f"text-{corpus.key}", corpus.build)
        X = sp.csr_matrix((kept["data"], kept["indices"], kept["indptr"]), shape=tuple(kept["shape"]))
        y = kept["y"] if n_classes == 20 else kept["binary"]
        rows = min(_scaled(20_000, scale), X.shape[0])
        source = f"{corpus.describe}, {rows:,}×{X.shape[1]:,}, {n_classes} classes"
        if rows < X.shape[0]:
            X, y = X[:rows], y[:rows]
        return Dataset(X, y, source)

    return make


def a9a(scale: float = 1.0) -> Dataset:
    """LIBSVM's a9a, the census as 123 columns of zeros and ones, sparse; from the shared data."""
    X, y, _ = shared.numeric("a9a")
    rows = _scaled(X.shape[0], scale)
    return Dataset(X[:rows], (y[:rows] > 0).astype(np.int64), f"a9a, {rows:,}×{X.shape[1]} sparse, 2 classes")


def mnist(n: int) -> Callable[[float], Dataset]:
    """A maker of the first n digits of MNIST, pixels from 0 to 1; from the shared data."""

    def make(scale: float = 1.0) -> Dataset:
        X, y, _ = shared.numeric("mnist")
        rows = _scaled(n, scale)
        return Dataset(X[:rows] / 255.0, y[:rows], f"MNIST, the first {rows:,}×{X.shape[1]}, 10 classes")

    return make


def iris() -> Dataset:
    """Iris as scikit-learn carries it."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return Dataset(X, y, "iris, 150×4, 3 classes")


def _scaled(n: int, scale: float) -> int:
    return n if scale == 1.0 else max(LEAST_ROWS, round(n * scale))


def _counts(n: int, p: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    X[:, 1:] += 0.5 * X[:, :-1]
    eta = X @ (rng.standard_normal(p) * 0.5 / np.sqrt(p)) - 0.2
    return {"X": X, "y": rng.poisson(np.exp(eta))}


def _classification(n: int, p: int, n_classes: int) -> dict[str, np.ndarray]:
    from sklearn.datasets import make_classification

    X, y = make_classification(
        n,
        p,
        n_informative=max(4, p // 3),
        n_redundant=p // 5,
        n_classes=n_classes,
        flip_y=0.05,
        class_sep=0.7,
        random_state=0,
    )
    return {"X": np.ascontiguousarray(X), "y": y}
