"""Every public estimator, with rows it reads, what it answers, and which of its fitted arrays it answers from.

A new estimator is covered by being public: `cases` finds it, and a fitted array it brings must be named here: as
state (an edit changes the answers, or is refused) or as a report (a figure of the fit, nothing is predicted from it).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.discovery import all_estimators
from sklearn.utils.validation import has_fit_parameter

from tests.files.catalogue import Tables, default_case, public_estimators

# what a model may be asked of rows
ANSWERS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
    "score_samples",
)

# fitted numbers that answers are computed from
STATE = {
    "coef_", "intercept_", "theta_", "var_", "class_prior_", "class_log_prior_", "feature_log_prob_", "means_",
    "priors_", "covariance_", "dual_coef_", "support_vectors_", "estimator_weights_", "alphas_", "centers_",
    "scalings_", "thresholds_", "xbar_", "offset_", "bin_edges_", "rotations_", "left_weights_", "right_weights_",
    "idf_",
}  # fmt: skip

# fitted numbers that only tell of the fit
REPORTS = {
    "feature_all_", "n_categories_",
    "n_iter_", "class_count_", "feature_count_", "category_count_", "epsilon_", "feature_importances_",
    "class_weight_", "coef_sd_", "intercept_sd_", "prior_covariance_", "prior_mean_", "train_errors_", "coef_start_",
    "intercept_start_",
    "margins_", "log_likelihoods_", "explained_variance_ratio_", "alpha_", "alpha_hat_", "estimator_errors_",
    "normalizers_", "mistakes_path_", "n_mistakes_", "t_", "mistake_bound_", "train_error_bound_", "weights_",
    "rho_", "hard_rows_", "oob_decision_function_", "oob_prediction_", "objective_path_", "slack_", "states_",
}  # fmt: skip

# what one model predicts from, another only tells of
ONLY_TOLD = {
    ("ComplementNB", "class_log_prior_"),
    ("GeneralizedLinearModel", "covariance_"),
    ("LogisticRegression", "covariance_"),
    ("OrdinalRegression", "covariance_"),
    ("TextFeatures", "idf_"),  # of counts; with tf-idf it is state
}


@dataclass(frozen=True)
class Case:
    """An estimator as it comes, with rows and targets."""

    name: str
    model: Any
    X: Any
    y: Any

    def fitted(self, **params: Any) -> Any:
        return quietly(clone(self.model).set_params(**params).fit, self.X, self.y)

    @property
    def takes_weight(self) -> bool:
        return has_fit_parameter(self.model, "sample_weight")

    @property
    def supervised(self) -> bool:
        return bool(self.model.__sklearn_tags__().target_tags.required)

    @property
    def counterpart(self) -> type | None:
        """scikit-learn's class of the same name."""
        return dict(all_estimators()).get(self.name)


def cases() -> list[Case]:
    tables = Tables(seed=3)
    found = [Case(kind.__name__, *default_case(kind, tables)) for kind in public_estimators()]
    for case in found:
        if "random_state" in case.model.get_params(deep=False):
            case.model.set_params(random_state=0)
    return found


def quietly(call: Any, *args: Any, **kwargs: Any) -> Any:
    """The call's answer, its warnings unheard: these laws are about something else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, **kwargs)


def answers(model: Any, X: Any) -> dict[str, np.ndarray]:
    """Everything the model says of rows X."""
    found = {}
    for name in ANSWERS:
        if hasattr(model, name):
            said = quietly(getattr(model, name), X)
            found[name] = said.toarray() if sp.issparse(said) else np.asarray(said)
    assert found, f"{type(model).__name__} answers nothing"
    return found


def assert_same_bits(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def differ(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return any(
        not np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f") for name in one
    )


def state_of(model: Any) -> list[str]:
    """The fitted numbers its answers come from."""
    name = type(model).__name__
    return sorted(n for n in fitted_arrays(model).keys() & STATE if (name, n) not in ONLY_TOLD)


def fitted_arrays(model: Any) -> dict[str, Any]:
    """The public fitted attributes that hold numbers with a fraction: arrays, or lists of arrays."""
    found = {}
    for name in dir(model):
        if not name.endswith("_") or name.startswith("_"):
            continue
        try:
            value = quietly(getattr, model, name)
        except (AttributeError, ValueError):
            continue  # not of this fit
        parts = value if isinstance(value, list) and value else [value]
        if all(isinstance(part, np.ndarray) and part.dtype.kind == "f" and part.size for part in parts):
            found[name] = value
    return found
