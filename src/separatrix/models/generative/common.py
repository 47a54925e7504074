"""What every generative classifier shares:  P(k | x) ∝ π_k p(x | k), from one pass over the data.

    fit: facts of the rows by class (core/grouped.py) → parameters in closed form       [6867] 3.1, 3.3
    predict: log p(x, k) = log π_k + log p(x | k), from the public numbers              models/generative/answers.py

Because parameters are a function of merged facts alone, `partial_fit`, `merge`, weights, a class that comes
later and rows without a label (EM: soft memberships instead of hard ones) are the same few lines for all models.
A subclass says how facts are taken from a tile (`_facts`), how parameters follow (`_solve`), the log density of
rows (`_log_density`) and how to draw from it (`_draw`).

`partial_fit` and `merge` learn from those facts: what was edited by hand since the last fit is computed anew.

Cost: one sweep for a fit, one a step of EM. Memory: the facts of a few blocks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray, logsumexp
from separatrix.core.statistics.grouped import Members
from separatrix.data import door
from separatrix.data.checks import check_count, check_positive
from separatrix.data.engine import sweep
from separatrix.data.rows import Block, Rows
from separatrix.data.sources import TableLike
from separatrix.models.generative.answers import UnfitCell
from separatrix.models.generative.em import learn_by_em
from separatrix.models.generative.facts import ClassFacts, Task, measure
from separatrix.models.generative.impossible import Findings, warn_no_spread
from separatrix.models.generative.labels import are_words, places_of, union
from separatrix.models.generative.reading import TableReader
from separatrix.models.generative.state import Report, publish, report
from separatrix.models.generative.verified import Equations, LabelledRows, verdict_from_data
from separatrix.models.parameters import check_class_weight, class_factors
from separatrix.verdict.build import closed_form
from separatrix.verdict.gaps import ROUNDING
from separatrix.verdict.verdict import Verdict


class Generative(TableReader):
    """A classifier by way of Pr(X, Y); see the module. Subclasses set ``classes_`` through `fit`."""

    em_tol: float
    em_max_iter: int
    class_weight: Any = None
    _one_class = False  # whether a single class is something to learn
    _em = True  # whether rows without a label mean something
    _base_counts = True  # whether the verdict's objective has the factors that no parameter enters
    _tolerance = 1e-8  # the verdict's tol: a formula is right to rounding
    classes_: np.ndarray
    class_count_ = Report("edit the prior, or learn from more rows by partial_fit and merge")
    verdict_: Verdict

    # ---- learning ----

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (n, p) and labels y (n,); a weight of 2 means the row stands there twice.

        A NaN cell is missing and left out of its column's sums. A row whose label is missing (None or NaN, or −1
        among integers; see the class) takes part by EM.
        """
        self._check_parameters()
        for name in ("_facts_seen", "log_likelihoods_"):
            self.__dict__.pop(name, None)
        return self._learn(X, y, None, sample_weight, reset=True, whole=True)

    def partial_fit(
        self, X: TableLike, y: ArrayLike, classes: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows to what has been learnt: the same parameters as one `fit` to all of them, to rounding.

        A class not met before is simply added; ``classes`` may announce some, and is not needed. What is learnt
        is the facts of the rows: numbers edited by hand since are computed anew.
        """
        self._refuse_balanced("partial_fit")
        if hasattr(self, "log_likelihoods_"):
            raise ValueError(
                "this model was fitted by EM, which needs all rows at once: call fit with all of them"
            )
        self._check_parameters()
        return self._learn(X, y, classes, sample_weight, reset=not hasattr(self, "_facts_seen"), whole=False)

    def merge(self, other: Self) -> Self:
        """A new model: the one fitted to this model's rows and the other's together, without seeing them again."""
        check_is_fitted(self)
        check_is_fitted(other)
        self._refuse_balanced("merge")
        if type(other) is not type(self):
            raise TypeError(f"cannot merge {type(self).__name__} with {type(other).__name__}")
        mine, theirs = self.get_params(), other.get_params()
        for name in mine:
            if not _same(mine[name], theirs[name]):
                raise ValueError(
                    f"cannot merge models of different parameters: {name} is {mine[name]!r} here and "
                    f"{theirs[name]!r} there"
                )
        for model in (self, other):
            if hasattr(model, "log_likelihoods_"):
                raise ValueError("a model fitted by EM cannot be merged: EM needs all rows at once")
        joined = type(self)(**mine)
        joined.__dict__.update(self.__dict__)
        joined._single = self._single and other._single
        theirs_facts = joined._join(other)
        joined._settle(theirs_facts, other.classes_, time.perf_counter(), 0.0)
        joined._warn_of_fit()
        return joined

    def _refuse_balanced(self, what: str) -> None:
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError(
                f'{what}: class_weight="balanced" needs all rows at once, to know the shares of the classes; give a '
                "dictionary of weights"
            )

    def _warn_of_fit(self) -> None:
        """Say as a warning what changes the meaning of the fit; the verdict has it too."""
        warn_no_spread(self, self.__dict__.pop("_grave", []))

    def _join(self, other: Self) -> ClassFacts:
        """The other model's facts, columns meaning what they mean here; the default: they are the same numbers."""
        mine, theirs = (getattr(m, "feature_names_in_", None) for m in (self, other))
        if self.n_features_in_ != other.n_features_in_ or not _same(mine, theirs):
            raise ValueError("cannot merge models fitted to different columns")
        return other._facts_seen

    def _learn(
        self,
        X: TableLike,
        y: ArrayLike,
        classes: Any,
        sample_weight: ArrayLike | None,
        *,
        reset: bool,
        whole: bool,
    ) -> Self:
        """Read rows, take their facts, solve; ``reset``: forget what was known; ``whole``: these are all the rows."""
        began = time.perf_counter()
        self._whole = whole
        rows, found = self._labelled_rows(X, y, classes, sample_weight, reset)
        self._classes_at_hand = found
        try:
            facts: ClassFacts = sweep(measure, rows, Task(self, len(found)))[0]
        except UnfitCell:
            self._refuse_infinite_rows(rows)
            raise
        self._refuse_values(rows, facts)
        if self._start_of_em(rows, facts, found, reset):
            learn_by_em(self, rows, began)
        else:
            self._settle(facts, found, began, 1.0)
            if (rows.y < 0).any():
                learn_by_em(self, rows, began)
        if whole:  # of chunks more may come: there the verdict alone says it
            self._warn_of_fit()
        self.__dict__.pop("_grave", None)
        return self

    def _labelled_rows(
        self, X: TableLike, y: ArrayLike, classes: Any, sample_weight: ArrayLike | None, reset: bool
    ) -> tuple[Rows, np.ndarray]:
        """The rows with their classes' codes and weights (a row without a label −1), and the classes."""
        table = self._read(X, reset=reset)
        if reset:
            self._single = bool(self._keeps) and getattr(table, "dtype", None) == np.float32
        rows = door.rows_of(self, table, missing=True)
        known = None if reset else self.classes_
        if classes is not None:
            known = union(door.as_labels(classes), known)
        found, codes = door.read_some_labels(y, rows.n, known)
        weight = door.read_weights(sample_weight, rows.n)
        if weight is not None and not weight.all() and not rows.lazy:
            keep = weight > 0  # weight zero is absence, whatever the row holds
            rows, codes, weight = door.rows_of(self, table[keep]), codes[keep], weight[keep]
        unlabelled = codes < 0
        if unlabelled.any() and not self._whole:
            raise ValueError(
                "partial_fit takes labelled rows: EM, for rows without a label, needs all of them at once (fit)"
            )
        if unlabelled.any() and not self._em:
            raise ValueError(
                f"row {int(np.flatnonzero(unlabelled)[0])} has no label, and {type(self).__name__} is no density, "
                "which EM would need: drop such rows, or use MultinomialNB"
            )
        found, codes, _ = door.drop_absent_classes(found, codes, weight)
        if known is not None and len(found) and are_words(found) != are_words(np.asarray(known)):
            raise ValueError(
                f"label {found.tolist()[0]!r} is of another type than the classes met before, {known.tolist()}: "
                "labels of one model are all words or all numbers"
            )
        if known is not None:
            everything = union(found, known)
            codes = np.append(places_of(found, everything), -1)[codes]
            found = everything
        elif self._whole and (not self._one_class or unlabelled.any() or found.tolist() in ([], [-1])):
            door.refuse_one_class(found)
        weight = self._class_weighted(weight, codes, found, self._whole)
        rows = rows.with_targets(codes, weight)
        if rows.sparse:  # classes, not rows, go side by side: their counts are as long as the vocabulary
            rows = replace(rows, edges=(0, rows.n))
        return rows, found

    def _class_weighted(
        self, weight: FloatArray | None, codes: np.ndarray, classes: np.ndarray, whole: bool
    ) -> FloatArray | None:
        """Each row's weight times its class's; a row without a label keeps its own."""
        if self.class_weight is None:
            return weight
        labelled = codes >= 0
        mine = codes[labelled]
        totals = np.bincount(mine, None if weight is None else weight[labelled], minlength=len(classes))
        given, known = self.class_weight, classes.tolist()
        if isinstance(given, Mapping) and not whole:  # a class may come later
            given = {c: w for c, w in given.items() if c in known}
        factor = class_factors(given, classes, totals.astype(np.float64))
        out = np.ones(len(codes)) if weight is None else np.array(weight, dtype=np.float64)
        out[labelled] *= factor[mine]
        return out

    def _start_of_em(self, rows: Rows, facts: ClassFacts, classes: np.ndarray, reset: bool) -> bool:
        """Whether cells are missing that only EM can account for; if so the model is brought to its start."""
        return False

    def _settle(self, facts: ClassFacts, classes: np.ndarray, began: float, sweeps: float) -> None:
        """Add facts of rows with the given classes to what is known, and solve."""
        old = getattr(self, "_facts_seen", None)
        if old is not None:
            everything = self._classes_at_hand = union(classes, self.classes_)
            old = self._spread(old, places_of(self.classes_, everything), len(everything))
            facts = self._spread(facts, places_of(classes, everything), len(everything))
            facts, classes = old + facts, everything
        self._facts_seen = facts
        self.classes_ = classes
        self._solve_all(facts, began, sweeps)

    def _solve_all(self, facts: ClassFacts, began: float, sweeps: float) -> None:
        prior = self._priors(facts.weight)
        report(self, class_count_=self._kept(facts.weight.copy()))
        self._set_prior(prior)
        found = Findings()
        residual, objective = self._solve(facts, found)
        empty = [repr(c) for c in self.classes_[facts.weight == 0].tolist()]
        if empty:
            found.append(f"no row yet of class {', '.join(empty)}: never predicted")
        mean_loss = self._objective(objective, facts.weight, prior)
        self.verdict_ = closed_form(
            self, scale="mean loss", objective=mean_loss, gap=max(residual, ROUNDING * abs(mean_loss)),
            tol=self._tolerance, sweeps=sweeps, seconds=time.perf_counter() - began, stopped_by="formula",
            findings=(f"moment residual {residual:.1e}", *found),
        )  # fmt: skip
        self._grave = found.warnings

    def _objective(self, objective: float, weight: FloatArray, prior: FloatArray) -> float:
        """The mean of −log p(x, y) from that of −log p(x | y)."""
        return objective - _cross_entropy(weight, prior)

    def _set_prior(self, prior: FloatArray) -> None:
        """Publish π where the model keeps it."""
        publish(self, "class_prior_", prior, self._single)

    def _priors(self, weight: FloatArray) -> FloatArray:
        """π_k: given, uniform, or the shares of the data."""
        given = getattr(self, "priors", None)
        given = getattr(self, "class_prior", None) if given is None else given
        if given is not None:
            priors = np.asarray(given, dtype=float)
            if priors.shape != weight.shape:
                raise ValueError(
                    f"Number of priors must match number of classes: got {priors.shape[0] if priors.ndim else 1} "
                    f"for {len(weight)} classes"
                )
            if not (priors >= 0).all():
                raise ValueError("Priors must be non-negative.")
            if abs(priors.sum() - 1) > 1e-5:
                raise ValueError(f"The sum of the priors should be 1, got {priors.sum():.6g}")
            return priors / priors.sum()
        if not getattr(self, "fit_prior", True):
            return np.full(len(weight), 1.0 / len(weight))
        return weight / weight.sum()

    def _verdict_from_data(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Verdict:
        return verdict_from_data(self, X, y, sample_weight)

    def _losses(self, X: TableLike, joint: FloatArray, codes: np.ndarray) -> FloatArray:
        """−log p(x, y) of each row, or −log p(x) where it has no label (code −1): (n,)."""
        seen = np.where(codes < 0, logsumexp(joint), joint[np.arange(len(joint)), codes])
        if self._base_counts or hasattr(self, "log_likelihoods_"):  # EM counts it
            seen += np.asarray(self._on_rows(X, self._tiled(self._now()._log_base)))
        return -seen

    def _equations(self, rows: LabelledRows) -> Equations:
        """How well the public numbers solve the moment equations of these rows (verified.py), the prior's apart."""
        raise NotImplementedError

    def _log_prior_density(self) -> float:
        """log of the prior density of the parameters, up to a constant: what smoothing adds to the likelihood."""
        return 0.0

    # ---- what a subclass may replace ----

    def _check_parameters(self) -> None:
        """Refuse, before data is read, what cannot be meant."""
        check_positive("em_tol", self.em_tol)
        check_count("em_max_iter", self.em_max_iter)
        check_class_weight(self.class_weight)

    def _block_facts(self, block: Block, k: int) -> ClassFacts:
        """Facts of a block of labelled (and ignored unlabelled) rows, tile by tile."""
        if block.sparse:
            self._refuse_cells(block.X, block.start)
            members = block.members(k, slice(None))
            return ClassFacts(members.count, self._facts(block.X, members))
        total: ClassFacts | None = None
        for part in block.tiles(block.X.shape[1]):
            members, cells = block.members(k, part), block.X[part]
            self._refuse_cells(cells, block.start + part.start)
            facts = ClassFacts(members.count, self._facts(cells, members))
            total = facts if total is None else total + facts
        assert total is not None
        return total

    def _facts(self, cells: np.ndarray, members: Members) -> Any:
        raise NotImplementedError

    def _spread(self, facts: ClassFacts, index: np.ndarray, k: int) -> ClassFacts:
        """The same facts among more classes."""
        weight = np.zeros(k)
        weight[index] = facts.weight
        return ClassFacts(weight, facts.of_x.spread(index, k))

    def _solve(self, facts: ClassFacts, findings: Findings) -> tuple[float, float]:
        """Set the parameters; returns the moment residual and the mean of −log p(x | y) over the rows."""
        raise NotImplementedError


def _cross_entropy(weight: FloatArray, prior: FloatArray) -> float:
    """Σ (W_k / W) log π_k over the classes that have rows."""
    live = weight > 0
    with np.errstate(divide="ignore"):
        return float(np.sum(weight[live] / weight.sum() * np.log(prior[live])))


def _same(a: Any, b: Any) -> bool:
    try:
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return bool(np.array_equal(a, b))
        return bool(a == b)
    except (TypeError, ValueError):
        return False
