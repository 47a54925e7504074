"""The worst mistakes:  rows whose own class was given the least probability, and what made the model say so.

    log P(said)/P(true) = start + Σ_j c_j,   c_j = f_j(x_j) − mean f_j over the rows        (models that are sums)

The contributions are exact: they add up to the model's own log-odds. Rows a model sees as bags of words are taken
apart word by word (pieces.py). Of all other models they are Shapley values of the probability of the answer,
against a sample of the table's rows (judge/shapley.py). Notes [6867] 3.2.2, [726]; row O5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.judge.shapley import Contributions, contributions
from separatrix.show.reading import ShownTable
from separatrix.show.report_parts.answers import JudgedAnswers, take
from separatrix.show.report_parts.clock import Clock
from separatrix.show.report_parts.pieces import pieces
from separatrix.show.report_parts.sums import Sum, link_of, text_at
from separatrix.show.report_parts.words import MarkUp, cell_text, chance, h, paragraph, signed, soft, table

SHOWN = 6  # mistakes
PUSHES = 5  # columns named of each
BEHIND = 60  # rows that Shapley values are against
PART = 0.25  # of the page's seconds for them


def worst(found: JudgedAnswers, most: int = SHOWN) -> np.ndarray:
    """Places among the rows judged of those that were answered wrong, least probability of the true class first."""
    assert found.P is not None
    wrong = np.flatnonzero(found.said != found.codes)
    own = found.P[wrong, found.codes[wrong]]
    return wrong[np.argsort(own, kind="stable")][:most]


def against(values: FloatArray, said: int, true: int) -> FloatArray:
    """Scores of heads (…, H) → of the class said less the true one (…,)."""
    if values.shape[-1] == 1:
        return values[..., 0] if said == 1 else -values[..., 0]
    return np.asarray(values[..., said] - values[..., true])


def odds(found: Sum, terms: FloatArray, said: int, true: int) -> tuple[float, FloatArray]:
    """(start, c (p,)): their sum is the score of the class said less that of the true one; terms (p, H) of a row."""
    start = found.start + found.average.sum(axis=0)
    return float(against(start, said, true)), against(terms - found.average, said, true)


def mistakes(
    model: BaseEstimator, found: JudgedAnswers, classes: list[Any], model_sum: Sum | None, why: str, X: Any,
    folds: Folds, clock: Clock,
) -> str:  # fmt: skip
    """An article for each of the worst mistakes; ``why`` says why columns have no contributions.

    X are rows of the fit; ``folds`` are models with the rows that each has not seen, to explain the mistakes by.
    """
    if found.P is None:
        return paragraph(
            "The model has no probabilities, so that its mistakes cannot be ordered by how bad they are."
        )
    rows = worst(found)
    wrong = int(np.sum(found.said != found.codes))
    if not len(rows):
        return paragraph(f"None: all of {found.words} were answered right.")
    intro = f"{wrong:,} of {len(found.codes):,} rows {'was' if wrong == 1 else 'were'} answered wrong"
    if wrong > len(rows):
        intro += f"; these are the {len(rows)} whose own class was given the least probability."
    else:
        intro += ", worst first."
    places = found.rows[rows]
    cells = take(found.X, places)
    given = None if hasattr(cells, "tocsr") else ShownTable(cells)
    made = [paragraph(intro + " Are their labels right?")]
    pairs = [(int(found.said[r]), int(found.codes[r])) for r in rows]
    insides: list[str] | None
    own_cells = model_sum is not None
    if model_sum is not None and given is not None:
        insides, base = _of_columns(model_sum, cells, given, pairs, found.own), "the average row's"
    else:
        insides, base = _of_pieces(model, cells, classes, pairs, found.own), "an empty row's"
    if insides is not None:
        made.append(
            paragraph(
                f"Contributions are exact: with the start, which is {base}, they add up to the score (log-odds) of "
                f"the answer against the true class in the model{'' if found.own else ' fitted to all rows'}. Orange "
                "speaks for the wrong answer, blue against it.",
                "quiet",
            )
        )
    else:
        unseen = _unseen(model, folds, found, places)
        anew = all(m is not model for m in unseen)
        told = _of_shares(unseen, X, cells, given, classes, pairs, found.own, anew, clock)
        if isinstance(told, str):
            made.append(paragraph(f"No contributions of columns are shown: {told}."))
            insides = [""] * len(rows)
        else:
            insides, how = told
            own_cells = bool(insides[0])
            made.append(paragraph(how, "quiet"))
    made.append('<div class="mistakes">')
    for i, (said, true) in enumerate(pairs):
        p = found.P[rows[i]]
        top = f"Row {int(places[i]) + 1:,}: {classes[true]}, called {classes[said]}"
        line = f"{chance(classes[said], p[said])}, {chance(classes[true], p[true])}"
        shown = insides[i] if own_cells and insides[i] else _cells(given, i) + insides[i]
        made.append(f"<article><h3>{h(top)}</h3>{paragraph(line, 'quiet')}{shown}</article>")
    made.append("</div>")
    return "".join(made)


def _of_columns(
    found: Sum, cells: Any, given: ShownTable, pairs: list[tuple[int, int]], own: bool
) -> list[str]:
    terms = found.terms(cells)
    out = []
    for i, (said, true) in enumerate(pairs):
        start, c = odds(found, terms[i], said, true)
        P = link_of(found.mode, (found.start + terms[i].sum(axis=0))[None])[0]
        texts = [text_at(column, column[i : i + 1].tolist()[0])[:24] for column in given.columns]
        out.append(_pushes(start, c, given.names, texts, "columns", _caption(P, found.classes, said, own)))
    return out


def _of_pieces(
    model: BaseEstimator, cells: Any, classes: list[Any], pairs: list[tuple[int, int]], own: bool
) -> list[str] | None:
    found = pieces(model, cells)
    if found is None:
        return None
    out = []
    for piece, (said, true) in zip(found, pairs):
        start, c = float(against(piece.start, said, true)), against(piece.terms, said, true)
        texts = [cell_text(float(v)) for v in piece.values]
        caption = _caption(piece.P, classes, said, own)
        out.append(_pushes(start, c, piece.names, texts, "entries", caption))
    return out


Folds = tuple[tuple[Any, np.ndarray], ...]


def _unseen(model: BaseEstimator, folds: Folds, found: JudgedAnswers, places: np.ndarray) -> list[Any]:
    """For each row the model of a fold that has not seen it, else the model itself."""
    known = [next((m for m, held in folds if (held == row).any()), None) for row in places]
    whole = found.own or any(
        m is None for m in known
    )  # one kind of model for all, so that one sentence is true of all
    return [model] * len(places) if whole else known


def _of_shares(
    models: list[Any], X: Any, cells: Any, given: ShownTable | None, classes: list[Any],
    pairs: list[tuple[int, int]], own: bool, anew: bool, clock: Clock,
) -> tuple[list[str], str] | str:  # fmt: skip
    """(tables of Shapley values of P(said), what they are), or why there are none; a row there is no time for has
    "".
    """
    if given is None:
        return "the table is sparse, and the model is no sum over its entries"
    if clock.is_late("contributions of columns to the worst mistakes"):
        return "no time was left"
    behind = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:BEHIND])
    out = [""] * len(pairs)
    used, behind = Clock(clock.share(PART)), take(X, behind)
    how = ""
    for model in dict.fromkeys(models):  # rows of one model are explained together
        mine = [i for i, m in enumerate(models) if m is model]
        if how and used.is_late(""):
            clock.late.append("contributions of columns to some of the worst mistakes")
            break
        try:
            found = contributions(model, take(cells, mine), behind, seconds=used.share(1.0))
        except (TypeError, ValueError) as error:
            return str(error).rstrip(".")
        for at, i in enumerate(mine[: len(found.adds)]):
            said = pairs[i][0]
            unsure = None if found.error is None else 100 * found.error[at, :, said]
            texts = [text_at(column, column[i : i + 1].tolist()[0])[:24] for column in given.columns]
            caption = f"Its parts: {chance(classes[said], found.output[at, said])}"
            c, base = 100 * found.adds[at, :, said], 100 * float(found.base[said])
            out[i] = _pushes(base, c, given.names, texts, "columns", caption, unsure)
        if len(found.adds) < len(mine):
            clock.late.append("contributions of columns to some of the worst mistakes")
        how = how or _how(found, own, anew)
    return out, how


def _how(found: Contributions, own: bool, anew: bool) -> str:
    which = "the model" if own else "the model fitted to all rows"
    if anew:
        which = "the model fitted anew without the row's fold, with the settings it has,"
    unsure = " Figures behind ± are standard errors." if found.error is not None else ""
    return (
        f"Contributions are Shapley values, {found.how}: with the start, the mean probability of the answer "
        f"over those rows, "
        f"they add up to the probability of the answer, in per cent, that {which} gives.{unsure} Orange speaks "
        f"for the wrong "
        "answer, blue against it."
    )


def _caption(P: FloatArray, classes: list[Any], said: int, own: bool) -> str:
    if own:
        return "Contributions"
    return f"Fitted to all rows, the model gives {chance(classes[said], P[said])}"


def _pushes(
    start: float, c: FloatArray, names: list[str], texts: list[str], what: str, caption: str,
    error: FloatArray | None = None,
) -> str:  # fmt: skip
    order = np.argsort(-np.abs(c), kind="stable")
    order = order[np.abs(c[order]) > 0]
    top, rest = order[:PUSHES], order[PUSHES:]
    far = max(float(np.abs(c).max(initial=0.0)), abs(float(c[rest].sum())), 1e-12)
    rows: list[list[Any]] = [["start", "", signed(start), ""]]
    unsure = [""] * len(c) if error is None else [f" ± {v:.2f}" for v in error]
    rows += [[soft(names[j]), texts[j], signed(c[j]) + unsure[j], _bar(c[j] / far)] for j in top]
    if len(rest):
        other = float(c[rest].sum())
        named = f"{len(rest)} other {what}" if len(rest) > 1 else soft(names[rest[0]])
        rows.append([named, "", signed(other), _bar(other / far)])
    rows.append(["sum", "", signed(start + float(c.sum())), ""])
    made = table(["column", "cell", "adds", "against · for"], rows, caption=caption, left=(0, 1, 3))
    return made.replace('<td><span class="', '<td class="push"><span class="')


def _bar(part: float) -> MarkUp:
    kind = "for" if part > 0 else "back"
    return MarkUp(f'<span class="{kind}" style="width:{max(50 * min(abs(part), 1.0), 1):.0f}%"></span>')


def _cells(given: ShownTable | None, i: int) -> str:
    """The row itself, where nothing better can be said of it; a single text as it stands."""
    if given is None:
        return ""
    if given.p == 1 and not given.numeric[0]:
        return f"<blockquote>{h(cell_text(given.columns[0].tolist()[i], 400))}</blockquote>"
    shown = min(given.p, 8)
    rows = [[soft(given.names[j]), cell_text(given.columns[j].tolist()[i])] for j in range(shown)]
    more = f"; the first {shown} of {given.p} columns" if given.p > shown else ""
    return table(["column", "cell"], rows, caption="The row" + more, left=(0, 1))
