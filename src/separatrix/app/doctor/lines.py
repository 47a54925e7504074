"""The facts in lines, for terminals and bug reports:  lines(facts, findings, changed, width) → (text, style)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from separatrix.app.doctor.extras import BRINGS, Need
from separatrix.app.doctor.facts import Facts, homeless
from separatrix.app.doctor.findings import Finding, count, megabytes
from separatrix.loops.folders import Folder

LABEL = 12
MOST = 40  # characters of a variable's value


def lines(
    facts: Facts, found: Sequence[Finding], changed: Sequence[str], width: int
) -> Iterator[tuple[str, str]]:
    """What is printed, line by line."""
    wrong = [finding for finding in found if finding.wrong]
    notes = [finding for finding in found if not finding.wrong]
    state = f"{count(len(wrong), 'thing')} wrong" if wrong else "healthy"
    yield f"separatrix {facts.separatrix}: {state}", "bold red" if wrong else "bold green"
    yield "", ""
    for label, text in table(facts):
        yield from ((line, "") for line in _wrapped(label.ljust(LABEL), homeless(text), width))
    for title, items, style in (
        ("changed", list(changed), "bold"),
        ("wrong", wrong, "red"),
        ("notes", notes, ""),
    ):
        if items:
            yield "", ""
            yield title, "bold"
        for item in items:
            said = homeless(item.sentence() if isinstance(item, Finding) else item)
            yield from ((line, style) for line in _wrapped("  - ", said, width))


def table(facts: Facts) -> Iterator[tuple[str, str]]:
    """(label, text) of every row."""
    yield "package", str(facts.package)
    yield "python", facts.python
    own = [f"{need.name} {need.version or 'missing'}" for need in facts.needs.get("", ())]
    llvm = facts.loops.versions.rpartition("llvmlite ")[2]
    yield "libraries", ", ".join([*own, *([f"llvmlite {llvm}"] if llvm else [])]) or "unknown"
    yield "system", facts.system
    yield from _machine(facts)
    yield from _loops(facts)
    told = [f"{name}={_short(value)}" for name, value in facts.environment.items()]
    yield "environment", ", ".join(told) or "nothing set that matters"
    for i, (name, brings) in enumerate(BRINGS.items()):
        if name in facts.needs:
            yield "extras" if i == 0 else "", _extra(name, brings, facts.needs[name])


def _machine(facts: Facts) -> Iterator[tuple[str, str]]:
    state, cores = facts.loops, facts.cores
    known = f"{facts.processor} ({facts.architecture}{f', {state.processor}' if state.processor else ''})"
    if state.trouble:
        fits = ""
    elif not state.baseline:
        fits = "; no loops are built for its kind"
    elif state.another:
        fits = f"; NUMBA_CPU_NAME asks for another than loops are built for ({state.baseline})"
    else:
        runs = "runs" if state.runs_baseline else f"lacks {', '.join(state.lacks)} for"
        fits = f"; {runs} loops built for {state.baseline}"
    yield "processor", known + fits
    limit = "" if cores.quota is None else f"; the control group pays for {cores.quota:g}"
    sweeps = count(cores.allowed, "thread")
    yield "cores", f"{cores.allowed} of {cores.machine} for this process{limit}; sweeps on {sweeps}"
    for i, blas in enumerate(facts.blas):
        about = ", ".join(filter(None, (blas.built_for, blas.layer)))
        named = f"{blas.name} {blas.version} of {blas.of}{f' ({about})' if about else ''}"
        yield "" if i else "BLAS", f"{named}: {count(blas.threads, 'thread')}, 1 in sweeps"
    if not facts.blas:
        yield "BLAS", "none that threadpoolctl knows"


def _loops(facts: Facts) -> Iterator[tuple[str, str]]:
    state = facts.loops
    from_ = {"built": "built with the package", "built here": "built here", "cached": "compiled here before"}
    parts = [f"{state.origins[name]} {text}" for name, text in from_.items() if state.origins.get(name)]
    if state.missing:
        parts.append(f"{len(state.missing)} not compiled yet")
    yield "loops", f"{state.listed}: {', '.join(parts)}"
    yield "  shipped", _folder(state.shipped)
    yield "  cache", _folder(state.users) if state.users else "no home, no cache"


def _folder(folder: Folder) -> str:
    writes = f"cannot be written ({folder.unwritable})" if folder.unwritable else "can be written"
    free = "" if folder.free is None else f", {megabytes(folder.free)} free"
    holds = f"{count(folder.files, 'file')}, {megabytes(folder.size)}" if folder.files else "empty"
    if folder.others:
        holds += f" ({len(folder.others)} of other sources or versions)"
    return f"{folder.path}: {holds}; {writes}{free}"


def _extra(name: str, brings: str, needs: Sequence[Need]) -> str:
    absent = [need for need in needs if not need.met]
    if absent:
        lacking = ", ".join(f"{need.name}{need.asked}" for need in absent)
        return f"{name.ljust(8)} missing {lacking}, for {brings}: pip install 'separatrix[{name}]'"
    if name == "app":  # what it has from other extras is said there
        needs = [need for need in needs if need.name in ("typer", "rich")]
    return f"{name.ljust(8)} {', '.join(f'{need.name} {need.version}' for need in needs)}"


def _short(value: str) -> str:
    value = homeless(value)
    return value if len(value) <= MOST else value[: MOST - 1] + "…"


def _wrapped(label: str, text: str, width: int) -> list[str]:
    """A label and a text beside it, on as many lines as it takes; paths and names are never broken."""
    said = textwrap.wrap(text, max(width - len(label), 30), break_long_words=False, break_on_hyphens=False)
    return [f"{label if i == 0 else ' ' * len(label)}{line}".rstrip() for i, line in enumerate(said or [""])]
