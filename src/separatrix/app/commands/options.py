"""The options that commands share, and those of compare (row O4)."""

from __future__ import annotations

from typing import Annotated

import typer

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (book.xlsx::SHEET, shop.db::TABLE), a folder of texts, or a bundled name.",
    ),
]
ModelFileArgument = Annotated[
    str, typer.Argument(metavar="MODELFILE", help="A file written by compare or fit.")
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="The column to predict. Default: class, target, label, y or the last.",
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kinds",
        metavar="COLUMN=KIND,…",
        help="What columns are where rules err: continuous, discrete, nominal, target (nominal, coded by the target "
        "out of fold), date, text; identifier, leak, constant (left out).",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line holds names.", show_default=False),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", metavar="CHARACTER", help="Between cells; 'tab' for a tab. Default: found."),
]
Seed = Annotated[
    int, typer.Option("--seed", help="Of folds and models; the same seed gives the same numbers.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]

# ---- of compare ----

Budget = Annotated[
    float,
    typer.Option(
        "--budget",
        "-b",
        metavar="SECONDS",
        help="About how long it may take, the report too; 0: no clock.",
    ),
]
Exhaustive = Annotated[
    bool,
    typer.Option("--exhaustive", help="No clock: all that is planned is done, the same on any machine."),
]
PlanFile = Annotated[
    str | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help="Run again what an earlier run wrote to plan.json, to the same numbers.",
    ),
]
Models = Annotated[
    str | None, typer.Option("--models", "-m", metavar="A,B", help="Only these. Default: all that suit.")
]
MetricNamed = Annotated[
    str | None,
    typer.Option(
        "--metric",
        help="What ranks: log_loss (default), accuracy, auc, brier, balanced_accuracy, mcc, precision, recall, "
        "f1, average_precision, cost; of numbers rmse (default), mae, r2.",
    ),
]
Task = Annotated[
    str,
    typer.Option("--task", help="classification, regression (numbers), or ordinal (classes with an order)."),
]
Order = Annotated[
    str | None,
    typer.Option("--order", metavar="A,B,C", help="For --task ordinal: the classes from the lowest up."),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="CLASS",
        help="Of two: whom precision, recall, F1 are of. Default: the rarer.",
    ),
]
ThresholdBy = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        metavar="METRIC",
        help="Choose the winner's threshold out of fold by f1, mcc, accuracy, balanced_accuracy or cost; it is "
        "saved with the model.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups", metavar="COLUMN", help="Rows of one value are never learned from and judged at once."
    ),
]
ByTime = Annotated[
    str | None,
    typer.Option("--time", metavar="COLUMN", help="What is judged comes after all that is learned from."),
]
Costs = Annotated[
    str | None,
    typer.Option(
        "--cost",
        metavar="FILE|JSON",
        help="A matrix, a row for each true class, or {true class: {answer: cost}}; ranks by cost.",
    ),
]
TestRows = Annotated[
    str | None,
    typer.Option("--test", metavar="FILE", help="Rows kept apart, on which models are judged too."),
]
OutFolder = Annotated[
    str | None,
    typer.Option("--out", "-o", metavar="DIR", help="Where files go. Default: out/NAME of the data."),
]
