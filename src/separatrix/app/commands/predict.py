"""``separatrix predict``: a file of any size, piece by piece, with answers as further columns (row O4).

Cells are written as they were read; what the model sees is made from them. Memory: two pieces,
one being read while the other is answered and written.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import numpy as np

from separatrix.app.errors import OK, AppError, UsageError, unknown
from separatrix.app.kept import Kept, needed, open_model
from separatrix.app.outputs import growing, whole_file
from separatrix.app.say import Say, plain
from separatrix.data.pool import background
from separatrix.models.sets import calibrate_sets, members, promise, thresholds
from separatrix.tables.cells import NUMBER
from separatrix.tables.chunks import arrow_words, chunks_as_written, read_chunks
from separatrix.tables.delimited import lines
from separatrix.tables.sources import Source, located

OUT = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".xlsx": "excel"}
SEEN = 0.05  # of rows kept apart: a row may be like one of training by chance
CODE = re.compile(r"[+-]?0\d|\d{17}")  # digits that a number would not give back


@dataclass(frozen=True)
class Asked:
    """What is added to the rows: probabilities, sets of classes; and whether the columns of the input stay."""

    proba: bool = False
    only: bool = False
    sets: float | None = None
    by_class: bool = False
    calibrate: str | None = None


def run(
    model: str,
    data: str,
    asked: Asked,
    out: str | None,
    rows: int | None,
    delimiter: str | None,
    say: Say,
) -> int:
    kept = open_model(model, say)
    if asked.proba and not hasattr(kept.model, "predict_proba"):
        raise AppError(f"{model}: {kept.name} has no probabilities; leave out --proba, or fit another model")
    widths = _widths(kept, asked, delimiter, say)
    source = located(data)
    form = _form(out, source)
    at_once = rows or kept.rows_at_once()
    target = growing(Path(out)) if out and form != "excel" else nullcontext(None) if out else _printed()
    moving = say.aside.status("reading") if say.live and out else nullcontext(None)
    with target as file, moving as status:
        answered = _answered(
            kept, _pieces(kept, data, source, form, at_once, delimiter), asked, widths, status
        )
        if file is None:
            count = _write_workbook(Path(str(out)), answered)
        else:
            count = 0
            for original, answers, length in answered:
                _write(file, form, original, answers, count == 0)
                count += length
            file.flush()
        say.note(f"{count:,} rows" + (f" in {out}" if out else ""))
    return OK


def _answered(
    kept: Kept, pieces: Iterator[tuple[Any, Any]], asked: Asked, widths: Any, status: Any
) -> Iterator[tuple[Any, dict[str, Any], int]]:
    """(the rows as they are written, the columns to add, how many rows) a piece at a time."""
    count = 0
    for piece, original in _ahead(pieces):
        answers = _answers(kept, piece, asked, widths)
        if asked.only:
            original = [{} for _ in original] if isinstance(original, list) else {}
        yield original, answers, len(piece)
        count += len(piece)
        if status is not None:
            status.update(f"{count:,} rows")


@contextmanager
def _printed() -> Iterator[IO[str]]:
    """Standard output; whoever reads it may have read enough and closed it."""
    try:
        yield sys.stdout
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _form(out: str | None, source: Source | None) -> str:
    """What is written: by the name of the output, else as what was read."""
    if out is not None:
        suffixes = [s.lower() for s in Path(out).suffixes if s.lower() != ".gz"]
        found = OUT.get(suffixes[-1] if suffixes else "")
        if found is None:
            raise UsageError(f"--out {out}: {unknown('ending', suffixes[-1] if suffixes else '', list(OUT))}")
        return found
    return source.format if source is not None and source.format in ("tsv", "jsonl") else "csv"


def _pieces(
    kept: Kept, data: str, source: Source | None, form: str, rows: int, delimiter: str | None
) -> Iterator[tuple[Any, Any]]:
    """(what the model sees, the rows as they are written) a piece at a time: {column: words}, a frame, or records."""
    held = source.format if source is not None else ""
    if kept.schema is None:
        for frame in kept.pieces(data, extra=True, delimiter=delimiter):
            yield kept.fitting(frame), frame
        return
    schema = needed(kept.schema)
    if held == "jsonl" and form == "jsonl":
        assert source is not None
        yield from zip(kept.pieces(data, rows, delimiter=delimiter), _records(source, rows))
    elif held == "svmlight":  # thousands of columns, most of them 0: not written
        for piece in read_chunks(data, schema, rows=rows, delimiter=delimiter):
            yield piece, piece[[c for c in piece.columns if c not in kept.schema.kinds]]
    elif form == "jsonl" and held not in ("csv", "tsv", "text"):
        for piece in read_chunks(data, schema, rows=rows, delimiter=delimiter):
            yield piece, piece
    else:
        yield from chunks_as_written(data, schema, rows=rows, delimiter=delimiter)


def _ahead(pieces: Iterator[Any]) -> Iterator[Any]:
    """The same pieces, the next one read while this one is worked on."""
    with background() as submit:
        coming = submit(next, pieces, None)
        while (piece := coming.result()) is not None:
            coming = submit(next, pieces, None)
            yield piece


def _records(source: Source, rows: int) -> Iterator[list[dict[str, Any]]]:
    held: list[dict[str, Any]] = []
    with source.stream() as stream:
        start = stream.read(64).lstrip(b"\xef\xbb\xbf \r\n\t")
    with source.stream() as stream:
        made = (
            json.loads(stream.read().decode("utf-8-sig"))
            if start.startswith(b"[")
            else (
                json.loads(text) for line in stream if (text := line.decode("utf-8-sig", "replace").strip())
            )
        )
        for record in made:
            held.append(record)
            if len(held) == rows:
                yield held
                held = []
    if held:
        yield held


def _widths(kept: Kept, asked: Asked, delimiter: str | None, say: Say) -> np.ndarray | None:
    """How wide the sets of every class are, and what they promise, said; None where no sets are asked for."""
    if asked.sets is None:
        if asked.by_class or asked.calibrate:
            raise UsageError(
                f"{'--by-class' if asked.by_class else '--calibrate'} is for sets; add --sets 0.9"
            )
        return None
    if not 0 < asked.sets < 1:
        raise UsageError(f"--sets {asked.sets:g} is no share between 0 and 1; give 0.9 for nine rows of ten")
    if not hasattr(kept.model, "predict_proba"):
        raise AppError(
            f"{kept.path}: {kept.name} has no probabilities, from which sets are cut; fit another model"
        )
    if asked.calibrate is not None:
        frame, labels, _ = kept.labelled(asked.calibrate, None, delimiter)
        seen = kept.share_seen(frame, labels) or 0.0
        if seen > SEEN:
            raise AppError(
                f"{asked.calibrate}: the model was fitted to about {seen:.0%} of these rows, which say nothing of "
                "new ones; give rows kept apart"
            )
        if seen:
            say.alert("warning", f"{asked.calibrate}: about {seen:.1%} of the rows are like rows of training")
        calibrate_sets(kept.model, frame, labels)
    if not hasattr(kept.model, "conformal_"):
        raise AppError(
            f"{kept.path}: the model does not know how wide its sets must be; make it by separatrix compare, or give "
            "rows with the right answers by --calibrate FILE"
        )
    try:
        found = thresholds(kept.model, asked.sets, by_class=asked.by_class)
    except ValueError as error:
        told = str(error).replace("by_class", "--by-class").replace(": give more", "; give more")
        raise AppError(f"{asked.calibrate or kept.path}: {told}") from None
    say.note(promise(kept.model, asked.sets, asked.by_class))
    return found


def _set(labels: list[str], row: list[bool]) -> str:
    """Labels between bars; a bar within a label is doubled.

    >>> _set(["a", "b|c", "d"], [True, True, False])
    'a|b||c'
    """
    return "|".join(label.replace("|", "||") for label, there in zip(labels, row) if there)


def _answers(kept: Kept, piece: Any, asked: Asked, widths: np.ndarray | None) -> dict[str, Any]:
    """Columns to add; a pipeline's encoder is asked once."""
    model = kept.model
    several = asked.proba or widths is not None
    if several and len(getattr(model, "steps", ())) == 2:
        piece, model = model[:-1].transform(piece), model[-1]
    found: dict[str, Any] = {"predicted": np.asarray(model.predict(piece))}
    P = np.asarray(model.predict_proba(piece)) if several else np.empty((0, 0))
    if asked.proba:
        found |= {f"p({label})": P[:, k] for k, label in enumerate(kept.classes.tolist())}
    if widths is not None:
        labels = [str(label) for label in kept.classes.tolist()]
        found["set"] = np.array([_set(labels, row) for row in members(P, widths).tolist()])
    return found


def _write(file: IO[str], form: str, original: Any, answers: dict[str, Any], first: bool) -> None:
    if isinstance(original, list):
        columns = {_free(name, original[0]): values.tolist() for name, values in answers.items()}
        for i, record in enumerate(original):
            record.update({name: plain(values[i]) for name, values in columns.items()})
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
        return
    named = {_free(name, original): values for name, values in answers.items()}
    if form == "jsonl":
        import pandas as pd

        frame = pd.DataFrame(
            {n: c if isinstance(c, pd.Series) else c.to_pandas() for n, c in original.items()}
        )
        file.write(
            frame.assign(**named).to_json(
                orient="records", lines=True, force_ascii=False, date_format="iso", double_precision=15
            )
        )
        return
    delimiter = "\t" if form == "tsv" else ","
    words = _words(original, named)
    if first:
        file.write(lines([[name] for name in words], delimiter))
    file.write(lines(list(words.values()), delimiter))


def _words(original: Any, answers: dict[str, Any]) -> dict[str, Any]:
    """Every column as words: those of the input as they are written, then the answers."""
    words = {str(name): arrow_words(column) for name, column in original.items()}
    return words | {name: _spelled(values) for name, values in answers.items()}


def _write_workbook(path: Path, answered: Iterator[tuple[Any, dict[str, Any], int]]) -> int:
    """One sheet with all rows; numbers and dates as such. How many rows."""
    from separatrix.tables.formats.sheets import write_rows

    count = 0

    def blocks() -> Iterator[list[list[Any]]]:
        nonlocal count
        for original, answers, length in answered:
            named = {_free(name, original): values for name, values in answers.items()}
            words = _words(original, named)
            columns = [[_cell(word) for word in column.to_pylist()] for column in words.values()]
            yield [[name, *cells] for name, cells in zip(words, columns)] if not count else columns
            count += length

    with whole_file(path) as made:
        write_rows(Path(made), blocks())
    return count


def _cell(word: str | None) -> Any:
    """A word as a cell of a sheet: a number, a date, or text as it stands.

    >>> _cell("1.50"), _cell("007"), _cell("2024-01-31"), _cell("=A1"), _cell(" "), _cell(None)
    (1.5, '007', datetime.datetime(2024, 1, 31, 0, 0), '=A1', None, None)
    """
    bare = (word or "").strip()
    if not bare:
        return None
    if NUMBER.fullmatch(bare) and not CODE.match(bare.removesuffix(".0")):
        value = float(bare)
        return int(bare) if re.fullmatch(r"[+-]?\d+", bare) else value if np.isfinite(value) else word
    if re.fullmatch(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", bare):
        try:
            return datetime.fromisoformat(bare)
        except ValueError:
            return word
    return word


def _spelled(values: np.ndarray) -> Any:
    """Answers as Arrow strings: a probability by the fewest digits that give it back, a label as Python says it."""
    import pyarrow as pa

    if values.dtype.kind == "f":
        return pa.array(values).cast(pa.string())
    different, codes = np.unique(values, return_inverse=True)
    return pa.array([str(v) for v in different.tolist()], pa.string()).take(pa.array(codes))


def _free(name: str, taken: Any) -> str:
    """The name, longer where a column has it already."""
    while name in taken:
        name += "_"
    return name
