"""``separatrix separability``: can a hyperplane part the classes, and which columns do it (row O4, [6867] 3.2.2)."""

from __future__ import annotations

from dataclasses import replace

from separatrix.app.errors import OK
from separatrix.app.given import TableAsked
from separatrix.app.say import Say
from separatrix.tables.encode import TableEncoder
from separatrix.verdict.separability import separability

MOST_LEVELS = 100  # of a column, the others pooled: a proof takes time in the square of the columns


def run(asked: TableAsked, say: Say) -> int:
    table = asked.read(say)
    encoder = TableEncoder(
        kinds=dict(table.kinds), drop="first", rare=1, max_levels=MOST_LEVELS, standardize=False
    )
    X = encoder.fit_transform(table.frame)
    names = encoder.get_feature_names_out().tolist()
    found = separability(X, table.labels)
    named = replace(found, columns=tuple(names[c] if isinstance(c, int) else c for c in found.columns))
    first, *columns = encoder.describe()
    say.notes([first, *(line for line in columns if "pooled" in line)])
    say.result(named.sentence())
    checked = found.check(X, table.labels)
    say.note(
        "the proof was checked against the rows and holds" if checked else "the proof was checked and fails"
    )
    say.data(
        {
            "source": table.source,
            "target": table.target,
            "rows": len(table),
            "kind": found.kind,
            "separable": found.separable,
            "columns": list(named.columns),
            "sentence": named.sentence(),
            "proof_checked": checked,
        }
    )
    return OK
