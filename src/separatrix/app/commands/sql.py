"""``separatrix sql``: the query that answers the rows of a database as a model does (rows O4, O12)."""

from __future__ import annotations

import sys
from pathlib import Path

from separatrix.app.errors import OK, AppError, UsageError, unknown
from separatrix.app.kept import open_model
from separatrix.app.outputs import write_text
from separatrix.app.say import Say
from separatrix.files.sql import SqlExportError, to_sql
from separatrix.files.sql_write import DIALECTS


def run(model: str, dialect: str, table: str, keep: str | None, out: str | None, say: Say) -> int:
    if dialect not in DIALECTS:
        raise UsageError(f"--dialect: {unknown('dialect', dialect, list(DIALECTS))}")
    if not table.strip():
        raise UsageError("--table is empty; give the name of the table that the query reads")
    names = [name.strip() for name in (keep or "").split(",") if name.strip()]
    kept = open_model(model, say)
    try:
        text = to_sql(kept.model, dialect=dialect, table=table, keep=names)
    except SqlExportError as error:
        raise AppError(f"{model}: {error}") from None
    if out is None:
        sys.stdout.write(text)
    else:
        write_text(Path(out), text)
    say.note(f"a query of {len(text):,} characters on {table}" + (f" in {out}" if out else ""))
    return OK
