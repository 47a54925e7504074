"""One HTML file that shows what a classifier is worth: alerts, scores, verdict, pictures, ranking, mistakes, what-if.

    report_html(comparison, model=..., X=..., y=...) → str      write_report(path, ...) writes it whole or not at all

The page asks for nothing from outside (a policy in its head forbids it), follows light or dark, prints, and reads on
a telephone. Its what-if panel computes the probability of models that are sums over columns, as ``predict_proba``
does (report_parts/sums.py), and of trees, forests and kernel machines of moderate size (machines.py); else a copy
of the model by columns stands in, and says how near it is (surrogate.py). Rows are judged by models that had not
seen them. Notes [726], [6867] 3.2; row O5. Cost: five fits without a comparison, 200 for intervals of penalised
coefficients, some thousand predictions, six pictures drawn twice.
"""

from __future__ import annotations

import base64
import hashlib
import os
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_regressor

from separatrix.judge.facts import read_X
from separatrix.judge.scores import METRICS, Interval
from separatrix.models.threshold import threshold_of, without_threshold
from separatrix.show.look import Display
from separatrix.show.reading import check_fitted, last_step, name_of
from separatrix.show.report_parts import classes as by_class
from separatrix.show.report_parts import mistakes as mistakes_part
from separatrix.show.report_parts import pictures, tables, whatif
from separatrix.show.report_parts.answers import (
    SCORES,
    JudgedAnswers,
    at_threshold,
    classes_of,
    judged,
    scores,
)
from separatrix.show.report_parts.clock import Clock
from separatrix.show.report_parts.columns import columns
from separatrix.show.report_parts.reproduce import reproduce
from separatrix.show.report_parts.resampled import with_ends
from separatrix.show.report_parts.sums import NotASum, Sum
from separatrix.show.report_parts.words import embedded, h, listed, number, paragraph, section

if TYPE_CHECKING:
    from os import PathLike

    from separatrix.judge.comparison import Comparison

LEVEL = 0.95
WIDE_FROM = 9  # classes from which a confusion matrix takes the page's width


def report_html(
    comparison: Comparison | None = None,
    *,
    model: BaseEstimator | None = None,
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    title: str | None = None,
    source: Any = None,
    command: str | None = None,
    fitted: bool = True,
    known: float | None = None,
    seconds: float | None = 60.0,
) -> str:
    """The report of a fitted classifier as one page of HTML ([726], [6867] 3.2; row O5).

    Parameters
    ----------
    comparison : what :func:`~separatrix.compare` returned, for the alerts, the ranking and answers out of fold; None
        reports on the model alone, with alerts and five folds made here
    model : fitted classifier, pipeline or binomial model; the comparison's best by default
    X, y : (n, p) array or frame and labels (n,) that it was fitted to
    X_test, y_test : rows kept apart; where given, all judgements are of those
    title : heading; else the model and the source
    source : where the table came from (a path is fingerprinted)
    command : what was typed, for the last section
    fitted : whether X, y are what the model was fitted to; False where those are not at hand, and X, y are other rows
    known : of other rows the share that stands in the training table too; None if nobody knows
    seconds : after which no costly part is begun, such as the importance of columns, and the page names those left
        out; None for no limit

    Returns
    -------
    str : the page; every label, column name and cell in it is escaped

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> page = report_html(model=LogisticRegression().fit(X, y), X=X, y=y, title="Iris")
    >>> page.startswith("<!DOCTYPE html>"), "<h1>Iris</h1>" in page, 'id="whatif"' in page
    (True, True, True)
    """
    clock = Clock(seconds)
    model, name = _chosen(comparison, model)
    if comparison is not None:  # as it was read there: words of an array have become a frame
        X, X_test = read_X(X), None if X_test is None else read_X(X_test)
    if (
        comparison.task == "regression"
        if comparison is not None
        else is_regressor(model) and not _binomial(model)
    ):
        from separatrix.show.numbers_page import sections

        test = None if X_test is None else (X_test, y_test)
        share = (1.0 if fitted else known) if X_test is X else 0.0
        heading, top, parts = sections(
            comparison, model, name, X, y, test, share, title, source, command, clock
        )
        return _page(heading, top, parts, None)
    cut, model = threshold_of(model), without_threshold(model)
    check_fitted(model, "writing a report")
    classes = classes_of(model)
    found = judged(model, X, y, X_test, y_test, comparison, name, 1.0 if fitted else known)
    if cut is not None:
        found = at_threshold(found, cut, classes)
    own = _scores(comparison, name, found, X_test is not None)
    try:
        as_sum, why = Sum.of(model, X), ""
    except NotASum as error:
        as_sum, why = None, str(error).rstrip(".")
    words = str(comparison.titles.get(name, name)) if comparison is not None and name else name_of(model)
    heading = title or (f"{words} on {os.path.basename(str(source))}" if source is not None else words)
    going_by = columns(model, X, y, found, classes, comparison, name, words, clock, fitted)
    drawn = _pictures(model, X, y, found, classes, words, as_sum, own, going_by.names)
    panel = whatif.made(model, X, as_sum, why, clock)
    wrong = mistakes_part.mistakes(model, found, classes, as_sum, why, X, going_by.folds, clock)
    parts = [
        alerts_section(comparison, X, y),
        verdict_section(model),
        drawn,
        ranking_section(comparison),
        going_by.section,
        _coefficients(model, X, y, words, fitted, clock),
        section("mistakes", "The worst mistakes", wrong),
        panel.section,
        section("reproduce", "How to get the same again", reproduce(model, X, y, source, command)),
        late_section(clock),
    ]
    top = _header(heading, words, classes, X, y, found, own, comparison, name)
    return _page(heading, top, [part for part in parts if part], panel.data)


def _binomial(model: Any) -> bool:
    """Whether it is a model of a share, which is reported on as a classifier is."""
    return getattr(last_step(model), "family", None) in ("binomial", "bernoulli")


def write_report(path: str | PathLike[str], comparison: Comparison | None = None, **options: Any) -> None:
    """Write :func:`report_html` to a file, whole or not at all; ``options`` are its keywords (row O5).

    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/iris.html", model=LogisticRegression().fit(X, y), X=X, y=y)
    ...     os.listdir(folder)
    ['iris.html']
    """
    from separatrix.files.whole import write_whole

    folder = os.path.dirname(os.path.realpath(os.fspath(path)))
    if not os.path.isdir(folder):  # said before the work, not after
        raise ValueError(f"there is no folder {folder}: make it first")
    write_whole(path, report_html(comparison, **options).encode("utf-8"))


# ---- what is reported ----


def _chosen(comparison: Comparison | None, model: BaseEstimator) -> tuple[Any, str | None]:
    """(the model, its name in the comparison)."""
    if comparison is None:
        if model is None:
            raise ValueError(
                "there is nothing to report on: give model=, a fitted classifier, or a comparison"
            )
        return model, None
    if model is None:
        return comparison.best_model, comparison.best
    for name in comparison.models.fitted:
        if comparison.models[name] is model:
            return model, name
    return model, None


def _scores(
    comparison: Comparison | None, name: str | None, found: JudgedAnswers, tested: bool
) -> dict[str, Interval]:
    """Scores with intervals: over folds of the comparison, else over bootstraps of the rows judged."""
    if comparison is not None and name is not None and not tested:
        own = comparison.scores[name]
        order = dict.fromkeys([comparison.metric, *SCORES])
        return {m: own[m] for m in order if np.isfinite(own[m].mean)}
    return scores(found, LEVEL)


def _header(
    heading: str, words: str, classes: list[Any], X: Any, y: Any, found: JudgedAnswers, own: dict[str, Interval],
    comparison: Comparison | None, name: str | None,
) -> str:  # fmt: skip
    n, p = X.shape
    counts = np.unique(np.asarray(y), return_counts=True)
    often = float(counts[1].max() / counts[1].sum())
    told = listed([str(c) for c in classes])
    right = tables.interval_texts("accuracy", own["accuracy"])[0]
    lead = (
        f"The model, {words}, tells {told} apart from {_many(p, 'column')} of {n:,} rows. It is right "
        f"in {right} of {found.whose}; always saying the most frequent class would be right in "
        f"{100 * often:.1f} %."
    )
    if comparison is not None and name is not None:
        same = [comparison.titles.get(m, m) for m in comparison.equals if m != name]
        if name == comparison.best and same:
            lead += f" It came first of {len(comparison.ranking)} models, but cannot be told from {listed(same, 4)}."
        elif name == comparison.best and len(comparison.ranking) > 1:
            real = all(d.real for d in comparison.differences)
            rest = "all others are really worse" if real else "no other was as good as far as it was followed"
            lead += f" It came first of {len(comparison.ranking)} models, and {rest}."
        if not comparison.standing[name].whole:
            lead += f" It was judged on {comparison.standing[name].words}."
    rare = by_class.of_the_rare(found, classes)
    texts = {m: tables.interval_texts(m, v) for m, v in list(own.items())[:5]}
    cells = "".join(
        f"<div><dt>{h(METRICS[m].title)}</dt><dd>{h(mean)}<small>{h(span)}</small></dd></div>"
        for m, (mean, span) in texts.items()
    )
    judged_on = f"Judged on {found.words}; small figures are {100 * LEVEL:g} % intervals."
    if "brier" in texts:
        each = f"(P({classes[1]}) − outcome)²" if len(classes) == 2 else "Σ (P − outcome)² over the classes"
        judged_on += f" The Brier score is the mean of {each}, as in scikit-learn."
    numbers = f'<dl class="numbers">{cells}</dl>'
    said = paragraph(f"{lead} {rare}".strip(), "lead")
    return f"<h1>{h(heading)}</h1>{said}{numbers}{paragraph(judged_on, 'quiet')}"


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def alerts_section(comparison: Comparison | None, X: Any, y: Any, *, numbers: bool = False) -> str:
    if comparison is not None:
        found = list(comparison.alerts)
    else:
        from separatrix.judge.alerts import alerts

        found = alerts(X, y, numbers=numbers)
    if not found:
        return section("alerts", "Alerts", paragraph("Nothing odd was found in the table."))
    items = "".join(
        f'<li class="{h(a.severity)}"><strong>{h(a.severity)}</strong> {h(_sentence(a.sentence))}</li>'
        for a in found
    )
    return section("alerts", "Alerts", f'<ul class="alerts">{items}</ul>')


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."


def verdict_section(model: BaseEstimator) -> str:
    inner = last_step(model)
    verdict = getattr(inner, "verdict_", None)
    if verdict is None:
        return section("verdict", "Verdict", paragraph(f"{name_of(model)} makes no claim about its fit."))
    facts = []
    if verdict.status != "no optimum" and np.isfinite(verdict.objective):
        facts.append(("objective", f"{verdict.objective:.6g}".replace("-", "−")))
        facts.append(
            ("proven within", number(verdict.gap, 2) if np.isfinite(verdict.gap) else "no bound proven")
        )
    facts.append(("stopped", verdict.stopped_by))
    rows = "".join(f"<dt>{h(k)}</dt><dd>{h(v)}</dd>" for k, v in facts)
    findings = "".join(f"<li>{h(f)}</li>" for f in verdict.findings)
    kind = "verdict" if verdict.settled and verdict.status != "no optimum" else "verdict open"
    inside = (
        f'<div class="{kind}"><strong>{h(verdict.headline())}</strong><dl class="facts">{rows}</dl>'
        + (f"<ul>{findings}</ul>" if findings else "")
        + "</div>"
    )
    return section("verdict", "Verdict", inside)


def _pictures(
    model: BaseEstimator,
    X: Any,
    y: Any,
    found: JudgedAnswers,
    classes: list[Any],
    words: str,
    as_sum: Sum | None,
    own: dict[str, Interval],
    foremost: tuple[str, ...],
) -> str:
    pair: list[str] | None = list(foremost) or None
    if as_sum is not None:
        order = sorted(
            (f for f in as_sum.forms if f.kind in ("poly", "log", "beta", "stops")), key=lambda f: -f.reach
        )
        pair = [f.name for f in order[:2]] if len(order) > 1 else None
    made: list[str] = []
    missing: list[str] = []

    def add(what: str, display: Display | str, wide: bool = False, full: bool = False) -> None:
        if isinstance(display, str):
            missing.append(f"{what}: {display}")
        else:
            made.append(pictures.figure(display, wide=wide, full=full))

    add("Decision regions", pictures.regions(model, X, y, pair))
    add("Calibration", pictures.calibration(found, classes, words))
    add("Confusion", pictures.confusion(found, classes, words), full=len(classes) > WIDE_FROM)
    if len(classes) == 2:
        area = METRICS["auc"].inside(own["auc"]) if "auc" in own else None
        add("ROC", pictures.roc(found, classes, area))
        add("Precision and recall", pictures.precision_recall(found, classes))
    if as_sum is not None and len(classes) == 2:
        add("Nomogram", pictures.nomogram(as_sum, words), wide=True)
    left = "".join(f"<li>{h(text)}</li>" for text in missing)
    note = (
        f"<details><summary>Not drawn: {len(missing)}</summary><ul>{left}</ul></details>" if missing else ""
    )
    tabled = [by_class.per_class(found, classes), by_class.confusions(found, classes)]
    fold = f'<div class="pictures">{"".join(f"<div>{part}</div>" for part in tabled if part)}</div>'
    fold += f"<details><summary>Confusion as a table</summary>{tables.confusion(found, classes)}</details>"
    of_two = ["ROC", "precision against recall"] if len(classes) == 2 else []
    said = f"{listed(['Calibration', 'confusion', *of_two])} are of {found.words}."
    if found.repeats > 1:
        said += f" It was made {found.repeats} times: these are of the first, the scores above are means over all."
    said = paragraph(said, "quiet")
    return section("pictures", "Pictures", f'<div class="pictures">{"".join(made)}</div>', said, fold, note)


def ranking_section(comparison: Comparison | None) -> str:
    if comparison is None:
        return ""
    return section("ranking", "All models, ranked", tables.ranking(comparison))


def _coefficients(model: BaseEstimator, X: Any, y: Any, words: str, fitted: bool, clock: Clock) -> str:
    read = tables.read(model, LEVEL)
    if read is None:
        return section("coefficients", "Coefficients", paragraph(f"{name_of(model)} has no coefficients."))
    names, panels, note = read
    said = ""
    if _scaled(model):
        said = paragraph(
            "Numbers were standardised: a coefficient is the change of the score for one standard deviation.",
            "quiet",
        )
    if panels[0].ends is None:
        if fitted and clock.is_late("intervals of the coefficients"):
            note = "No intervals: there was no time for the fits to bootstraps of the rows."
        elif fitted:
            panels, note = with_ends(model, X, y, panels, LEVEL, clock.share(1.0))
        else:
            note = (
                "No intervals: a penalised fit has no standard errors, and its training rows are not at hand."
            )
        said += paragraph(note, "quiet")
    drawn = pictures.coefficients(names, panels, LEVEL, "", words)
    picture = (
        paragraph(f"No picture: {drawn}.")
        if isinstance(drawn, str)
        else pictures.figure(drawn, wide=len(panels) > 1)
    )
    return section("coefficients", "Coefficients", said, picture, tables.coefficients(names, panels, LEVEL))


def _scaled(model: BaseEstimator) -> bool:
    """Whether an encoder divides numbers by their standard deviation before the model sees them."""
    for _, step in getattr(model, "steps", []):
        kinds = getattr(step, "kinds_", {})
        if type(step).__name__ == "StandardScaler" or _scaled(step):
            return True
        if getattr(step, "standardize", False) and {"continuous", "discrete"} & set(kinds.values()):
            return True
    return False


def late_section(clock: Clock) -> str:
    """What there was no time for."""
    if not clock.late:
        return ""
    asked = f"the {clock.seconds:.0f} s of this page" if clock.seconds else "the time of this page"
    text = f"For want of time ({asked}) these were left out: {listed(clock.late, 12)}."
    return section("late", "Left out", paragraph(text))


# ---- the page ----


def _page(heading: str, top: str, parts: list[str], asked: dict[str, Any] | None) -> str:
    home = files("separatrix.show.report_parts")
    css = home.joinpath("report.css").read_text(encoding="utf-8")
    script = home.joinpath("whatif.js").read_text(encoding="utf-8")
    mark = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{mark}'; img-src data:; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    known = {
        "alerts": "Alerts", "verdict": "Verdict", "pictures": "Pictures", "ranking": "Ranking",
        "columns": "Columns", "coefficients": "Coefficients", "mistakes": "Mistakes",
        "whatif-section": "What if?", "reproduce": "Reproduce",
    }  # fmt: skip
    body = "".join(parts)
    links = "".join(
        f'<li><a href="#{key}">{h(text)}</a></li>'
        for key, text in known.items()
        if f'<section id="{key}"' in body
    )
    code = f"<script>{script}</script>"
    if asked is not None:
        data = embedded(asked)
        code = f'<script type="application/json" id="whatif-data">{data}</script>{code}'
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark">'
        f"<title>{h(heading)}</title><style>{css}</style></head><body>"
        f'<a class="skip" href="#main">To the report</a><header>{top}</header>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav><main id="main">{body}</main>'
        "<footer>Written by separatrix. The file is whole in itself and asks for nothing from the network.</footer>"
        f"{code}</body></html>\n"
    )
