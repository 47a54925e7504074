"""``separatrix explain``: what each column adds to the log-odds of one row, or to its probability (row O4).

    log P(k|x)/P(r|x) = s₀ + Σ_j f_j(x_j),     f_j(x_j) = s(x_j alone moved from the usual cells) − s₀

Exact for models whose log-odds is a sum over columns, tested on the row and on others of the table; of other models
it is said that there is no such sum. The usual cell is the median, or the most frequent one (show/additive.py). Words
of a text, and columns of which there are many, are told apart after encoding, from a row of zeros. Of all other
models (trees, forests, kernel machines) it is the probability, by Shapley values against rows of the table:

    P(k|x) = mean_b P(k|b) + Σ_j φ_j         (judge/shapley.py: exact of trees and of few columns, else with errors)

Cost: the prediction of p rows, and of 20p others for the test; of Shapley values some thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from separatrix.app.errors import OK, AppError, UsageError, unknown
from separatrix.app.kept import Kept, open_model
from separatrix.app.say import Say

if TYPE_CHECKING:
    import pandas as pd

WIDE = 300  # columns beyond which parts are told apart after encoding
CHECKED = 20  # other rows on which the sum is tested
AT_ONCE = 500  # dense rows after encoding
BEHIND = 100  # rows that Shapley values are against


@dataclass(frozen=True)
class ShownPart:
    """A column, its cell as it is shown, what it adds, and the standard error of that where it is estimated."""

    column: str
    cell: str
    adds: float
    error: float | None = None


@dataclass(frozen=True)
class Explained:
    """``start`` + Σ of the ``parts`` is ``total``, log-odds or a probability (``of``); ``how`` says what the start
    is.
    """

    start: float
    parts: list[ShownPart]
    total: float
    how: str
    of: str = "log-odds"


def run(
    model_file: str,
    data: str,
    row: int,
    label: str | None,
    against: str | None,
    top: int,
    delimiter: str | None,
    say: Say,
) -> int:
    if row < 1:
        raise UsageError(f"--row {row}: rows are counted from 1")
    kept = open_model(model_file, say)
    if not hasattr(kept.model, "predict_proba"):
        raise AppError(
            f"{model_file}: {kept.name} has no probabilities, so there are no log-odds to explain; fit another "
            "model, such as logistic"
        )
    pool, one = _rows(kept, data, row, delimiter)
    P = np.asarray(kept.model.predict_proba(one))[0]
    k, r = _classes(kept, P, label, against)
    names = [str(c) for c in kept.classes.tolist()]
    try:
        found = explained(kept, pool, one, k, r)
    except NotAdditive as error:
        if against is not None:
            raise AppError(
                f"{kept.path}: the log-odds of {kept.name} is no sum over columns ({error}), so that two "
                f"classes have no "
                "explanation against each other; leave out --against, and the probability is explained"
            ) from None
        found = _by_shares(kept, pool, one, k)
    base, how = found.start, found.how
    answer = names[int(P.argmax())]
    total = base + sum(p.adds for p in found.parts)
    parts = sorted(found.parts, key=lambda p: -abs(p.adds))
    chance = ", ".join(f"P({names[c]}) = {P[c]:.6g}" for c in ((k, r) if len(names) > 2 else (k,)))
    whole = found.of == "log-odds"
    say.result(f"row {row} of {data}: {answer}   {chance}", "bold")
    what = (
        f"log-odds of {names[k]} against {names[r]}: {total:+.6g}" if whole else f"P({names[k]}): {total:.6g}"
    )
    say.result(f"{what}, the sum of")
    wide = max([len("start"), *(len(f"{p.column} = {p.cell}"[:60]) for p in parts[:top])])
    say.result(f"  {'start':<{wide}}  {base:+10.4f}   ({how})")
    for part in parts[:top]:
        unsure = "" if part.error is None else f"   ± {part.error:.4f}"
        say.result(f"  {f'{part.column} = {part.cell}'[:60]:<{wide}}  {part.adds:+10.4f}{unsure}")
    if len(parts) > top:
        rest = sum(p.adds for p in parts[top:])
        say.result(f"  {f'{len(parts) - top} others':<{wide}}  {rest:+10.4f}")
    say.data(
        {
            "model": model_file,
            "source": data,
            "row": row,
            "predicted": answer,
            "class": names[k],
            "against": names[r] if whole else None,
            "of": found.of,
            "how": how,
            "start": base,
            "parts": [_as_data(p) for p in parts],
            "log_odds": found.total if whole else None,
            "sum": total,
            "probabilities": dict(zip(names, P.tolist())),
        }
    )
    return OK


def _as_data(part: ShownPart) -> dict[str, Any]:
    made: dict[str, Any] = {"column": part.column, "cell": part.cell, "adds": part.adds}
    return made if part.error is None else {**made, "error": part.error}


def _rows(kept: Kept, data: str, row: int, delimiter: str | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(rows to take usual cells from, the row asked for); reads no further than the row."""
    seen, pool = 0, None
    for piece in kept.pieces(data, delimiter=delimiter):
        pool = piece if pool is None else pool
        if row <= seen + len(piece):
            return pool, piece[row - 1 - seen : row - seen]
        seen += len(piece)
    raise AppError(f"{data}: there is no row {row:,}, as it has {seen:,}; rows are counted from 1")


def _classes(kept: Kept, P: np.ndarray, label: str | None, against: str | None) -> tuple[int, int]:
    names = [str(c) for c in kept.classes.tolist()]
    for asked in (label, against):
        if asked is not None and asked not in names:
            raise UsageError(unknown("class", asked, names))
    order = np.argsort(-P, kind="stable").tolist()
    k = names.index(label) if label is not None else next(c for c in order if names[c] != against)
    r = names.index(against) if against is not None else next(c for c in order if c != k)
    if k == r:
        raise UsageError(f"--class and --against are both {names[k]!r}; name two classes")
    return k, r


class NotAdditive(Exception):
    """The log-odds of the model is no sum over columns; the message says why."""


def explained(kept: Kept, pool: Any, one: Any, k: int, r: int) -> Explained:
    """The log-odds of one row; a model whose log-odds is no sum is refused by :class:`NotAdditive`."""
    from separatrix.show.additive import score_of
    from separatrix.show.report_parts.sums import NotASum

    classes = kept.classes.tolist()
    steps = getattr(kept.model, "named_steps", {})
    encoder: Any = steps.get("columns")
    texts = kept.schema is not None and "text" in kept.schema.kinds.values()
    encoded = encoder is not None and len(steps) == 2 and (texts or np.shape(one)[1] > WIDE)
    subject = steps["model"] if encoded else kept.model
    try:
        if encoded:
            seen = encoder.transform(pool[:CHECKED])
            return _by_words(encoder, score_of(subject, classes[k], classes[r], seen)[0], one)
        score = score_of(subject, classes[k], classes[r], pool)[0]
        return _by_columns(score, pool, one)
    except (TypeError, NotASum) as error:
        raise NotAdditive(str(error).rstrip(".")) from None


def _by_shares(kept: Kept, pool: Any, one: Any, k: int) -> Explained:
    """The probability of class k of one row, by Shapley values against rows of the table."""
    from separatrix.judge.shapley import contributions
    from separatrix.show.report_parts.answers import take

    others = np.sort(np.random.default_rng(0).permutation(len(pool))[:BEHIND])
    try:
        found = contributions(kept.model, one, take(pool, others))
    except (TypeError, ValueError) as error:
        raise AppError(f"{kept.path}: no explanation by columns of {kept.name}: {error}") from None
    errors = None if found.error is None else found.error[0, :, k]
    cells = one.iloc[0].tolist() if hasattr(one, "iloc") else one[0].tolist()
    parts = [
        ShownPart(name, _shown(cell), float(adds), None if errors is None else float(errors[j]))
        for j, (name, cell, adds) in enumerate(zip(found.names, cells, found.adds[0, :, k]))
    ]
    how = f"its mean over {len(others)} rows of the table; Shapley values, {found.how}"
    if errors is not None:
        how += "; ± is the standard error"
    return Explained(float(found.base[k]), parts, float(found.output[0, k]), how, "probability")


def _by_columns(score: Callable[[Any], Any], pool: Any, one: Any) -> Explained:
    from separatrix.show.additive import MISS, Additive, worst_miss
    from separatrix.show.reading import table_of
    from separatrix.show.report_parts.answers import take
    from separatrix.show.report_parts.sums import NotASum

    table = table_of(pool)
    start = float(score(table.rows(1, {}))[0])
    found = Additive(table, score, start)
    others = take(pool, np.unique(np.linspace(0, len(pool) - 1, CHECKED).astype(int)))
    terms = np.vstack([found.terms(rows) for rows in (one, others)])
    seen = np.concatenate([score(rows) for rows in (one, others)])
    if not (np.isfinite(start) and np.isfinite(terms).all() and np.isfinite(seen).all()):
        raise NotASum("a probability of it is exactly 0 or 1, whose log-odds is infinite")
    if worst_miss(terms, start, seen)[2] > MISS:
        raise NotASum("its log-odds is not a sum over columns")
    cells = one.iloc[0].tolist() if hasattr(one, "iloc") else one[0].tolist()
    parts = [ShownPart(name, _shown(cell), float(t)) for name, cell, t in zip(table.names, cells, terms[0])]
    return Explained(start, parts, float(seen[0]), "a row of usual cells: medians, most frequent words")


def _by_words(encoder: Any, score: Callable[[Any], Any], one: Any) -> Explained:
    from separatrix.show.report_parts.pieces import entries

    row = encoder.transform(one)

    def of_dense(Z: Any) -> Any:  # a model of dense rows, or of a frame, is asked with such
        blocks = (Z[a : a + AT_ONCE].toarray() for a in range(0, Z.shape[0], AT_ONCE))
        if hasattr(row, "columns"):
            blocks = (type(row)(block, columns=row.columns) for block in blocks)
        return np.concatenate([score(block) for block in blocks])

    found = entries(score if sp.issparse(row) else of_dense, sp.csr_matrix(row))
    names = encoder.get_feature_names_out()[found.places]
    parts = [
        ShownPart(str(name), f"{v:.4g}", float(t)) for name, v, t in zip(names, found.values, found.terms)
    ]
    return Explained(float(found.start), parts, float(found.total), "a row without any of these")


def _shown(cell: Any) -> str:
    if cell is None or cell != cell:
        return "missing"
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
