"""Basis functions φ(x): linear in φ, curved in x ([PC] "RBF centres", [6867] 2; row D6).

    φ_j(x) = exp(−γ ‖x − c_j‖²)

The separator w·φ(x) + w₀ = 0 is a hyperplane in φ and a curve in x. Polynomials with cross products are
scikit-learn's ``PolynomialFeatures``; any transformer serves, in a pipeline.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.core.numerics import FloatArray
from separatrix.data.checks import check_known, is_count, is_positive
from separatrix.data.estimator import Estimator


class RadialBasis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """φ_j(x) = exp(−γ ‖x − c_j‖²): distances to a few centres as new columns ([PC], two centres shown).

    Parameters
    ----------
    centers : number of centres to choose, or an array (m, p) of given ones
    gamma : a positive number, "scale" for 1/(p · variance of X), or "median" for 1/(2 · median squared distance
        of the centres)
    selection : how centres are chosen: "kmeans" (k-means++ then Lloyd's), or "rows" (drawn from the rows)
    random_state : seed of that choice

    Attributes
    ----------
    centers_ : (m, p)
    gamma_ : the γ used

    Notes
    -----
    Cost O(nmp); output (n, m), float32 for float32 input.

    Examples
    --------
    Two rings no line can separate become separable around one centre:

    >>> from sklearn.pipeline import make_pipeline
    >>> from separatrix import LogisticRegression
    >>> angle = np.linspace(0, 6.28, 40)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X, y = np.vstack([ring, 3 * ring]), np.repeat([0, 1], 40)
    >>> model = make_pipeline(RadialBasis(centers=[[0.0, 0.0]], gamma=0.5), LogisticRegression(C=100))
    >>> model.fit(X, y).score(X, y)
    1.0
    """

    def __init__(
        self,
        centers: Any = 10,
        *,
        gamma: float | str = "scale",
        selection: str = "kmeans",
        random_state: Any = None,
    ):
        self.centers = centers
        self.gamma = gamma
        self.selection = selection
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None) -> RadialBasis:
        """Choose or take the centres, and settle γ."""
        self._check_parameters()
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self.centers_ = self._choose(X)
        self.gamma_ = self._width(X)
        self._n_features_out = len(self.centers_)
        return self

    def transform(self, X: Any) -> FloatArray:
        """φ(X), (n, m)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        from scipy.spatial.distance import cdist

        squared = cdist(X, self.centers_, "sqeuclidean")  # in double: differences first, so no cancellation
        return np.exp(-self.gamma_ * squared).astype(X.dtype, copy=False)

    def _check_parameters(self) -> None:
        """Refuse, before data is read, what cannot be meant."""
        if np.ndim(self.centers) == 0 and not (is_count(self.centers) and self.centers >= 1):
            raise ValueError(
                f"centers must be a whole number of at least 1 or an array, got {self.centers!r}"
            )
        check_known("selection", self.selection, "kmeans", "rows")
        if isinstance(self.gamma, str) and self.gamma not in ("scale", "median"):
            raise ValueError(f'gamma {self.gamma!r} is unknown: use a positive number, "scale" or "median"')
        if not isinstance(self.gamma, str) and not is_positive(self.gamma, finite=True):
            raise ValueError(f'gamma must be a positive number, "scale" or "median", got {self.gamma!r}')

    def _choose(self, X: FloatArray) -> FloatArray:
        if np.ndim(self.centers) > 0:
            given = np.array(self.centers, dtype=np.float64)
            if given.ndim != 2 or given.shape[1] != X.shape[1] or len(given) == 0:
                raise ValueError(
                    f"centers has shape {given.shape}, expected (m, {X.shape[1]}) with m at least 1: one row a centre"
                )
            if not np.isfinite(given).all():
                raise ValueError(
                    f"centers must be finite: centre {np.argwhere(~np.isfinite(given))[0, 0]} is not"
                )
            return given
        distinct = np.unique(X, axis=0)
        count = min(int(self.centers), len(distinct))
        if self.selection == "rows":
            rng = check_random_state(self.random_state)
            return np.array(distinct[rng.permutation(len(distinct))[:count]], dtype=np.float64)
        from sklearn.cluster import KMeans

        chosen = KMeans(count, n_init=1, random_state=self.random_state).fit(X)
        return np.array(chosen.cluster_centers_, dtype=np.float64)

    def _width(self, X: FloatArray) -> float:
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.gamma == "scale":
            variance = float(X.var(dtype=np.float64))
            return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        from scipy.spatial.distance import pdist

        distances = pdist(self.centers_, "sqeuclidean")
        middle = float(np.median(distances)) if len(distances) else 0.0
        return 1.0 / (2.0 * middle) if middle > 0 else 1.0
