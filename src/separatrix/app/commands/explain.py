"""``separatrix explain``: what each column adds to the log-odds of one row (row O4).

    log P(k|x)/P(r|x) = s₀ + Σ_j f_j(x_j),     f_j(x_j) = s(x_j alone moved from the usual cells) − s₀

Exact for models whose log-odds is a sum over columns, tested on the row and on others of the table; of other models
it is said that there is no such sum. The usual cell is the median, or the most frequent one. Words of a text, and
columns of which there are many, are told apart after encoding, from a row of zeros. Cost: p predictions.
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
TOLERANCE = 1e-7


@dataclass(frozen=True)
class Part:
    """A column, its cell as it is shown, and what it adds."""

    column: str
    cell: str
    adds: float


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
    base, parts, score, how = explained(kept, pool, one, k, r)
    answer = names[int(P.argmax())]
    total = base + sum(p.adds for p in parts)
    parts = sorted(parts, key=lambda p: -abs(p.adds))
    chance = ", ".join(f"P({names[c]}) = {P[c]:.6g}" for c in ((k, r) if len(names) > 2 else (k,)))
    say.result(f"row {row} of {data}: {answer}   {chance}", "bold")
    say.result(f"log-odds of {names[k]} against {names[r]}: {total:+.6g}, the sum of")
    wide = max([len("start"), *(len(f"{p.column} = {p.cell}"[:60]) for p in parts[:top])])
    say.result(f"  {'start':<{wide}}  {base:+10.4f}   ({how})")
    for part in parts[:top]:
        say.result(f"  {f'{part.column} = {part.cell}'[:60]:<{wide}}  {part.adds:+10.4f}")
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
            "against": names[r],
            "start": base,
            "parts": [{"column": p.column, "cell": p.cell, "adds": p.adds} for p in parts],
            "log_odds": score,
            "sum": total,
            "probabilities": dict(zip(names, P.tolist())),
        }
    )
    return OK


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


def explained(kept: Kept, pool: Any, one: Any, k: int, r: int) -> tuple[float, list[Part], float, str]:
    """(start, parts, log-odds, what the start is) of one row; a model that is no sum is refused."""
    from separatrix.show.nomogram import score_of

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
    except (TypeError, _NoSum) as error:
        raise AppError(
            f"{kept.path}: no exact explanation by columns of {kept.name}: {error}; logistic, "
            "naive-bayes, lda and, of two classes, linear-svc have one"
        ) from None


class _NoSum(Exception):
    """The log-odds is not a sum over columns."""


def _by_columns(score: Callable[[Any], Any], pool: Any, one: Any) -> tuple[float, list[Part], float, str]:
    import pandas as pd

    frame = hasattr(one, "columns")
    pool, one = (pool, one) if frame else (pd.DataFrame(pool), pd.DataFrame(one))
    held = pd.concat([pool, one], ignore_index=True)
    last, p = len(held) - 1, held.shape[1]
    usual = [_usual(pool.iloc[:, j]) for j in range(p)]
    others = np.unique(np.linspace(0, len(pool) - 1, CHECKED).astype(int)).tolist()
    wanted = [last, *others]
    # rows: the usual one; then for each row wanted, each column alone moved, and the row itself
    takes = []
    for j in range(p):
        at = [usual[j]]
        for i in wanted:
            at += [i if c == j else usual[j] for c in range(p)] + [i]
        takes.append(at)
    columns = {
        name: held.iloc[:, j].take(takes[j]).reset_index(drop=True) for j, name in enumerate(held.columns)
    }
    probe = pd.DataFrame(columns)
    s = np.asarray(score(probe if frame else probe.to_numpy()), dtype=float)
    base, moved = float(s[0]), s[1:].reshape(len(wanted), p + 1)
    if not np.isfinite(s).all():
        raise _NoSum("a probability of it is exactly 0 or 1, whose log-odds is infinite")
    terms = moved[:, :p] - base
    miss = np.abs(base + terms.sum(axis=1) - moved[:, p]) / (1.0 + np.abs(terms).sum(axis=1) + abs(base))
    if miss.max() > TOLERANCE:
        raise _NoSum("its log-odds is not a sum over columns")
    cells = one.iloc[0].tolist()
    parts = [Part(str(name), _shown(cells[j]), float(terms[0, j])) for j, name in enumerate(held.columns)]
    return base, parts, float(moved[0, p]), "a row of usual cells: medians, most frequent words"


def _by_words(encoder: Any, score: Callable[[Any], Any], one: Any) -> tuple[float, list[Part], float, str]:
    z = sp.csr_matrix(encoder.transform(one))
    place, values = z.indices, z.data
    m = len(place)
    alone = sp.csr_matrix((values, (np.arange(1, m + 1), place)), shape=(m + 1, z.shape[1]))
    s = np.asarray(score(sp.csr_matrix(sp.vstack([alone, z]))), dtype=float)
    base, terms, total = float(s[0]), s[1 : m + 1] - s[0], float(s[-1])
    if not np.isfinite(s).all():
        raise _NoSum("a probability of it is exactly 0 or 1, whose log-odds is infinite")
    if abs(base + terms.sum() - total) > TOLERANCE * (1.0 + np.abs(terms).sum() + abs(base)):
        raise _NoSum("its log-odds is not a sum over columns")
    names = encoder.get_feature_names_out()
    parts = [Part(str(names[j]), f"{v:.4g}", float(t)) for j, v, t in zip(place, values, terms)]
    return base, parts, total, "a row without any of these"


def _usual(column: pd.Series) -> int:
    """Where in the column the usual cell stands: the (lower) median of numbers, else the most frequent."""
    import pandas as pd

    known = np.flatnonzero(column.notna().to_numpy())
    if not len(known):
        return 0
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype):
        order = np.argsort(column.iloc[known].to_numpy(), kind="stable")
        return int(known[order[(len(order) - 1) // 2]])
    most = column.value_counts().index[0]
    return int(np.flatnonzero((column == most).fillna(False).to_numpy())[0])


def _shown(cell: Any) -> str:
    if cell is None or cell != cell:
        return "missing"
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
