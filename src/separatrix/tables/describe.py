"""What an encoder does to a column, in words (see encode.py). O(1) a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from separatrix.tables import learned
from separatrix.tables.coded_levels import HashedColumn, TargetColumn

if TYPE_CHECKING:
    from separatrix.tables.encode import TableEncoder

SHOWN = 6  # levels that are listed


def said_of(encoder: TableEncoder, part: learned.LearnedColumn) -> str:
    """What the encoder's form makes of a column that it shows."""
    if encoder.form == "native":
        if learned.holds_levels(part):
            return "words as they are"
        return "days, month and weekday" if isinstance(part, learned.DateColumn) else "numbers as they are"
    if isinstance(part, learned.NumberColumn):
        return "counts as they are" if encoder.form == "counts" else _numbers(part, encoder.standardize)
    if isinstance(part, learned.LevelColumn):
        return _levels(part, getattr(encoder, "_least", 1))
    if isinstance(part, TargetColumn):
        count = len(part.levels)
        many = f"{count:,} level{'s' * (count != 1)}{' and missing cells' if part.gaps else ''}"
        return (
            f"the {' and the '.join(part.told[:3])}{', …' if len(part.told) > 3 else ''} in each of {many}, shrunk "
            "to the whole's, learned out of fold; a new level has the whole's"
        )
    if isinstance(part, HashedColumn):
        done = f"{part.count:,} levels hashed (CRC-32) into {part.size:,} columns of 0 and 1, and so is a new one"
        return f"{done}; a column for {_gaps(part.gaps)}" if part.gaps else done
    if isinstance(part, learned.DateColumn):
        return f"{', '.join(part.parts)}" + (
            "; a missing date is the average one, and said" if part.gaps else ""
        )
    if isinstance(part, learned.WordColumn):
        return "; ".join(encoder._weighed(part).describe())
    return f"divided by {part.scale:.4g}"


def _numbers(part: learned.NumberColumn, scaled: bool) -> str:
    done = f"(x − {part.mean:.4g})/{part.scale:.4g}" if scaled else "as it is"
    if part.gaps:
        cells = f"{part.gaps:,} missing cell{'s' * (part.gaps > 1)}"
        done += f"; {cells} → the median {part.median:.4g}, and a column that says so"
    return done


def _levels(part: learned.LevelColumn, least: int) -> str:
    kept, parts = part.kept(), []
    if kept:
        listed = ", ".join(map(repr, kept[:SHOWN]))
        many = len(kept) > SHOWN
        parts.append(f"0 or 1 for {f'each of {len(kept):,} levels, ' if many else ''}{listed}{', …' * many}")
    if part.reference is not None:
        parts.append(f"{part.reference!r} is the reference, 0 in all")
    if part.pooled:
        count = f"{part.pooled:,}{' rare' * bool(part.levels)} level{'s' * (part.pooled > 1)}"
        rows = f" (fewer than {least} rows)" if least > 1 else ""
        which = f"{count}{rows}" if part.levels else f"all {count}, each rare{rows},"
        parts.append(f"{which} pooled as {part.other}, and so is a new one")
    if part.gaps:
        parts.append(f"a column for {_gaps(part.gaps)}")
    return "; ".join(parts if part.pooled else [*parts, "a new level is 0 in all"])


def _gaps(count: int) -> str:
    return f"the {count:,} missing cell{'s' * (count > 1)}"
