"""The commands and their options; the work is in a file a command (row O4)."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from separatrix.app.commands.options import (
    Budget,
    ByTime,
    Costs,
    Data,
    Delimiter,
    Exhaustive,
    Groups,
    Header,
    Json,
    Kinds,
    MetricNamed,
    ModelFileArgument,
    Models,
    Order,
    OutFolder,
    PlanFile,
    Positive,
    Quiet,
    Seed,
    Target,
    Task,
    TestRows,
    ThresholdBy,
)
from separatrix.app.say import Say
from separatrix.models.catalogue import BY_NAME, OF_NUMBERS, TUNED

CODES = "Exit codes: 0 done, 1 the data or the model cannot be used, 2 not understood, 130 interrupted."
app = typer.Typer(
    name="separatrix",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=CODES,
    help=(
        "From a file to a classifier you can trust.\n\n"
        "Begin with:  separatrix compare DATA --target COLUMN\n\n"
        "DATA is a CSV, TSV, Parquet, Arrow, JSON lines, ARFF or svmlight file (gzip too), a sheet of an Excel file "
        "(book.xlsx::SHEET), a table of SQLite or DuckDB (shop.db::TABLE), a folder of texts with a folder for each "
        "class, or a bundled name: iris, wine, breast-cancer, digits, enjoy-sport."
    ),
)


def _mark(delimiter: str | None) -> str | None:
    return "\t" if delimiter in ("tab", "\\t") else delimiter


def _help(purpose: str, first: str, second: str, more: str = "", codes: str = CODES) -> dict[str, Any]:
    """A command's help: its purpose, two examples, exit codes; and the purpose alone, for the list of commands."""
    about = f"\n\n{more}" if more else ""
    examples = f"\b\nExamples:\n  separatrix {first}\n  separatrix {second}"
    return {"help": f"{purpose}{about}\n\n{examples}\n\n{codes}", "short_help": purpose}


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"separatrix {version('separatrix')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Nothing of its own: the commands do the work."""


@app.command(
    "compare",
    **_help(
        "Try every suitable model on a table and keep the best.",
        "compare iris",
        "compare loans.csv --target default --budget 300 --out loans",
        "Says first what is odd about the table, then tries every model on a first fold, of large tables on "
        "samples, those that may win on all folds, and tunes those, as far as the budget of seconds goes. Ranks them "
        "with intervals, says which differences are real, and fits the winner to all rows. Writes model.sepx, "
        "report.html, table.csv, comparison.json and plan.json, which --plan runs again. Ctrl-C keeps what is "
        "finished.",
        "Exit codes: 0 done, 1 the data or the model cannot be used, 2 not understood, 3 nothing but the classes' "
        "shares could be fitted, 130 interrupted.",
    ),
)
def _compare(
    data: Data,
    target: Target = None,
    budget: Budget = 60.0,
    exhaustive: Exhaustive = False,
    plan: PlanFile = None,
    models: Models = None,
    metric: MetricNamed = None,
    task: Task = "classification",
    order: Order = None,
    positive: Positive = None,
    threshold: ThresholdBy = None,
    groups: Groups = None,
    by_time: ByTime = None,
    cost: Costs = None,
    test: TestRows = None,
    out: OutFolder = None,
    kinds: Kinds = None,
    header: Header = None,
    delimiter: Delimiter = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    from separatrix.app.commands.compare import run
    from separatrix.app.given import TableAsked

    with Say(quiet, as_json).hearing() as say:
        asked = TableAsked(data=data, target=target, kinds=kinds, header=header, delimiter=_mark(delimiter))
        return run(
            asked,
            budget=budget,
            models=models,
            metric=metric,
            cost=cost,
            test=test,
            out=out,
            seed=seed,
            task=task,
            order=order,
            positive=positive,
            threshold=threshold,
            groups=groups,
            by_time=by_time,
            exhaustive=exhaustive,
            plan=plan,
            say=say,
        )


@app.command(
    "fit",
    **_help(
        "Fit one model to all rows, print its verdict and save it.",
        "fit logistic iris",
        "fit svc spam.csv --target class --set C=10 --set gamma=0.1 --out spam.sepx",
        f"MODEL is {', '.join(BY_NAME)}; of numbers {', '.join(OF_NUMBERS)}; in any spelling. What is not set by "
        "--set is the model's default; with "
        f"--tune it is chosen by cross-validation, as compare does ({', '.join(TUNED)}).",
    ),
)
def _fit(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model's name.")],
    data: Data,
    target: Target = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="A setting; may be repeated."),
    ] = None,
    tune: Annotated[
        bool,
        typer.Option("--tune", help="Choose the settings that --set leaves open by cross-validation."),
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The model file. Default: out/NAME of the data/MODEL.sepx."
        ),
    ] = None,
    kinds: Kinds = None,
    header: Header = None,
    delimiter: Delimiter = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    from separatrix.app.commands.fit import run
    from separatrix.app.given import TableAsked

    with Say(quiet, as_json).hearing() as say:
        asked = TableAsked(data=data, target=target, kinds=kinds, header=header, delimiter=_mark(delimiter))
        return run(model, asked, setting=setting or (), tune=tune, out=out, seed=seed, say=say)


@app.command(
    "predict",
    **_help(
        "Add a model's answers to a table, row by row.",
        "predict out/iris/model.sepx flowers.csv > answers.csv",
        "predict spam.sepx mail.jsonl --proba --out answers.jsonl",
        "Rows stay in order and columns as they are written; a column 'predicted' comes last, and with --proba a "
        "column for each class; --only leaves the columns of the input out. CSV gives CSV, JSON lines give JSON "
        "lines; --out FILE.xlsx writes a workbook. Files larger than memory are read piece by piece. --sets 0.9 adds "
        "a column 'set' with the classes that cannot be ruled out, as in a|b: it holds the right one in nine rows of "
        "ten, and may be empty.",
    ),
)
def _predict(
    model: ModelFileArgument,
    data: Data,
    proba: Annotated[
        bool, typer.Option("--proba", "-p", help="Also the probability of every class.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help=".csv, .tsv or .jsonl, or these with .gz, or .xlsx. Default: printed.",
        ),
    ] = None,
    sets: Annotated[
        float | None,
        typer.Option(
            "--sets",
            metavar="SHARE",
            help="Also a set of classes that holds the right one in this share of rows, such as 0.9.",
        ),
    ] = None,
    by_class: Annotated[
        bool, typer.Option("--by-class", help="The share of --sets holds of every class by itself.")
    ] = False,
    calibrate: Annotated[
        str | None,
        typer.Option(
            "--calibrate",
            metavar="FILE",
            help="Rows with the right answers that the model was not fitted to, for --sets.",
        ),
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="The answers alone, without the columns of the input.")
    ] = False,
    rows: Annotated[
        int | None,
        typer.Option("--rows", min=1, metavar="N", help="Rows read at once. Default: by the width."),
    ] = None,
    delimiter: Delimiter = None,
    quiet: Quiet = False,
) -> int:
    from separatrix.app.commands.predict import Asked, run

    with Say(quiet).hearing() as say:
        asked = Asked(proba, only, sets, by_class, calibrate)
        return run(model, data, asked, out, rows, _mark(delimiter), say)


@app.command(
    "report",
    **_help(
        "Judge a model on rows whose answers are known.",
        "report out/iris/model.sepx iris",
        "report spam.sepx newer.csv --target class --out spam.html",
        "Prints scores with intervals, the table of mistakes and the verdict of its fit, and writes an HTML page.",
    ),
)
def _report(
    model: ModelFileArgument,
    data: Data,
    target: Target = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The page. Default: report-NAME.html beside the model."
        ),
    ] = None,
    delimiter: Delimiter = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    from separatrix.app.commands.report import run

    with Say(quiet, as_json).hearing() as say:
        return run(model, data, target, out, _mark(delimiter), seed, say)


@app.command(
    "explain",
    **_help(
        "Why a row gets its answer: what each column adds to the log-odds, or to the probability.",
        "explain out/iris/logistic.sepx iris --row 51",
        "explain spam.sepx mail.csv --row 3 --class spam --top 20",
        "Exact for models whose log-odds is a sum over columns (logistic regression, naive Bayes, linear "
        "discriminants, calibrated linear machines of two classes); the parts add up to the log-odds of the "
        "probabilities. Of all others (trees, forests, kernel machines) the probability is told apart, by Shapley "
        "values against rows of the table: exact of trees and of up to ten columns, else with standard errors.",
    ),
)
def _explain(
    model: ModelFileArgument,
    data: Data,
    row: Annotated[
        int, typer.Option("--row", "-r", metavar="N", help="The row, from 1, without the line of names.")
    ],
    label: Annotated[
        str | None,
        typer.Option("--class", metavar="CLASS", help="The class asked about. Default: the answer."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="CLASS", help="Compared with, of log-odds. Default: the next likely."
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, metavar="N", help="Parts shown.")] = 15,
    delimiter: Delimiter = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    from separatrix.app.commands.explain import run

    with Say(quiet, as_json).hearing() as say:
        return run(model, data, row, label, against, top, _mark(delimiter), say)


@app.command(
    "sql",
    **_help(
        "Write the query that answers the rows of a database as the model does.",
        "sql out/iris/model.sepx --dialect duckdb --table flowers --keep id",
        "sql spam.sepx --dialect sqlite --table mail > score.sql",
        "For models whose score is a sum over columns (logistic regression, linear_svc, naive Bayes, Gaussian "
        "discriminants, AdaBoost on stumps) and single trees. The answers are those of predict: a column 'predicted' "
        "and 'p(CLASS)' for each class, equal to the model's to twelve digits; NULL is a missing cell.",
    ),
)
def _sql(
    model: ModelFileArgument,
    dialect: Annotated[str, typer.Option("--dialect", "-d", help="sqlite, duckdb or postgres.")] = "sqlite",
    table: Annotated[
        str, typer.Option("--table", metavar="NAME", help="The table or view that the query reads.")
    ] = "data",
    keep: Annotated[
        str | None,
        typer.Option("--keep", metavar="A,B", help="Columns that stand before the answers, such as a key."),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Where it goes. Default: printed.")
    ] = None,
    quiet: Quiet = False,
) -> int:
    from separatrix.app.commands.sql import run

    with Say(quiet).hearing() as say:
        return run(model, dialect, table, keep, out, say)


@app.command(
    "separability",
    **_help(
        "Can a hyperplane separate the classes, and which columns do it?",
        "separability iris",
        "separability voting.csv --target Class --json",
        "Complete, up to ties, or not at all, with a proof that is checked. Where classes are separated, logistic "
        "regression without a penalty has no answer.",
    ),
)
def _separability(
    data: Data,
    target: Target = None,
    kinds: Kinds = None,
    header: Header = None,
    delimiter: Delimiter = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    from separatrix.app.commands.separability import run
    from separatrix.app.given import TableAsked

    with Say(quiet, as_json).hearing() as say:
        asked = TableAsked(data=data, target=target, kinds=kinds, header=header, delimiter=_mark(delimiter))
        return run(asked, say)


@app.command(
    "doctor",
    **_help(
        "What is installed here, where compiled loops come from, and what is wrong.",
        "doctor --fix",
        "doctor --json > doctor.json",
        "Versions, processor, cores, BLAS, folders of compiled loops, variables and extras, with a way out for "
        "whatever is wrong. Paste what it prints into a bug report: it holds no data, and ~ stands for your home. "
        "--json gives the same to programs.",
        "Exit codes: 0 done, nothing is wrong; 1 something is wrong that costs time, room or safety; 2 not "
        "understood; 130 interrupted.",
    ),
)
def _doctor(
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Compile the loops that are missing, a minute for all; remove files of no use."
        ),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    from separatrix.app.doctor import run

    return run(fix, Say(quiet, as_json))


@app.command(
    "bench",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["-h"]},
    **_help(
        "Race separatrix against other libraries, in a clone of the project.",
        "bench --list",
        "bench N1 --repeat 5",
        "Everything after bench goes to python -m benchmarks, whose own help follows this one where the clone is.",
    ),
)
def _bench(context: typer.Context) -> int:
    from separatrix.app.commands.bench import run

    return run(list(context.args), context.get_help())
