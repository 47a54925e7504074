"""Where the growth of trees ends, and what a node looks at: parameters that trees and forests have in common.

    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease, max_leaf_nodes
    max_features     K of the p columns, anew in every node

Rows E3, E4 of the specification.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data.checks import is_count
from separatrix.growth.growers import Options

LIMITS = (
    "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "min_impurity_decrease",
    "max_leaf_nodes",
)  # fmt: skip
CLASS_CRITERIA = ("gini", "entropy", "log_loss", "normalized_gain")


class TreeLimits:
    """The parameters, checked before data is read and turned into :class:`separatrix.growth.trees.Options`."""

    criterion: str
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float
    min_weight_fraction_leaf: float
    max_features: Any
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    ccp_alpha: float
    monotonic_cst: None

    n_features_in_: int
    _criteria: tuple[str, ...] = CLASS_CRITERIA

    def _check_growth(self) -> None:
        """Refuse, before data is read, limits that cannot be meant."""
        if self.criterion not in self._criteria:
            offered = ", ".join(f'"{c}"' for c in self._criteria)
            why = (
                ', which makes the same splits as "squared_error"' if self.criterion == "friedman_mse" else ""
            )
            raise ValueError(f"criterion {self.criterion!r}{why} is not grown by: use one of {offered}")
        for name, least in (("max_depth", 1), ("max_leaf_nodes", 2)):
            value = getattr(self, name)
            if value is not None and not (is_count(value) and value >= least):
                raise ValueError(f"{name} must be None or a whole number of at least {least}, got {value!r}")
        for name, least in (("min_samples_split", 2), ("min_samples_leaf", 1)):
            value = getattr(self, name)
            if not (is_count(value) and value >= least) and not is_share(value):
                raise ValueError(
                    f"{name} must be a whole number of at least {least} or a share of the rows in (0, 1], got "
                    f"{value!r}"
                )
        fraction = self.min_weight_fraction_leaf
        if not (is_number(fraction) and 0 <= fraction <= 0.5):
            raise ValueError(f"min_weight_fraction_leaf must be a number in [0, 0.5], got {fraction!r}")
        if not (is_number(self.min_impurity_decrease) and self.min_impurity_decrease >= 0):
            raise ValueError(
                f"min_impurity_decrease must be a number of at least 0, got {self.min_impurity_decrease!r}"
            )
        if not (is_number(self.ccp_alpha) and self.ccp_alpha == 0):
            raise ValueError(
                f"ccp_alpha={self.ccp_alpha!r} asks for pruning, and trees are not pruned here: leave it 0.0 and "
                "limit max_depth, min_samples_leaf or min_impurity_decrease"
            )
        if self.monotonic_cst is not None:
            raise ValueError(
                "monotonic_cst is not served: leave it None (a generalised linear model is monotone in its columns)"
            )

    def _options(self, n: int) -> Options:
        """The limits for a table of n rows."""
        split, leaf = self.min_samples_split, self.min_samples_leaf
        leaf = int(leaf) if is_count(leaf) else int(np.ceil(leaf * n))
        split = int(split) if is_count(split) else max(2, int(np.ceil(split * n)))
        return Options(
            self.criterion,
            self._tests(),
            1 << 30 if self.max_depth is None else int(self.max_depth),
            max(split, 2 * leaf),
            leaf,
            float(self.min_weight_fraction_leaf),
            float(self.min_impurity_decrease),
            None if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
        )

    def _tests(self) -> int:
        """K, the number of columns a node looks at."""
        p, given = self.n_features_in_, self.max_features
        if given is None:
            return p
        if isinstance(given, str) and given in ("sqrt", "log2"):
            return max(1, int(np.sqrt(p) if given == "sqrt" else np.log2(p)))
        if is_count(given) and given >= 1:
            if given > p:
                raise ValueError(f"max_features={given} is more than the {p} columns of X: give at most {p}")
            return int(given)
        if is_share(given):
            return max(1, int(given * p))
        raise ValueError(
            'max_features must be "sqrt", "log2", None, a whole number of at least 1 or a share of the columns in '
            f"(0, 1], got {given!r}"
        )

    def _limits(self) -> str:
        """What ended growth, in words."""
        set_ = [f"{k}={getattr(self, k)}" for k in LIMITS if getattr(self, k) != getattr(type(self), k)]
        pure = "leaves pure or not to be split"
        return f"{pure}, or {', '.join(set_)}" if set_ else pure


def is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_share(value: object) -> bool:
    """Whether a parameter is a float in (0, 1]."""
    return isinstance(value, (float, np.floating)) and bool(0.0 < value <= 1.0)


def is_word(value: object, word: str) -> bool:
    return isinstance(value, str) and value == word
