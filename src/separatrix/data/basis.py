"""Basis functions φ(x): linear in φ, curved in x ([PC] "RBF centres", [6867] 2; row D6).

    φ_j(x) = exp(−γ ‖x − c_j‖²)

The separator w·φ(x) + w₀ = 0 is a hyperplane in φ and a curve in x. Polynomials with cross products are
scikit-learn's ``PolynomialFeatures``; any transformer serves, in a pipeline.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.core.numerics import FloatArray


class RadialBasis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """φ_j(x) = exp(−γ ‖x − c_j‖²): distances to a few centres as new columns ([PC], two centres shown).

    Parameters
    ----------
    centers : number of centres to choose, or an array (m, p) of given ones
    gamma : γ > 0; "scale" is 1/(p · variance of X), "median" is 1/(2 · median squared distance of centres)
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

    def fit(self, X: Any, y: Any = None) -> RadialBasis:
        """Choose or take the centres, and settle γ."""
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

        squared = cdist(X, self.centers_.astype(X.dtype, copy=False), "sqeuclidean")
        return np.exp(-self.gamma_ * squared).astype(X.dtype, copy=False)

    def _choose(self, X: FloatArray) -> FloatArray:
        if not isinstance(self.centers, (Integral, Real)):
            given = np.asarray(self.centers, dtype=np.float64)
            if given.ndim != 2 or given.shape[1] != X.shape[1]:
                raise ValueError(
                    f"centers has shape {given.shape}, expected (m, {X.shape[1]}): one row a centre"
                )
            if not np.isfinite(given).all():
                raise ValueError("centers must be finite")
            return given
        if not isinstance(self.centers, Integral) or self.centers < 1:
            raise ValueError(
                f"centers must be a whole number of at least 1 or an array, got {self.centers!r}"
            )
        count = min(int(self.centers), len(np.unique(X, axis=0)))
        if self.selection == "rows":
            rng = check_random_state(self.random_state)
            return np.array(
                np.unique(X, axis=0)[rng.permutation(len(np.unique(X, axis=0)))[:count]], dtype=float
            )
        if self.selection != "kmeans":
            raise ValueError(f'selection {self.selection!r} is unknown: use "kmeans" or "rows"')
        from sklearn.cluster import KMeans

        return np.asarray(KMeans(count, n_init=1, random_state=self.random_state).fit(X).cluster_centers_)

    def _width(self, X: FloatArray) -> float:
        if not isinstance(self.gamma, str):
            if not self.gamma > 0:
                raise ValueError(f"gamma must be positive, got {self.gamma}")
            return float(self.gamma)
        if self.gamma == "scale":
            variance = float(X.var())
            return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        if self.gamma == "median":
            from scipy.spatial.distance import pdist

            distances = pdist(self.centers_, "sqeuclidean")
            middle = float(np.median(distances)) if len(distances) else 0.0
            return 1.0 / (2.0 * middle) if middle > 0 else 1.0
        raise ValueError(f'gamma {self.gamma!r} is unknown: use a positive number, "scale" or "median"')
