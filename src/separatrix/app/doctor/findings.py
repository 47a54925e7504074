"""What the facts mean:  findings(facts) → what is wrong and what is worth knowing, each with the way out.

wrong   costs the user time, room or safety: exit code 1        note    does not, as things are
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from separatrix.app.doctor.facts import Facts
from separatrix.loops.folders import File, Folder

LITTLE = 50 << 20  # bytes: what all loops take, several times
FIX = "separatrix doctor --fix"
# What Numba's variables do to loops; of the others of Numba it is only said that they are set.
CHANGES = {
    "NUMBA_OPT": "loops compiled under it are optimised otherwise",
    "NUMBA_BOUNDSCHECK": "loops compiled under it check every index",
    "NUMBA_DEBUGINFO": "loops compiled under it are slower",
    "NUMBA_LOOP_VECTORIZE": "loops compiled under it are vectorised otherwise",
    "NUMBA_SLP_VECTORIZE": "loops compiled under it are vectorised otherwise",
    "NUMBA_ENABLE_AVX": "loops compiled under it may do without AVX",
}


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, or worth knowing."""

    wrong: bool
    what: str
    way_out: str = ""

    def sentence(self) -> str:
        return f"{self.what}; {self.way_out}" if self.way_out else self.what


def findings(facts: Facts) -> list[Finding]:
    """All of them, what is wrong first."""
    parts = (libraries, loops, files, places, surroundings)
    return sorted((found for part in parts for found in part(facts)), key=lambda found: not found.wrong)


def libraries(facts: Facts) -> Iterator[Finding]:
    """What separatrix itself needs, and extras that are there and too old."""
    for extra, needs in facts.needs.items():
        for need in needs:
            if need.too_old or not (need.version or extra):
                is_ = f"is {need.version}" if need.version else "is not installed"
                what = f"{need.name} {is_}, and {f'the extra {extra}' if extra else 'separatrix'} needs {need.asked}"
                yield Finding(True, what, f"pip install '{need.name}{need.asked}'")
    if not facts.needs:
        yield Finding(False, "separatrix runs without being installed: what it needs is not known")
    if facts.loops.trouble:
        yield Finding(
            True,
            f"Numba cannot be imported: {facts.loops.trouble}",
            "pip install --upgrade numba llvmlite numpy",
        )


def loops(facts: Facts) -> Iterator[Finding]:
    """Loops for which there is no code."""
    state = facts.loops
    if not state.missing or state.trouble:
        return
    keeps = state.users is not None and not state.users.unwritable and _may_be_believed(state.users)
    when = "when first used" if keeps else "anew in every process that uses them"
    why = _why(facts)
    what = f"{len(state.missing)} of {state.listed} loops are compiled {when}{f': {why}' if why else ''}"
    can = keeps or (state.takes_built and not state.shipped.unwritable and _may_be_believed(state.shipped))
    yield Finding(
        True, what, f"{FIX} compiles them now" if can else "let a cache folder be written, then --fix"
    )


def _why(facts: Facts) -> str:
    """Why loops built with the package are not used."""
    state = facts.loops
    if not state.baseline:
        return f"none are built for processors of this kind ({facts.architecture})"
    if state.another:
        return f"NUMBA_CPU_NAME asks for {state.another}, and those in the package are for {state.baseline}"
    if not state.runs_baseline:
        said = " (so NUMBA_CPU_FEATURES says)" if "NUMBA_CPU_FEATURES" in facts.environment else ""
        lacks = ", ".join(state.lacks)
        return f"the processor {state.processor}{said} lacks {lacks}, which those built with the package use"
    if state.told:
        told = ", ".join(f"NUMBA_{word}" for word in state.told).replace("DEBUGINFO_DEFAULT", "DEBUGINFO")
        return f"Numba is told {told}, and those in the package were compiled without"
    if state.shipped.exposed:
        return "those in the package are not believed"
    if state.shipped.strays:
        (made, _), *_ = Counter(file.why for file in state.shipped.strays).most_common()
        here = f", and here is {state.versions}" if made.startswith("made with") else ""
        return f"those in the package were {made}{here}"
    if not state.shipped.files:
        return "none were built with the package"
    return ""


def files(facts: Facts) -> Iterator[Finding]:
    """Files that nobody believes, and files that nobody reads."""
    state = facts.loops
    for folder, why, group in _grouped(state.faults):
        many = f"{len(group)} compiled loops, {group[0].path.name} the first," if len(group) > 1 else ""
        be = _plural(why) if many else why
        joint = " " if be.startswith(("is ", "are ", "cannot ")) else ": "
        fixed = [place for place in (state.shipped, state.users) if place and place.path == folder]
        stuck = fixed and fixed[0].unwritable
        way = f"{FIX} removes {'them' if many else 'it'} and compiles what is missing"
        yield Finding(
            True,
            f"{many or group[0].path.name} in {folder}{joint}{be}",
            way
            if not stuck
            else f"install separatrix again, or remove {'them' if many else 'it'} as who may",
        )
    for named, what in (
        (state.strays, "of older sources or other versions"),
        (state.leftovers, "begun and never finished"),
    ):
        for folder, group in _by_folder(named).items():
            way = f"{FIX} removes {'it' if len(group) == 1 else 'them'}"
            yield Finding(False, f"{count(len(group), 'file')} ({size_of(group)}) {what} in {folder}", way)


def places(facts: Facts) -> Iterator[Finding]:
    """Where what is compiled here is kept."""
    state = facts.loops
    users = state.users
    costs = bool(state.missing)
    elsewhere = "set NUMBA_CACHE_DIR to a folder of yours"
    if users is None:
        yield Finding(costs, "there is no home where compiled loops could be kept", elsewhere)
        return
    if users.unwritable:
        what = f"what is compiled here cannot be kept in {users.path}: {users.unwritable}"
        yield Finding(costs, what, "make room, or " + elsewhere if "space" in users.unwritable else elsewhere)
    elif users.free is not None and users.free < LITTLE:
        yield Finding(True, f"{megabytes(users.free)} are free where {users.path} is", "make room")
    for folder, otherwise in (
        (state.shipped, "install separatrix again, where nobody else writes"),
        (users, "set NUMBA_CACHE_DIR to a folder of yours alone"),
    ):
        if folder.exposed:
            why = folder.exposed.removeprefix(f"{folder.path}: ")
            yield Finding(
                True,
                f"no loops are read from {folder.path}: {why}",
                f"{FIX} closes it" if folder.closable else otherwise,
            )


def _may_be_believed(folder: Folder) -> bool:
    return folder.closable or not folder.exposed


def surroundings(facts: Facts) -> Iterator[Finding]:
    """The environment, the cores, BLAS."""
    told = facts.environment
    if told.get("NUMBA_DISABLE_JIT", "0") not in ("0", ""):
        yield Finding(
            True, "NUMBA_DISABLE_JIT is set: loops run as Python, hundreds of times slower", "unset it"
        )
    for name, does in CHANGES.items():
        if name in told:
            yield Finding(False, f"{name}={told[name]} is set: {does}", "unset it")
    cores = facts.cores
    if cores.quota is not None and cores.quota < cores.allowed - 0.5:
        paid = max(round(cores.quota), 1)
        yield Finding(
            False,
            f"the control group pays for {cores.quota:g} cores, and {cores.allowed} threads would share them",
            f"start it by taskset -c 0-{paid - 1}, or in Python separatrix.engine(workers={paid})",
        )
    if not facts.blas:
        yield Finding(
            False, "no BLAS that threadpoolctl knows: its threads are its own affair within a sweep"
        )


def _grouped(faults: Iterable[File]) -> Iterator[tuple[Path, str, list[File]]]:
    """(folder, why, files)."""
    groups: dict[tuple[Path, str], list[File]] = {}
    for file in faults:
        why = "cannot be used" if file.why.startswith("cannot be used") else file.why
        groups.setdefault((file.path.parent, why), []).append(file)
    for (folder, why), group in groups.items():
        yield folder, group[0].why if len(group) == 1 else why, group


def _by_folder(named: Iterable[File]) -> dict[Path, list[File]]:
    found: dict[Path, list[File]] = {}
    for file in named:
        found.setdefault(file.path.parent, []).append(file)
    return found


def _plural(why: str) -> str:
    """What is said of one file, said of several.

    >>> _plural("is torn, or no file of ours")
    'are torn, or no files of ours'
    """
    return {
        "is torn, or no file of ours": "are torn, or no files of ours",
        "is about something else": "are about something else",
        "it is another user's": "they are another user's",
        "any user can write to it": "any user can write to them",
        "its group can write to it": "their group can write to them",
        "others can write to it": "others can write to them",
    }.get(why, why)


def count(n: int, what: str) -> str:
    """A number of things.

    >>> count(1, "file"), count(2, "file")
    ('1 file', '2 files')
    """
    return f"{n} {what}{'' if n == 1 else 's'}"


def size_of(files: Iterable[File]) -> str:
    return megabytes(sum(file.size for file in files))


def megabytes(size: int) -> str:
    """A number of bytes for people.

    >>> megabytes(900), megabytes(6_459_802), megabytes(83_835_310_080)
    ('0.9 kB', '6.5 MB', '83.8 GB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size / 1e3:.1f} kB"
