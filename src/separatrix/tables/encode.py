"""A table of mixed columns → what a model wants to see, learned in one pass (row T3).

    form        numbers                       words                       dates                     text
    "linear"    (x − mean)/sd; missing →      a column of 0 and 1 for     year, sin and cos of      tf-idf
                median, and a column of       each level, rare ones       month and weekday, days
                0 and 1 that says so          pooled in "other"           (all standardised)
    "native"    as they are, with NaN         as they are                 days; month, weekday      left out
    "counts"    whole, none negative: as      0 and 1 for each level      left out                  counts of words
                they are; others left out

Every level of rows enough keeps its column, however many there are; zeros are not stored then. Levels may be coded by
the target instead, out of fold (``levels="target"``, or kind "target" of a column), and more than 10⁵ levels of a
column are hashed (coded_levels.py).

"linear" is for linear, margin and kernel models; "native", a frame, for NaiveBayes and trees
(categorical_features="from_dtype"); "counts" for MultinomialNB and BernoulliNB. The facts for all three are learned
at once, and ``view(form)`` shows another. A level first met after training has no column: it counts as "other" where
levels were pooled, and else is 0 in every column of its variable. ``source_`` names the table's column behind each
column that comes out. Shapes: frame (n, p) → (n, q), CSR where text or many levels make it wide.
Cost: O(cells + tokens).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from separatrix.data.checks import is_count
from separatrix.data.estimator import KW_ONLY, Estimator, constructor
from separatrix.tables import learned
from separatrix.tables.cells import whole_numbers
from separatrix.tables.coded_levels import BUCKETS, HASHED_FROM, HashedColumn, TargetColumn, learn_target
from separatrix.tables.describe import said_of
from separatrix.tables.frames import as_frame
from separatrix.tables.kinds import LEFT_OUT, infer_kinds, why_out
from separatrix.tables.sources import TableError
from separatrix.tables.table import Table, lacks
from separatrix.tables.text import TextFeatures

if TYPE_CHECKING:
    import pandas as pd

FORMS = ("linear", "native", "counts")
LEVELS = ("ones", "target", "dense")
FEW_ROWS = 3  # of a level that keeps its column
DENSE_LEVELS = 100  # levels with a column each where zeros are stored
CELLS = 50_000_000  # cells beyond which zeros are not stored, if most columns are those of levels
WIDE = 500  # columns beyond which zeros are not stored, if most columns are those of levels
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@constructor
class TableEncoder(TransformerMixin, Estimator):
    """Mixed columns as a matrix for linear models, a frame for naive Bayes and trees, or counts (T3).

    Parameters
    ----------
    form : "linear", "native" or "counts": see the module
    kinds : {column: kind} where the rules of kinds.py should not decide; give a Table's ``kinds`` where parts of its
        rows are encoded apart, so that all parts agree
    standardize : numbers and dates to mean 0 and standard deviation 1 (form "linear")
    levels : "ones", columns of 0 and 1; "target", the target's shrunken mean in each level, learned out of fold; or
        "dense", "ones" up to 100 levels and "target" beyond, for models that cannot leave zeros out
    rare : levels in fewer rows than this are pooled; "auto" is 1 row in 100, at most 3
    max_levels : beyond this many levels, those most used are kept and the others pooled; None keeps all that are not
        rare, and hashes those of a column of more than 100,000
    drop : "binary" gives a variable of two levels one column, "first" leaves out each variable's most used level (the
        reference, as tables of coefficients have it), None keeps all
    text : the TextFeatures for columns of text; by default tf-idf of words in at least 2 documents, at most 50,000

    Columns coded by the target need it: ``fit(X, y)``. Rows of training have their numbers from ``fit_transform``, as
    in a pipeline: ``fit`` and then ``transform`` would show each row its own label.

    Attributes: kinds_, feature_names_in_, source_ (q,) the table's column behind each column, n_features_in_.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sky": ["sun", "rain", "sun", "snow"], "wind": [1.5, 2.5, None, 3.5]})
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['sky=rain', 'sky=snow', 'sky=sun', 'wind', 'wind is missing']
    >>> encoder.transform(frame.iloc[:1]).round(3).tolist()
    [[0.0, 0.0, 1.0, -1.414, 0.0]]
    >>> encoder.source_.tolist()
    ['sky', 'sky', 'sky', 'wind', 'wind']
    """

    _: KW_ONLY
    form: str = "linear"
    kinds: Any = None
    standardize: bool = True
    levels: str = "ones"
    rare: Any = "auto"
    max_levels: int | None = None
    drop: str | None = "binary"
    text: Any = None

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Learn levels, medians, scales and vocabularies from a frame (n, p) or a Table."""
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: ArrayLike | None = None, **fit_params: Any) -> Any:
        """fit and transform; text is scanned once."""
        frame, held = self._learn(X, y)
        return self._encoded(frame, held)

    def transform(self, X: Any) -> Any:
        """A frame with the columns of training, in any order, → the form's matrix or frame; others are left aside."""
        check_is_fitted(self, "kinds_")
        return self._encoded(self._fitting(X), {})

    def view(self, form: str) -> TableEncoder:
        """This encoder in another form; nothing is learned again."""
        check_is_fitted(self, "kinds_")
        if form not in FORMS:
            raise ValueError(f"form must be one of {', '.join(map(repr, FORMS))}, got {form!r}")
        other = copy(self)
        other.form = form
        other._set_outputs()
        return other

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The columns that come out: "column", "column=level", "column is missing", "column year", "column: word"."""
        check_is_fitted(self, "kinds_")
        return np.array(self._names, dtype=object)

    def describe(self) -> list[str]:
        """What the encoder does, a sentence a column."""
        check_is_fitted(self, "kinds_")
        used = {part.name: part for part in self._used()}
        lines = [f"{len(self.kinds_)} columns → {len(self._names)} for {self._for()}"]
        sparse = [name for name, part in used.items() if isinstance(part, learned.SparseColumn)]
        if len(sparse) > 20:
            lines.append(
                f"{len(sparse):,} columns of numbers, most of them 0: divided by their largest value"
            )
        for name, kind in self.kinds_.items():
            if name in sparse and len(sparse) > 20:
                continue
            lines.append(f"{name!r} ({kind}): {self._said(name, used.get(name))}")
        return lines

    # ------------------------------------------------------------------------------------------ learning

    def _learn(self, X: Any, y: ArrayLike | None = None) -> tuple[pd.DataFrame, dict[str, Any]]:
        self._check_parameters()
        frame = as_frame(X)
        given = {**(X.kinds if isinstance(X, Table) else {}), **(self.kinds or {})}
        self.kinds_: dict[str, str] = infer_kinds(frame, given)
        self.feature_names_in_ = np.array([str(c) for c in frame.columns], dtype=object)
        self.n_features_in_ = frame.shape[1]
        self._why = {name: why_out(frame[name], name, k) for name, k in self.kinds_.items() if k in LEFT_OUT}
        self._rows = n = len(frame)
        self._least = max(1, min(FEW_ROWS, n // 100)) if isinstance(self.rare, str) else int(self.rare)
        self._parts: list[learned.LearnedColumn] = []
        held: dict[str, Any] = {}  # of the rows of training, what need not or must not be made anew
        for name, kind in self.kinds_.items():
            column = frame[name]
            if kind in ("continuous", "discrete"):
                self._parts.append(self._numbers(name, column))
            elif kind in ("nominal", "target"):
                part, own = self._levels(name, column, kind, y)
                self._parts.append(part)
                if own is not None:
                    held[name] = own
            elif kind == "date":
                self._parts.append(learned.learn_dates(name, column))
            elif kind == "text":
                features = clone(self.text) if self.text is not None else _default_text(n)
                try:
                    held[name] = features._learn(learned.documents_of(column))
                except ValueError as error:
                    raise TableError(f"column {name!r}: {error}") from None
                self._parts.append(learned.WordColumn(name, features))
        self._set_outputs()
        return frame, held

    def _numbers(self, name: str, column: pd.Series) -> learned.LearnedColumn:
        import pandas as pd

        if isinstance(column.dtype, pd.SparseDtype) and column.dtype.fill_value == 0:
            stored = np.asarray(column.array.sp_values, dtype=float)
            if np.isfinite(stored).all():
                return learned.SparseColumn(name, float(np.max(np.abs(stored), initial=0.0)) or 1.0)
        values = learned.numbers_of(name, column)
        seen = values[~np.isnan(values)]
        if not len(seen):
            seen = np.zeros(1)
        top = float(np.max(np.abs(seen))) or 1.0  # squares of numbers near 1e300 would overflow
        filled = np.where(np.isnan(values), np.median(seen / top), values / top)
        scale = float(filled.std()) * top
        whole = bool(np.all(seen >= 0) and np.array_equal(seen, np.rint(seen)))
        gaps = int(np.isnan(values).sum())
        return learned.NumberColumn(
            name, float(np.median(seen / top)) * top, float(filled.mean()) * top, scale or 1.0, gaps, whole
        )

    def _levels(
        self, name: str, column: pd.Series, kind: str, y: ArrayLike | None
    ) -> tuple[learned.LearnedColumn, Any]:
        """What is learned of words, and of a column coded by the target the numbers of these rows."""
        import pandas as pd

        words = learned.words_of(column)
        seen = pd.Series(words).value_counts()
        gaps = int(sum(w is None for w in words))
        many = self.levels == "dense" and len(seen) > DENSE_LEVELS
        if kind == "target" or self.levels == "target" or many:
            return learn_target(name, words, y)
        if self.max_levels is None and len(seen) > HASHED_FROM:
            return HashedColumn(name, BUCKETS, len(seen), gaps), None
        order = sorted(seen.index, key=lambda level: (-int(seen[level]), level))
        kept = [level for level in order if seen[level] >= self._least][: self.max_levels]
        pooled = len(order) - len(kept)
        alone = self.drop == "binary" and len(kept) == 2 and not pooled and not gaps
        reference = kept[0] if kept and (self.drop == "first" or alone) else None
        return learned.LevelColumn(name, tuple(sorted(kept)), pooled, gaps, reference), None

    def _set_outputs(self) -> None:
        """The names of what comes out, and where each comes from."""
        names, sources = [], []
        for part in self._used():
            mine = (
                [part.name]
                if self.form == "native" and not isinstance(part, learned.DateColumn)
                else part.names()
            )
            if self.form == "native" and isinstance(part, learned.DateColumn):
                mine = [f"{part.name} {what}" for what in ("days", "month", "weekday")]
            if self.form == "counts" and isinstance(part, learned.NumberColumn):
                mine = [part.name]
            names += mine
            sources += [part.name] * len(mine)
        if not names:
            left = ", ".join(f"{name!r} ({kind})" for name, kind in list(self.kinds_.items())[:8])
            raise TableError(
                f"no column is left for {self._for()}: {left}; say what the columns are by kinds="
            )
        self._names, self.source_ = names, np.array(sources, dtype=object)

    def _used(self) -> list[learned.LearnedColumn]:
        """The parts that this form shows."""
        if self.form == "linear":
            return self._parts
        if self.form == "native":
            return [part for part in self._parts if not isinstance(part, learned.WordColumn)]
        return [
            part
            for part in self._parts
            if isinstance(part, (learned.LevelColumn, HashedColumn, learned.WordColumn, learned.SparseColumn))
            or (isinstance(part, learned.NumberColumn) and part.whole and not part.gaps)
        ]

    # ------------------------------------------------------------------------------------------ encoding

    def _fitting(self, X: Any) -> pd.DataFrame:
        """The frame with the columns of training; refused by naming those it lacks."""
        frame = as_frame(X)
        known = set(self.kinds_)
        wanted = [part.name for part in self._parts]  # what is left out may be absent
        lacking = [name for name in wanted if name not in frame.columns]
        if lacking:
            raise TableError(lacks("the frame", lacking, [str(c) for c in frame.columns if c not in known]))
        return frame

    def _encoded(self, frame: pd.DataFrame, held: Mapping[str, Any]) -> Any:
        if self.form == "native":
            return self._native(frame)
        blocks: list[Any] = []
        used = self._used()
        neighbours = (
            list(run) for _, run in groupby(used, lambda part: isinstance(part, learned.SparseColumn))
        )
        runs = {run[0].name: run for run in neighbours if isinstance(run[0], learned.SparseColumn)}
        for part in used:
            column = frame[part.name]
            if isinstance(part, learned.NumberColumn):
                values = learned.numbers_of(part.name, column)
                if self.form == "counts":
                    blocks.append(learned.counts_of(part.name, values)[:, None])
                else:
                    blocks.append(part.columns(values, self.standardize))
            elif isinstance(part, (learned.LevelColumn, HashedColumn)):
                blocks.append(part.columns(*learned.coded(column)))
            elif isinstance(part, TargetColumn):
                known = held.get(part.name)
                scaled = self.standardize
                blocks.append(
                    part.columns(*learned.coded(column), scaled)
                    if known is None
                    else part.scaled(known, scaled)
                )
            elif isinstance(part, learned.DateColumn):
                blocks.append(part.columns(learned.moments_of(part.name, column), self.standardize))
            elif isinstance(part, learned.WordColumn):
                features, bag = self._weighed(part), held.get(part.name)
                if bag is None:
                    blocks.append(features.transform(learned.documents_of(column)))
                else:
                    blocks.append(features._weighted(bag.copy()))
            elif part.name in runs:  # side by side they were one matrix: read them as one
                run: Any = runs[part.name]
                blocks.append(learned.sparse_block(frame, run, self.form == "linear" and self.standardize))
        dense = sum(block.shape[1] for block in blocks if isinstance(block, np.ndarray))
        if self.form == "counts" or self._is_wide(used, dense):
            return sp.csr_matrix(sp.hstack([sp.csr_matrix(b) for b in blocks], format="csr"))
        out = np.zeros((len(frame), len(self._names)))
        at = 0
        for block in blocks:
            here = out[:, at : at + block.shape[1]]
            if isinstance(block, np.ndarray):
                here[:] = block
            else:
                here[np.repeat(np.arange(len(here)), np.diff(block.indptr)), block.indices] = block.data
            at += block.shape[1]
        return out

    def _is_wide(self, used: list[learned.LearnedColumn], dense: int) -> bool:
        """Whether zeros are left out: decided by the table of training, ``dense`` of whose columns have few."""
        if any(isinstance(p, (learned.WordColumn, learned.SparseColumn)) for p in used):
            return True
        if self.levels == "dense":
            return False
        q = len(self._names)
        return q > max(WIDE, 2 * dense) or (q * getattr(self, "_rows", 0) > CELLS and q > 4 * dense)

    def _weighed(self, part: learned.WordColumn) -> TextFeatures:
        """The bag of words as this form weighs it."""
        features: TextFeatures = copy(part.features)
        features.weighting = "counts" if self.form == "counts" else part.features.weighting
        return features

    def _native(self, frame: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        out: dict[str, Any] = {}
        for part in self._used():
            column = frame[part.name]
            if isinstance(part, (learned.NumberColumn, learned.SparseColumn)):
                values = learned.numbers_of(part.name, column)
                out[part.name] = whole_numbers(values)
            elif learned.holds_levels(part):
                words = learned.words_of(column)
                if isinstance(part, learned.LevelColumn) and (kept := {None, *self._shown(part)}) != {None}:
                    words = np.array([w if w in kept else part.other for w in words], dtype=object)
                out[part.name] = words
            elif isinstance(part, learned.DateColumn):
                moments = learned.moments_of(part.name, column)
                empty = np.isnat(moments)
                numbers = learned.date_parts(moments, 0)  # since 1970: 0 would look like the edge of a family
                out[f"{part.name} days"] = np.where(empty, np.nan, numbers["days"])
                for what, spelling in (("month", MONTHS), ("weekday", DAYS)):
                    at = np.where(empty, 0, numbers[f"_{what}"]).astype(int)
                    cells = np.array(spelling, dtype=object)[at]
                    cells[empty] = None
                    out[f"{part.name} {what}"] = cells
        return pd.DataFrame(out, index=frame.index)

    def _shown(self, part: learned.LevelColumn) -> tuple[str, ...]:
        """The levels that the native form shows where ``max_levels`` pools the others; none: it shows all."""
        most = self.max_levels
        return part.levels if most is not None and part.pooled and len(part.levels) >= most else ()

    # ------------------------------------------------------------------------------------------ words

    def _for(self) -> str:
        read_by = ("linear models", "naive Bayes and trees", "naive Bayes on counts")
        return dict(zip(FORMS, read_by))[self.form]

    def _said(self, name: str, part: learned.LearnedColumn | None) -> str:
        if part is not None:
            return said_of(self, part)
        why = self._why.get(name)
        return f"left out, as {self._for()} do not read it" if why is None else f"left out ({why})"

    def _check_parameters(self) -> None:
        if self.form not in FORMS:
            raise ValueError(f"form must be one of {', '.join(map(repr, FORMS))}, got {self.form!r}")
        if self.drop not in ("binary", "first", None):
            raise ValueError(f'drop must be "binary", "first" or None, got {self.drop!r}')
        auto = isinstance(self.rare, str) and self.rare == "auto"
        if not auto and (
            isinstance(self.rare, bool) or not isinstance(self.rare, (int, np.integer)) or self.rare < 1
        ):
            raise ValueError(f'rare must be "auto" or a whole number of rows, got {self.rare!r}')
        if self.max_levels is not None and not (is_count(self.max_levels) and self.max_levels >= 1):
            raise ValueError(f"max_levels must be None or a whole number above 0, got {self.max_levels!r}")
        if self.levels not in LEVELS:
            raise ValueError(f"levels must be one of {', '.join(map(repr, LEVELS))}, got {self.levels!r}")
        if self.text is not None and not isinstance(self.text, TextFeatures):
            raise ValueError(f"text must be a TextFeatures, got {type(self.text).__name__}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags


def _default_text(n: int) -> TextFeatures:
    return TextFeatures(weighting="tf-idf", min_df=2 if n >= 100 else 1, max_features=50_000)


def encoder_for(reads: str, kinds: Mapping[str, str]) -> TableEncoder:
    """The encoder for models that read "native", "linear" or "counts"; or "dense": as "linear", zeros stored.

    >>> encoder_for("dense", {}).get_params()["levels"]
    'dense'
    """
    if reads == "dense":
        return TableEncoder(levels="dense", kinds=dict(kinds))
    return TableEncoder(form=reads, kinds=dict(kinds))
