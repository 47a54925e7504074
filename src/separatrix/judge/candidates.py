"""The classifiers that suit a table, each with sensible tuning, the columns it wants to see, and what it will cost.

    Facts.of(X, y)         rows, columns, classes, missing cells, kinds of columns: all that suitability depends on
    CANDIDATES             name → Candidate(make, form, grows, unsuited)
    encoder_of(facts, form)     the columns in the form a model wants: TableEncoder of a frame, scaling of an array
    seconds ≈ a + b·n^e         from the times of two pilots on few rows, e known of the method

Forms: "native" (as they are, words and missing cells too), "linear" (numbers, standardised, words as 0 and 1),
"counts" (whole numbers). Rows V1, T3. Cost: Facts one pass; a forecast two small fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from separatrix.data.discretise import Discretizer
from separatrix.data.door import is_dask, read_labels
from separatrix.judge.tuning import Tuned, TunedRounds, TunedSVC, set_seed
from separatrix.models.ensemble.adaboost import AdaBoostClassifier
from separatrix.models.ensemble.bagging import BaggingClassifier
from separatrix.models.ensemble.decision_tree import DecisionTreeClassifier
from separatrix.models.ensemble.extra_trees import ExtraTreesClassifier
from separatrix.models.ensemble.random_forest import RandomForestClassifier
from separatrix.models.ensemble.stump import DecisionStump
from separatrix.models.generative.categorical_nb import CategoricalNB
from separatrix.models.generative.linear_discriminant import LinearDiscriminantAnalysis
from separatrix.models.generative.multinomial_nb import MultinomialNB
from separatrix.models.generative.naive_bayes import NaiveBayes
from separatrix.models.generative.quadratic_discriminant import QuadraticDiscriminantAnalysis
from separatrix.models.linear.logistic import LogisticRegression
from separatrix.models.margin.linear_svc import LinearSVC

KERNEL_ROWS = 5_000  # a kernel matrix of more is not held
DENSE_COLUMNS = 2_000  # beyond, a covariance matrix is too dear
LEAST_ROWS = 2  # of a class, for probabilities from folds
NUMBERS = ("continuous", "discrete")
FEW_CLASSES = 4  # beyond, models with weights for each class are slower than trees
OVERHEAD = 0.005  # seconds of any fit, however few its rows


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of a table before any model: n, p, counts of classes, and what its columns hold."""

    n: int
    p: int
    classes: np.ndarray
    counts: np.ndarray
    frame: bool
    sparse: bool
    missing: bool
    whole: bool  # every cell a count: whole and not negative
    kinds: Mapping[str, str]  # of a frame's columns, empty of an array

    @classmethod
    def of(cls, X: Any, y: Any, kinds: Mapping[str, str] | None = None) -> Facts:
        """Read from X (n, p), a table (array, sparse matrix or frame), and y (n,). One pass.

        >>> facts = Facts.of([[1.0, 2.0], [0.0, 5.0], [3.0, 1.0]], ["a", "b", "a"])
        >>> facts.n, facts.p, facts.counts.tolist(), facts.whole
        (3, 2, [2, 1], True)
        """
        n, p = np.shape(X)
        classes, codes = read_labels(y, n)
        counts = np.bincount(codes, minlength=len(classes))
        if hasattr(X, "columns"):
            from separatrix.tables.kinds import infer_kinds

            known = infer_kinds(X, dict(kinds) if kinds else None)
            return cls(n, p, classes, counts, True, False, bool(X.isna().any(axis=None)), False, known)
        cells = np.asarray(getattr(X, "data") if sp.issparse(X) else X)  # noqa: B009  the stored cells of CSR
        if cells.dtype.kind not in "fiub":
            return cls(n, p, classes, counts, False, False, False, False, {})
        missing = bool(np.isnan(cells).any()) if cells.dtype.kind == "f" else False
        whole = not missing and bool((cells >= 0).all()) and bool((cells == np.rint(cells)).all())
        return cls(n, p, classes, counts, False, bool(sp.issparse(X)), missing, whole, {})

    @property
    def numeric(self) -> bool:
        """Whether every column that is used holds numbers."""
        return all(k in (*NUMBERS, "identifier", "constant") for k in self.kinds.values())

    def has(self, *kinds: str) -> bool:
        return any(k in kinds for k in self.kinds.values())

    @property
    def text_only(self) -> bool:
        """Whether text is all there is to go by."""
        return self.has("text") and not self.has("continuous", "discrete", "nominal", "date")


@dataclass(frozen=True)
class Candidate:
    """A classifier to be compared.

    Attributes
    ----------
    name : as in ``compare(models=[…])``
    title : in words
    make : (facts, seed, scoring) → an estimator not yet fitted; scoring is what its tuning looks at
    form : the columns it wants, "native", "linear" or "counts"; None as they are given
    grows : e, the time of a fit grows as n^e
    unsuited : facts → why it does not suit the table, "" where it does
    by_name : whether it is tried only where it is named
    """

    name: str
    title: str
    make: Callable[[Facts, int, str], Any]
    form: str | None
    grows: float
    unsuited: Callable[[Facts], str] = lambda facts: ""
    by_name: bool = False


def _majority(facts: Facts, seed: int, scoring: str) -> Any:
    return DummyClassifier(strategy="prior")


def _naive_bayes(facts: Facts, seed: int, scoring: str) -> Any:
    if facts.frame:
        numbers: Any = {name: "gaussian" for name, kind in facts.kinds.items() if kind in NUMBERS}
    else:
        numbers = ["gaussian"] * facts.p
    grid: list[dict[str, Any]] = [{"families": "auto"}, {"families": numbers}] if numbers else [{}]
    if facts.has("nominal", "date"):  # alpha smooths levels
        grid = [{**setting, "alpha": 1.0} for setting in grid]
        grid += [{**grid[0], "alpha": a} for a in (0.1, 10.0)]
    return Tuned(NaiveBayes(), grid, scoring=scoring, random_state=seed)


def _naive_bayes_cut(facts: Facts, seed: int, scoring: str) -> Any:
    return make_pipeline(Discretizer("mdl"), CategoricalNB())


def _multinomial(facts: Facts, seed: int, scoring: str) -> Any:
    grid = [{"alpha": a} for a in (1.0, 0.1, 0.01)]
    return Tuned(MultinomialNB(), grid, scoring=scoring, random_state=seed)


def _lda(facts: Facts, seed: int, scoring: str) -> Any:
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


def _qda(facts: Facts, seed: int, scoring: str) -> Any:
    return QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto")


def _logistic(facts: Facts, seed: int, scoring: str) -> Any:
    shift = 10.0 if facts.has("text") else 1.0  # rows of words have length 1, whatever their number
    grid = [{"C": C * shift} for C in (0.01, 0.1, 1.0, 10.0, 100.0)]
    return Tuned(LogisticRegression(max_iter=300), grid, scoring=scoring, random_state=seed)


def _linear_svc(facts: Facts, seed: int, scoring: str) -> Any:
    grid = [{"C": C} for C in (0.01, 0.1, 1.0, 10.0)]
    final = {"calibrate": "sigmoid"}
    return Tuned(LinearSVC(), grid, scoring="accuracy", final=final, random_state=seed)


def _rbf_svc(facts: Facts, seed: int, scoring: str) -> Any:
    return TunedSVC(random_state=seed)


def _adaboost(facts: Facts, seed: int, scoring: str) -> Any:
    stump = DecisionStump(categorical_features="from_dtype") if facts.frame else None
    return TunedRounds(
        AdaBoostClassifier(stump, n_estimators=200, learning_rate=0.3, random_state=seed), random_state=seed
    )


def _bagged_trees(facts: Facts, seed: int, scoring: str) -> Any:
    grid = [{"estimator__min_samples_leaf": m} for m in (1, 5)]
    bag = BaggingClassifier(DecisionTreeClassifier(), 30, random_state=seed)  # enough to choose by
    return Tuned(bag, grid, scoring=scoring, final={"n_estimators": 100}, random_state=seed)


def _extra_trees(facts: Facts, seed: int, scoring: str) -> Any:
    words = "from_dtype" if facts.frame else None
    grid = [{"min_samples_leaf": m} for m in (1, 3, 10)]
    forest = ExtraTreesClassifier(50, categorical_features=words, random_state=seed)
    return Tuned(forest, grid, scoring=scoring, final={"n_estimators": 200}, random_state=seed)


def _random_forest(facts: Facts, seed: int, scoring: str) -> Any:
    words = "from_dtype" if facts.frame else None
    grid = [{"min_samples_leaf": m} for m in (1, 3, 10)]
    forest = RandomForestClassifier(50, categorical_features=words, random_state=seed)
    return Tuned(forest, grid, scoring=scoring, final={"n_estimators": 200}, random_state=seed)


def _no_words(facts: Facts) -> str:
    if facts.sparse:
        return "it reads dense tables, and this one is sparse"
    return "the table holds text only" if facts.text_only else ""


def _no_wide(facts: Facts) -> str:
    return "it reads dense tables, and words make a sparse one" if facts.sparse or facts.has("text") else ""


def _no_covariance(facts: Facts) -> str:
    if facts.sparse or facts.has("text"):
        return "a covariance matrix would be as wide as the vocabulary"
    if facts.p > DENSE_COLUMNS:
        return f"its covariance matrix is too dear beyond {DENSE_COLUMNS:,} columns"
    return ""


def _no_qda(facts: Facts) -> str:
    if _no_covariance(facts):
        return _no_covariance(facts)
    if not facts.numeric:
        return "a covariance for each class needs columns of numbers"
    least = int(facts.counts.min())
    return f"the smallest class has {least} rows for {facts.p} columns" if least < facts.p + 2 else ""


def _no_cut(facts: Facts) -> str:
    if facts.sparse or not facts.numeric:
        return "it cuts columns of numbers"
    return "it cuts columns without missing cells" if facts.missing else ""


def _no_multinomial(facts: Facts) -> str:
    if facts.has("text") or (facts.sparse and facts.whole):
        return ""
    return "it reads counts of words"


def _small_class(facts: Facts) -> str:
    least = int(facts.counts.min())
    return (
        f"its probabilities need {LEAST_ROWS} rows of every class in training" if least <= LEAST_ROWS else ""
    )


def _no_rbf(facts: Facts) -> str:
    if facts.n > KERNEL_ROWS:
        return f"its kernel matrix is too large beyond {KERNEL_ROWS:,} rows"
    if facts.sparse or facts.has("text"):
        return "on words the linear machine does as well in a fraction of the time"
    return _small_class(facts)


CANDIDATES = {
    c.name: c
    for c in (
        # the quickest first: in this order they are tried where times are not known (by_guess)
        Candidate("majority", "the classes' shares", _majority, None, 0.0),
        Candidate("lda", "linear discriminants", _lda, "linear", 1.0, _no_covariance),
        Candidate("qda", "quadratic discriminants", _qda, "linear", 1.0, _no_qda),
        Candidate("naive_bayes", "naive Bayes", _naive_bayes, "native", 1.0, _no_words),
        Candidate("naive_bayes_cut", "naive Bayes of cut columns", _naive_bayes_cut, "linear", 1.0, _no_cut),
        Candidate("multinomial_nb", "multinomial naive Bayes", _multinomial, "counts", 1.0, _no_multinomial),
        Candidate("logistic", "logistic regression", _logistic, "linear", 1.15),
        Candidate("linear_svc", "linear support vectors", _linear_svc, "linear", 1.0, _small_class),
        Candidate("extra_trees", "extra trees", _extra_trees, "native", 1.1, _no_words),
        # beside extra trees and bagged trees it takes time and tells little: where it is named
        Candidate("random_forest", "random forest", _random_forest, "native", 1.1, _no_words, by_name=True),
        Candidate("adaboost", "boosted stumps", _adaboost, "native", 0.8, _no_words),
        Candidate("rbf_svc", "kernel support vectors", _rbf_svc, "linear", 2.0, _no_rbf),
        # a frame's levels as 0 and 1: a hundred trees would read its words a hundred times
        Candidate("bagged_trees", "bagged trees", _bagged_trees, "linear", 1.1, _no_wide),
    )
}


def by_guess(names: Sequence[str], facts: Facts) -> list[str]:
    """The quickest first, as far as that can be guessed: in order, but of many classes linear models come late.

    >>> facts = Facts.of(np.eye(12)[:, :6], np.arange(12) % 6)
    >>> by_guess(["lda", "logistic", "extra_trees", "rbf_svc"], facts)
    ['lda', 'extra_trees', 'logistic', 'rbf_svc']
    """
    late = ("logistic", "linear_svc") if len(facts.classes) > FEW_CLASSES else ()
    place = {name: float(i) for i, name in enumerate(names)}
    after = max((place[m] for m in ("extra_trees", "adaboost") if m in place), default=-1.0)
    return sorted(names, key=lambda m: max(place[m], after + 0.5) if m in late else place[m])


def read_models(models: Any, facts: Facts) -> tuple[dict[str, Candidate], dict[str, str]]:
    """The candidates asked for, and those left aside with the reason.

    None asks for all that suit, but for those that are tried by name only; a name, a list of names and estimators, or
    a mapping from name to estimator asks for those. An estimator of the user's sees the columns as they are given.
    """
    if models is None:
        reasons = {name: c.unsuited(facts) for name, c in CANDIDATES.items() if not c.by_name}
        chosen = {name: CANDIDATES[name] for name, why in reasons.items() if not why}
        return chosen, {name: why for name, why in reasons.items() if why}
    given = models if isinstance(models, (list, tuple, Mapping)) else [models]
    if not given:
        raise ValueError(f"models is empty: give some of {', '.join(CANDIDATES)}, or None for all that suit")
    found: dict[str, Candidate] = {}
    pairs = (
        given.items()
        if isinstance(given, Mapping)
        else [(m if isinstance(m, str) else None, m) for m in given]
    )
    for name, model in pairs:
        candidate = _one(name, model)
        if candidate.name in found:
            raise ValueError(f"models names {candidate.name!r} twice: give a mapping {{name: estimator}}")
        if candidate is CANDIDATES.get(candidate.name) and (why := candidate.unsuited(facts)):
            raise ValueError(f"{candidate.name} does not suit this table: {why}; leave it out of models")
        found[candidate.name] = candidate
    return found, {}


def _one(name: Any, model: Any) -> Candidate:
    if isinstance(model, Candidate):
        return model
    if isinstance(model, str):
        if model not in CANDIDATES:
            near = get_close_matches(model, CANDIDATES, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(
                f"models names {model!r}, which is unknown{hint}: known are {', '.join(CANDIDATES)}; or give "
                "{name: estimator}"
            )
        return CANDIDATES[model]
    if isinstance(model, type):
        raise TypeError(f"models holds the class {model.__name__}: give an instance, {model.__name__}()")
    if not (hasattr(model, "fit") and hasattr(model, "predict") and hasattr(model, "get_params")):
        raise TypeError(
            f"models holds {model!r}, which is no classifier: give names ({', '.join(CANDIDATES)}) or estimators "
            "with fit and predict"
        )
    if not is_classifier(model):
        raise TypeError(f"models holds {type(model).__name__}, which is no classifier")
    title = type(model.steps[-1][1] if isinstance(model, Pipeline) else model).__name__
    return Candidate(str(name) if name is not None else title, title, _copier(model), None, 1.2)


def _copier(model: Any) -> Callable[[Facts, int, str], Any]:
    from sklearn.base import clone

    def make(facts: Facts, seed: int, scoring: str) -> Any:
        copy = clone(model)
        free = [k for k, v in copy.get_params().items() if k.split("__")[-1] == "random_state" and v is None]
        return set_seed(copy, seed) if free else copy

    return make


# ---- columns ----


def read_X(X: Any) -> Any:
    """A pandas frame where columns have names, else a dense or CSR array of numbers; anything else is refused."""
    if is_dask(X):
        raise TypeError("models are compared on rows in memory: call .compute() on X and y, or give a sample")
    if sp.issparse(X):
        return getattr(X, "tocsr")()  # noqa: B009  the stubs know no method of any sparse matrix
    if hasattr(X, "columns"):
        from separatrix.tables.encode import as_frame

        return as_frame(X)
    cells = np.asarray(X)
    if cells.dtype.kind in "US" and isinstance(X, (list, tuple)):
        cells = np.array(X, dtype=object)  # numbers beside words stay numbers
    if cells.dtype.kind in "OUS":
        try:
            cells = cells.astype(float)
        except (TypeError, ValueError):
            return _named(cells)
    if cells.ndim != 2:
        raise ValueError(
            f"X must have rows and columns, got {cells.ndim} dimension(s) of shape {cells.shape}"
        )
    if cells.dtype.kind == "f" and np.isinf(cells).any():
        i, j = (int(v[0]) for v in np.nonzero(np.isinf(cells)))
        raise ValueError(f"X is infinite in row {i}, column {j}: mend the cell, or make it NaN (missing)")
    return cells


def _named(cells: np.ndarray) -> Any:
    """Words in an array become a frame, so that columns have kinds."""
    if cells.ndim != 2:
        raise ValueError(
            f"X must have rows and columns, got {cells.ndim} dimension(s) of shape {cells.shape}"
        )
    import pandas as pd

    frame = pd.DataFrame(cells, columns=[f"x{j}" for j in range(cells.shape[1])])
    return frame.infer_objects()


def encoder_of(facts: Facts, form: str | None) -> Any:
    """A transformer to the form, not yet fitted; None where the columns are seen as they are.

    >>> facts = Facts.of(np.array([[1.5, np.nan], [0.0, 5.0]]), ["a", "b"])
    >>> [type(step).__name__ for _, step in encoder_of(facts, "linear").steps]
    ['SimpleImputer', 'StandardScaler']
    """
    if form is None:
        return None
    if facts.frame:
        from separatrix.tables.encode import TableEncoder

        return TableEncoder(form=form, kinds=dict(facts.kinds))
    if form != "linear":
        return None
    if facts.sparse:
        return MaxAbsScaler()
    if facts.missing:
        fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        return make_pipeline(fill, StandardScaler())
    return StandardScaler()


# ---- cost ----


def forecast(small: tuple[int, float], large: tuple[int, float], n: int, grows: float) -> float:
    """Seconds of a fit of n rows, a + b·n^e through two pilots (rows, seconds); never less than the larger of them.

    Of one pilot, given twice, a quarter is taken to grow.

    >>> forecast((100, 0.02), (400, 0.05), 10_000, 1.0)
    1.01
    """
    if n <= large[0] or grows == 0:
        return large[1]
    span = large[0] ** grows - small[0] ** grows
    slope = max((large[1] - small[1]) / span, 0.0) if span > 0 else 0.0
    some = max(large[1] - OVERHEAD, 0.0)  # two short times are noisy: assume some growth
    slope = max(slope, 0.25 * some / large[0] ** grows)
    return float(large[1] + slope * (n**grows - large[0] ** grows))
