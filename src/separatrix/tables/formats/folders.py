"""A folder of documents:  one a file, the first folder below is the label. Cost: one pass over the bytes."""

from __future__ import annotations

import os
import re
from pathlib import Path

from separatrix.tables.sources import LIMIT, Source, TableError, decoded, open_source


def read_folder(folder: Path) -> tuple[dict[str, list[str]], list[str] | None, list[str]]:
    """One document a file; the first folder below is the label, where there are folders."""
    blank = Source(folder, "folder", False)
    try:
        entries = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    except PermissionError:
        raise blank.refuse("not allowed to look into the folder; change its permissions") from None
    except OSError as error:
        raise blank.refuse(f"cannot be read ({error.strerror}); check the path") from None
    folders = [p for p in entries if p.is_dir() and not p.is_symlink()]
    loose = [p for p in entries if p.is_file()]
    notes: list[str] = []
    found: list[tuple[str, Path]] = []
    if folders:
        found = [(f.name, p) for f in folders for p in _files(f)]
        if loose:
            one = len(loose) == 1
            what = "1 file beside the folders was" if one else f"{len(loose):,} files beside the folders were"
            notes.append(f"{what} left out ({'' if one else 'first: '}{loose[0].name!r})")
    ending = re.compile(r"\.(csv|tsv|parquet|jsonl|arff|svm|feather|arrow)(\.gz)?$")
    tables = [p.name for p in loose if ending.search(p.name)]
    if not found and tables:
        raise blank.refuse(f"a folder of tables, not of documents; name one of them: {', '.join(tables[:5])}")
    labelled = bool(found)
    if not labelled:
        found = [("", p) for p in loose]
    if not found:
        raise blank.refuse("no document in the folder; put one document a file, in one folder a class")
    cells: dict[str, list[str]] = {"file": [], "text": []}
    labels, total, skipped = [], 0, []
    for label, path in found:
        try:
            source = open_source(path, "document")
            content = source.content()
            total += len(content)
            text = decoded(source, content)[0]
        except TableError as error:
            skipped.append(str(error).split(";")[0])
            continue
        if total > LIMIT:
            raise blank.refuse(f"more than {LIMIT >> 30} GB of documents; read a part")
        cells["file"].append(str(path.relative_to(folder)))
        cells["text"].append(text)
        labels.append(label)
    if not labels:
        raise blank.refuse(f"no document could be read ({skipped[0]}); give files of text")
    if skipped:
        one = len(skipped) == 1
        what = (
            "1 file could not be read and was"
            if one
            else f"{len(skipped):,} files could not be read and were"
        )
        notes.append(f"{what} left out ({'' if one else 'first: '}{skipped[0]})")
    return cells, labels if labelled else None, notes


def _files(folder: Path) -> list[Path]:
    """Files below a folder; links to folders are not followed, so that no loop is entered."""
    out = []
    for here, inner, files in os.walk(folder):
        inner[:] = sorted(d for d in inner if not d.startswith("."))
        places = (Path(here) / f for f in sorted(files) if not f.startswith("."))
        out += [p for p in places if p.is_file()]
    return out
