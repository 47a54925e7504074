"""The outcome of a comparison: a ranking with intervals, which differences are real, and the models themselves.

A table to print, sentences, a frame, a picture, HTML; the statistics are those of ranking.py. Notes [726]. Row V1.
Cost: that of the fits asked for.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.words import joined
from separatrix.data.extras import data_frame, pyplot
from separatrix.inference.summary import Summary
from separatrix.judge.alerts import Alert
from separatrix.judge.contest import FLOORS, FoldResult
from separatrix.judge.folds import Split
from separatrix.judge.plan import Plan
from separatrix.judge.ranking import Difference
from separatrix.judge.reasons import rows_in_words
from separatrix.judge.refits import Refits
from separatrix.judge.scores import METRICS, Interval, digits, metrics_of
from separatrix.judge.standing import BEHIND, Standing
from separatrix.judge.threshold import Threshold
from separatrix.models.sets import of_folds
from separatrix.models.threshold import with_threshold

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = ("log_loss", "accuracy", "auc", "calibration_error")
LABELS = {"calibration_error": "calib."}  # with them the table fits into 80 columns
WIDTH = 80
CLIP = 160  # characters of why a model failed
MARKS = {"serious": "#D55E00", "warning": "#E69F00", "note": "#777777"}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison:
    """What :func:`~separatrix.compare` finds; it prints as a ranked table.

    Attributes
    ----------
    metric : by which models are ranked
    ranking : names, best first
    scores : name → metric → Interval (mean, low, high): log_loss, accuracy, auc, calibration_error, brier, error,
        cost (NaN without a cost), seconds (of one fit)
    folds : FoldResult of every (model, split) that counts: scores, seconds, answers, probabilities, rows
    splits : Split (repeat, fold, train, test) of each
    used : numbers of the splits that the best was judged on
    standing : name → Standing: the folds and rows that a model was judged on, and why they are not all
    plan : Plan of what ran; ``compare(…, plan=found.plan)`` runs it again to the same numbers
    more : what a larger budget could change, a sentence or nothing
    floor_only : whether nothing but the classes' shares could be fitted
    theirs : names of models that are scikit-learn's
    threshold : of the winner's probability, chosen out of fold; None where none was asked for
    order : of classes that have one, from the lowest to the highest
    task : "classification", "ordinal" or "regression"; of numbers ``codes`` are those, and there are no classes
    positive : the class of two that precision, recall and F₁ are of; None of more
    differences : Difference of each other model from the best
    models : name → fitted to all rows; the best is ready, others are fitted when asked for
    tested : name → metric → Interval on the rows given as ``test``; empty without
    alerts : what is odd about the table
    cut : name → why it has no score, in words
    reasons : name → "time", "unsuited" or "failed", of those
    titles : name → in words
    classes, codes : the labels, and the number (n,) of each row's
    cost : (K, K) or None
    level : confidence of the intervals
    seconds, budget : in all, and allowed
    interrupted : whether Ctrl-C cut it short
    warned : (category, the model and the first text, how often) of warnings while fitting to the folds; those that
        name a row are left out: its number is its place in the fold
    seed : of folds and models (``random_state``); with it and the ``plan`` the same table gives the same numbers
    remarks : sentences on what the models saw
    """

    metric: str
    ranking: tuple[str, ...]
    scores: Mapping[str, Mapping[str, Interval]]
    folds: tuple[FoldResult, ...]
    splits: tuple[Split, ...]
    used: tuple[int, ...]
    differences: tuple[Difference, ...]
    models: Refits
    tested: Mapping[str, Mapping[str, Interval]]
    alerts: tuple[Alert, ...]
    cut: Mapping[str, str]
    titles: Mapping[str, str]
    classes: np.ndarray
    codes: np.ndarray
    cost: FloatArray | None
    level: float
    seconds: float
    budget: float | None
    interrupted: bool
    warned: tuple[tuple[type[Warning], str, int], ...]
    seed: int
    reasons: Mapping[str, str]
    standing: Mapping[str, Standing]
    plan: Plan
    more: str = ""
    floor_only: bool = False
    theirs: tuple[str, ...] = ()
    threshold: Threshold | None = None
    task: str = "classification"
    order: tuple[Any, ...] | None = None
    positive: Any = None
    remarks: tuple[str, ...] = ()

    @property
    def best(self) -> str:
        """The name of the first in the ranking."""
        return self.ranking[0]

    @property
    def best_model(self) -> Any:
        """The best, fitted to all rows; it knows its sets (`predict_set`) by its scores out of fold, and answers by
        the threshold, where one was chosen.
        """
        model = self.models[self.best]
        if self.best not in self.models.told and self.task != "regression":
            self.models.told.add(self.best)
            if (held := self._out_of_fold(self.best, model)) is not None:
                model.conformal_ = held
        return (
            model
            if self.threshold is None
            else with_threshold(model, self.threshold.value, self.threshold.positive)
        )

    def _out_of_fold(self, name: str, model: Any) -> dict[str, Any] | None:
        """How likely each row's own class was where the row was not fitted to; of several repetitions the first."""
        P = np.full((len(self.codes), len(self.classes)), np.nan)
        for result in sorted((r for r in self.folds if r.model == name), key=lambda r: r.split):
            if result.P is None or not hasattr(model, "predict_proba"):
                return None
            first = np.isnan(P[result.test]).any(axis=1)
            P[result.test[first]] = result.P[first]
        return of_folds(np.asarray(self.classes).tolist(), self.codes, P, model)

    @property
    def equals(self) -> tuple[str, ...]:
        """The best, and the models that were followed to the end and cannot be told from it."""
        return (
            self.best,
            *(d.model for d in self.differences if not d.real and not self._left_behind(d.model)),
        )

    def _left_behind(self, name: str) -> bool:
        """Whether it was far behind on the way, so that it has too few folds or rows for a test that tells."""
        return self.standing[name].kind in BEHIND

    def out_of_fold(self, name: str | None = None, repeat: int = 0) -> tuple[np.ndarray, FloatArray]:
        """Rows (m,) and P (m, K) of a model (default the best) in a repetition, by fits that have not seen the row.

        For calibration, confusion and ROC curves, and the worst mistakes. Of numbers: rows and ŷ (m,).
        """
        name = self.best if name is None else name
        own = [r for r in self.folds if r.model == name and self.splits[r.split].repeat == repeat]
        if self.task == "regression":
            rows = np.concatenate([r.test for r in own])
            order = np.argsort(rows, kind="stable")
            return rows[order], np.concatenate([r.predicted for r in own])[order]
        known = [(r, r.P) for r in own if r.P is not None]
        if not known:
            raise ValueError(f"{name!r} has no probabilities in repetition {repeat}")
        rows = np.concatenate([r.test for r, _ in known])
        P = np.vstack([p for _, p in known])
        order = np.argsort(rows, kind="stable")
        return rows[order], P[order]

    def confusion(self, name: str | None = None) -> Any:
        """Counts of (true class, answer) over the rows of the first repetition, as a frame."""
        if self.task == "regression":
            raise ValueError("numbers have no confusion: ask for out_of_fold()")
        name = self.best if name is None else name
        table = np.zeros((len(self.classes), len(self.classes)), dtype=int)
        for r in self.folds:
            if r.model == name and self.splits[r.split].repeat == 0:
                np.add.at(table, (r.codes, r.predicted), 1)
        labels = [str(c) for c in self.classes.tolist()]
        return data_frame({label: table[:, k] for k, label in enumerate(labels)}, labels)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the scores there are; cost only where one was given."""
        of = "numbers" if self.task == "regression" else "classes"
        return tuple(m for m in metrics_of(of) if m != "cost" or self.cost is not None)

    def _score(self, name: str, metric: str) -> Interval:
        """The score with its interval cut to what it can be."""
        found = self.scores[name][metric]
        return METRICS[metric].inside(found) if metric in METRICS else found

    # ---- to look at ----

    def to_frame(self, what: str = "table") -> Any:
        """A pandas DataFrame: "table" (a row a model), "folds" (a row a model and fold) or "differences"."""
        if what == "table":
            columns: dict[str, Any] = {}
            for name in (*self.metrics, "seconds"):
                rows = [self._score(m, name) for m in self.ranking]
                columns[name] = [r.mean for r in rows]
                columns[f"{name}_low"] = [r.low for r in rows]
                columns[f"{name}_high"] = [r.high for r in rows]
            real = {d.model: d.real for d in self.differences}
            columns["worse"] = [real.get(m, False) for m in self.ranking]
            columns["folds"] = [self.standing[m].folds for m in self.ranking]
            columns["rows"] = [self.standing[m].trained for m in self.ranking]
            columns["tuned"] = [self.standing[m].tuned for m in self.ranking]
            return data_frame(columns, self.ranking)
        if what == "folds":
            own = sorted(self.folds, key=lambda r: (r.split, r.model))
            places = [self.splits[r.split] for r in own]
            columns = {"model": [r.model for r in own], "repeat": [s.repeat for s in places]}
            columns |= {"fold": [s.fold for s in places], "n_train": [r.rows for r in own]}
            columns |= {"n_test": [len(r.test) for r in own], "tuned": [r.tuned for r in own]}
            columns |= {m: [r.scores[m] for r in own] for m in self.metrics}
            columns["seconds"] = [r.seconds for r in own]
            return data_frame(columns, range(len(own)))
        if what == "differences":
            names = ("best", "mean", "low", "high", "t", "p", "p_holm", "real")
            columns = {name: [getattr(d, name) for d in self.differences] for name in names}
            return data_frame(columns, [d.model for d in self.differences])
        raise ValueError(f'there is no frame {what!r}: ask for "table", "folds" or "differences"')

    def table(self) -> Summary:
        """As a table to print, best first: each score with half the width of its interval."""
        usual = self.metrics if self.task == "regression" else SHOWN
        shown = [self.metric, *(m for m in usual if m != self.metric)][: len(SHOWN)]
        columns: dict[str, FloatArray] = {}
        formats, labels = {}, {}
        for name in shown:
            metric = METRICS[name]
            rows = [self.scores[m][name] for m in self.ranking]
            columns[name] = np.array([r.mean for r in rows])
            places = max(digits(r, metric.places) for r in rows)
            labels[name], formats[name] = LABELS.get(name, metric.title), f".{places}f"
            if name != shown[-1] or len(shown) < len(SHOWN):
                halves = np.array([r.half for r in rows])  # one that would read as 0.000 is not written
                columns[f"{name} ±"] = np.where(halves < 0.5 * 10.0**-places, np.nan, halves)
                labels[f"{name} ±"], formats[f"{name} ±"] = "±", formats[name]
        if len({self.standing[m].folds for m in self.ranking}) > 1:
            columns["folds"] = np.array([float(self.standing[m].folds) for m in self.ranking])
            formats["folds"], labels["folds"] = ".0f", "folds"
        else:
            columns["seconds"] = np.array([self.scores[m]["seconds"].mean for m in self.ranking])
            formats["seconds"], labels["seconds"] = ".3f", "s/fit"
        index = tuple(self.titles[m] if len(m) > 24 else m for m in self.ranking)
        n = len(self.codes)
        header = (
            ("Rows", f"{n:,}" + (f", {len(self.classes)} classes" if len(self.classes) else "")),
            ("Ranked by", METRICS[self.metric].title),
            ("Judged on", self._judged_on()),
            ("Time", f"{self.seconds:.1f} s" + (f" of {self.budget:g} s" if self.budget else "")),
        )
        return Summary(
            "Models compared by cross-validation", header, index, columns, self.notes, formats, labels
        )

    def _judged_on(self) -> str:
        same = all(self.standing[m].folds == len(self.used) and self.standing[m].whole for m in self.ranking)
        many = f"{len(self.used)} fold{'s' * (len(self.used) != 1)}"
        return f"the same {many}, seed {self.seed}" if same else f"{many} of the best, seed {self.seed}"

    def text(self, width: int = WIDTH) -> str:
        """The table, and its notes wrapped to ``width`` columns."""
        lines = [str(replace(self.table(), notes=()))]
        for note in self.notes:
            lines += textwrap.wrap(note, max(width, 40), break_long_words=False, break_on_hyphens=False)
        return "\n".join(lines)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which differences are real, what was cut and why, in sentences."""
        share = f"{self.level * 100:g} %"
        said = [
            f"± is half of a {share} interval of the mean over folds (corrected resampled t; of fewer than a "
            "repetition, by the rows judged)"
            + ("" if self.task == "regression" else "; calib. is the calibration error")
            + "."
        ]
        said += self.verdict
        said += [f"The threshold of {self.best} says {self.threshold}."] if self.threshold is not None else []
        if self.tested:
            said.append(self._on_test())
            late = [m for m in self.ranking if m not in self.tested]
            said += [f"No time was left to judge {joined(late)} on the test rows."] if late else []
        said += [*self.remarks, *self.partly, *self._not_ranked()]
        said += [self.more] if self.more else []
        if self.interrupted:
            said.append("Interrupted: the table is of what was finished.")
        for kind, text, times in self.warned:
            said.append(f"{text} ({kind.__name__}{f', {times} times' if times > 1 else ''})")
        return tuple(said)

    @property
    def partly(self) -> list[str]:
        """Who was judged on fewer folds or rows, and why, in sentences."""
        groups: dict[tuple[str, str], list[str]] = {}
        for m in self.ranking:
            own = self.standing[m]
            if not own.whole and m not in FLOORS:
                groups.setdefault((own.words, "" if own.kind == "rows" else own.kind), []).append(m)
        said = []
        for (words, kind), names in groups.items():
            was = "was" if len(names) == 1 else "were"
            far = ": behind there, so they were not followed further" if kind in BEHIND else ""
            far = far.replace("they were", "it was") if len(names) == 1 else far
            said.append(f"{joined(names)} {was} judged on {words}{far}.")
        said += [f"{m} {textwrap.shorten(s.why, CLIP, placeholder=' …')}." for m, s in self.standing.items()
                 if s.kind == "failed"]  # fmt: skip
        said += [f"{m}: {textwrap.shorten(s.why, CLIP, placeholder=' …')}." for m, s in self.standing.items()
                 if s.kind in ("rows", "late")]  # fmt: skip
        if self.standing[self.best].rows < self.standing[self.best].of_rows:
            few = rows_in_words(self.standing[self.best].rows, self.standing[self.best].of_rows)
            said.append(f"The model kept, {self.best}, is fitted to {few}.")
        tuned = [m for m in self.ranking if self.standing[m].tuned]
        said += (
            [f"Tuned inside each fold: {joined(tuned)}; the others have their usual settings."]
            if tuned
            else []
        )
        if self.best in self.theirs:
            own_best = self.best_of_ours
            named = f"; the best of ours is {own_best}" if own_best else ""
            said.append(f"{self.best} is scikit-learn's, tried as a yardstick{named}.")
        return said

    @property
    def floor_words(self) -> str:
        return "the mean" if self.task == "regression" else "the classes' shares"

    @property
    def best_of_ours(self) -> str | None:
        """The first in the ranking that is a model of this library; None where there is none but the floor."""
        return next((m for m in self.ranking if m not in self.theirs and m not in FLOORS), None)

    def _on_test(self) -> str:
        """The scores on the test rows, the best model's with its interval."""
        metric = METRICS[self.metric]
        places = f".{metric.places}f"
        (name, scores), *others = self.tested.items()
        found = scores[self.metric]
        parts = [f"{name} {found.mean:{places}} ({found.low:{places}} to {found.high:{places}})"]
        parts += [f"{m} {scores[self.metric].mean:{places}}" for m, scores in others]
        return f"On the test rows, {metric.title}: {', '.join(parts)}."

    def _not_ranked(self) -> list[str]:
        """Who is missing, by the reason: time, the kind of table, a failure."""
        of = {
            why: [m for m in self.cut if self.reasons.get(m) == why] for why in ("time", "unsuited", "failed")
        }
        late: dict[str, list[str]] = {}
        for m in of["time"]:
            late.setdefault(self.cut[m], []).append(m)
        said = [f"No score of {joined(names)}: {why}." for why, names in late.items()]
        groups: dict[str, list[str]] = {}
        for m in of["unsuited"]:
            groups.setdefault(self.cut[m], []).append(m)
        if groups:
            said.append(
                f"Not suited to this table: {'; '.join(f'{joined(g)} ({why})' for why, g in groups.items())}."
            )
        said += [f"{m} {textwrap.shorten(self.cut[m], CLIP, placeholder=' …')}." for m in of["failed"]]
        return said

    @property
    def verdict(self) -> list[str]:
        """Which differences are real, in one or two sentences."""
        if self.floor_only:
            return [
                f"Nothing but {self.floor_words} could be fitted, which says nothing of any row: give more seconds."
            ]
        if not self.differences:
            return [f"{self.best} alone was ranked."]
        real = [d.model for d in self.differences if d.real]
        same = list(self.equals[1:])
        by = METRICS[self.metric].title
        said = []
        floor = next((d for d in self.differences if d.model in FLOORS and d.mean < 0), None)
        if floor is not None:
            said.append(
                f"No model does better than {self.floor_words} ({floor.model}), by {abs(floor.mean):.3g} of {by}: "
                "the columns may say nothing of the target."
            )
            same = [m for m in same if m not in FLOORS]
        if same:
            said.append(
                f"{self.best} comes first by {by}, but {joined(same)} cannot be told from it: the folds differ more "
                "than they do."
            )
        if real:
            said.append(
                f"Really worse than {self.best}: {joined(real)} (corrected resampled t-test, Holm, at "
                f"{1 - self.level:.2g})."
            )
        return said

    def plot(self, ax: Axes | None = None) -> Any:
        """A dot and its interval for each model, best on top; hollow where it cannot be told from the best.

        Draws on ``ax`` (default a new figure) with matplotlib, and returns it.
        """
        if ax is None:
            _, ax = pyplot().subplots(figsize=(7, 0.9 + 0.38 * len(self.ranking)), layout="constrained")
        real = {d.model for d in self.differences if d.real}
        top = self._score(self.best, self.metric)
        if np.isfinite(top.low):
            ax.axvspan(top.low, top.high, color="#0072B2", alpha=0.10, linewidth=0)
        for place, name in enumerate(self.ranking):
            found = self._score(name, self.metric)
            ink = "#0072B2" if name == self.best else "#777777" if name in real else "#222222"
            if np.isfinite(found.low):
                ax.plot([found.low, found.high], [place, place], color=ink, linewidth=1.6)
            full = name == self.best or name in real
            inside = ink if full else "white"
            ax.plot(found.mean, place, "o", color=ink, markerfacecolor=inside, markersize=7, zorder=3)
        ax.set_yticks(range(len(self.ranking)), [self.titles[m] for m in self.ranking])
        ax.invert_yaxis()
        metric = METRICS[self.metric]
        ax.set_xlabel(
            f"{metric.title} ({'more' if metric.higher else 'less'} is better), {len(self.used)} folds"
        )
        ax.grid(axis="x", color="#dddddd", linewidth=0.7)
        ax.set_axisbelow(True)
        return ax

    def __str__(self) -> str:
        said = "\n".join(f"{alert}" for alert in self.alerts)
        return f"{said}\n\n{self.text()}" if said else self.text()

    __repr__ = __str__

    def to_html(self) -> str:
        """Alerts and the table as HTML on its own."""
        items = "".join(
            f"<li style='border-left:.3em solid {MARKS[a.severity]};padding:.1em .6em;margin:.2em 0;list-style:none'>"
            f"<strong>{html.escape(a.severity)}</strong> {html.escape(a.sentence)}</li>"
            for a in self.alerts
        )
        above = f"<ul style='font-family:sans-serif;padding:0;max-width:60em'>{items}</ul>" if items else ""
        return above + self.table().to_html()

    _repr_html_ = to_html
