"""docs/notes.md holds every place in the notes, and every row of the specification, that the source cites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import separatrix

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "separatrix"
NOTES = (ROOT / "docs" / "notes.md").read_text(encoding="utf-8")

TAG = re.compile(r"\[(\d{3,4}|[A-Z]{2})\]")
MEANT = re.compile(
    r"(?:\b[Nn]otes:? |\s\()$"
)  # before a tag, so that one that is misspelt is told from an index
# What follows a tag: a number such as 3.2.1 or 5.1–5.3, or a heading in quotation marks; a lone mark is a slip.
PLACE = re.compile(r'\s*(?P<place>\d+(?:\.\d+)*(?:[–-]\d+(?:\.\d+)*)?|"[^"]{0,90}"|")')
NEXT = re.compile(
    r"\s*(?:\([^()]*\)\s*)?(?:,|and\b)(?:\s+and\b)?"
)  # between two places: 5.2 (hard margin), 5.3
ROW = r"[A-Z]\d{1,2}(?:[–-][A-Z]\d{1,2})?"
LIST = rf"{ROW}(?:(?:,|;|,? and)\s+{ROW})*"
# "row D6", "rows G1–G3 and M4", "(T1–T3)", "([6321]; V3, V4)", "([6867] 3.1.3, G9)"
ROWS = re.compile(rf'\b[Rr]ows?\s+({LIST})|(?:\s\(|[\]\d"][,;]\s)({LIST})\)')


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def tables() -> Iterator[tuple[str, list[str]]]:
    """(heading above, cells) of every line of a table in docs/notes.md, without the lines that rule them."""
    heading = ""
    for line in NOTES.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|") and not line.startswith("|---"):
            yield heading, cells(line)


def known_places() -> dict[str, set[str]]:
    """{tag: places}: numbers of the first column, and what is in quotation marks in the first two."""
    places: dict[str, set[str]] = {}
    for heading, (first, second, *_) in tables():
        if tag := TAG.match(heading):
            here = places.setdefault(tag[1], set())
            here.update(re.findall(r'"[^"]+"', f"{first} {second}"))
            here.update(re.findall(r"^[\d.]+$", first))
    return places


def known_rows() -> dict[str, str]:
    """{row: its names}."""
    return {first: rest[-1] for _, (first, *rest) in tables() if re.fullmatch(r"[A-Z]\d+", first)}


PLACES, KNOWN_ROWS = known_places(), known_rows()


def unwrapped(text: str) -> str:
    """Without indents and comment marks; every line stays a line."""
    return re.sub(r"\n[ \t]*#?[ \t]*", "\n", text)


def spread(label: str) -> list[str]:
    """G1–G3 ↦ G1, G2, G3, and 5.1–5.3 alike; a range that goes nowhere stays as it is, and is found nowhere."""
    ends = re.fullmatch(r"(.*?)(\d+)[–-](.*?)(\d+)", label)
    if not ends:
        return [label]
    stem, start, same, stop = ends[1], int(ends[2]), ends[3], int(ends[4])
    return [f"{stem}{i}" for i in range(start, stop + 1)] if stem == same and start < stop else [label]


def places_cited(text: str) -> Iterator[tuple[int, str, str]]:
    """(line, tag, place) of every citation; the place of a tag alone is ""."""
    text = unwrapped(text)
    for tag in TAG.finditer(text):
        if tag[1] not in PLACES and not MEANT.search(text[: tag.start()][-8:]):
            continue
        line, at, comma = text.count("\n", 0, tag.start()) + 1, tag.end(), re.compile(",?")
        yield line, tag[1], ""
        while (gap := comma.match(text, at)) and (found := PLACE.match(text, gap.end())):
            for place in [found["place"]] if '"' in found["place"] else spread(found["place"]):
                yield line, tag[1], " ".join(place.split())
            at, comma = found.end(), NEXT


def rows_cited(text: str) -> Iterator[tuple[int, str]]:
    """(line, row) of every row, ranges spread out."""
    text = unwrapped(text)
    for found in ROWS.finditer(text):
        for label in re.findall(ROW, found[1] or found[2]):
            for row in spread(label):
                yield text.count("\n", 0, found.start()) + 1, row


def dangling(text: str) -> list[str]:
    """What a text cites and docs/notes.md has not, each after its line."""
    wrong = [
        (line, f"[{tag}] {place}".strip())
        for line, tag, place in places_cited(text)
        if tag not in PLACES or (place and place not in PLACES[tag])
    ]
    wrong += [(line, f"row {row}") for line, row in rows_cited(text) if row not in KNOWN_ROWS]
    return [f"{line}: {what}" for line, what in sorted(wrong)]


def sources() -> dict[str, str]:
    return {
        p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in sorted(SOURCE.rglob("*.py"))
    }


def test_every_place_and_row_that_the_source_cites_is_in_the_notes() -> None:
    found = [f"{path}:{what}" for path, text in sources().items() for what in dangling(text)]
    assert not found, "not in docs/notes.md:\n" + "\n".join(found)


def test_citations_are_still_seen() -> None:
    texts = sources().values()
    places = [(tag, place) for text in texts for _, tag, place in places_cited(text)]
    assert {tag for tag, _ in places} == set(PLACES) == {"6867", "PC", "6321", "726", "446"}
    assert sum(place != "" for _, place in places) >= 150
    assert {"G1", "D8", "B3", "M12", "E5", "T3", "V4", "O8"} <= {
        row for text in texts for _, row in rows_cited(text)
    }


def test_wrong_references_are_seen() -> None:
    text = '''"""A rule ([6867] 3.2.9, 5.1–5.3 (margins) and 5.4; [6321] "SMO", "Sequential
    minimal optimisation"). Notes [6876] 3.1; [PC],
    "The Soft-Max", [446] "
    ". A doubtful index is x[726] or [300]. Rows D6, D10 and
    # G12–G14 of the specification; ([726], V9).
    """'''
    assert dangling(text) == [
        '1: [6321] "Sequential minimal optimisation"',
        "1: [6867] 3.2.9",
        "2: [6876]",
        "2: [6876] 3.1",
        '3: [446] " "',
        "4: row D10",
        "4: row G14",
        "5: row V9",
    ]
    assert dangling('([PC] "The Soft-Max" and Newton, [6867] 3.1.3.3; rows M2–M12, T1.) Rows X (n, p).') == []


def test_rows_are_those_of_the_specification() -> None:
    last = {"G": 13, "D": 9, "B": 3, "M": 12, "E": 5, "T": 3, "V": 5, "O": 12, "P": 5}
    assert list(KNOWN_ROWS) == [f"{letter}{i}" for letter, n in last.items() for i in range(1, n + 1)]


def test_names_are_public() -> None:
    """A name without a leading dot is importable; a row without a name is planned, or speaks of every estimator."""
    for heading, row in tables():
        in_notes = TAG.match(heading) is not None
        if not in_notes and row[0] not in KNOWN_ROWS:
            continue
        assert in_notes or re.search(r"`|\*planned\*|every estimator", row[-1]), row
        for name in re.findall(r"`((?:show\.)?[A-Za-z]\w+)`", row[-1]):
            room, _, short = name.rpartition(".")
            home = separatrix.show if room else separatrix
            assert short in home.__all__, f"{row[0]}: {name}"
