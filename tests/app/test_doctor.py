"""separatrix doctor: what is broken is named, with the way out, and --fix mends what can be mended."""

from __future__ import annotations

import errno
import json
import os
import pickle
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("typer")

from separatrix.app.doctor import extras, facts
from separatrix.app.doctor.facts import homeless
from separatrix.data.machine import Cores
from separatrix.loops import build, folders, kept, state
from tests.app.said import one_sentence
from tests.few_loops import FEW, LISTED

ALL = len(FEW)
FIRST, SECOND, THIRD, FOURTH, FIFTH = FEW
ROOT = Path(__file__).parents[2]


def told(said):
    """What was said, without the ends of lines."""
    return " ".join(said.split())


@pytest.fixture
def doctor(run, few):
    """doctor("--fix") → (exit code, what was said on both outputs)."""

    def doctor(*arguments):
        code, out, error = run("doctor", *arguments)
        return code, told(out) + (f" {told(error)}" if error else "")

    return doctor


def read_only(monkeypatch, *paths):
    """As if folders were on a read-only mount; root may write anywhere else."""
    really = folders.unwritable
    monkeypatch.setattr(folders, "unwritable", lambda p: "Read-only file system" if p in paths else really(p))


def age(seconds, *paths):
    """As if files had been written longer ago than that."""
    for path in paths:
        os.utime(path, (time.time() - seconds - 60,) * 2)


# ---- nothing is wrong ----


def test_where_all_is_well_it_says_so_and_mends_nothing(doctor, few):
    code, said = doctor()
    assert code == 0 and ": healthy" in said and f"{ALL}: {ALL} built with the package" in said
    assert "wrong" not in said and "notes" not in said
    before = {path: path.stat().st_mtime_ns for path in few.shipped.iterdir()}
    code, said = doctor("--fix")
    assert code == 0 and "nothing was missing" in said
    assert {path: path.stat().st_mtime_ns for path in few.shipped.iterdir()} == before


def test_it_leaves_no_trace(doctor, few):
    doctor()
    assert not few.users.parent.exists() and len(list(few.shipped.glob("*"))) == ALL + 1


def test_json_is_one_object_with_the_same_keys_for_ever(run, few):
    code, out, error = run("doctor", "--json")
    made = json.loads(out)
    assert code == 0 and not error and made["healthy"] is True and made["findings"] == []
    assert set(made) == set(
        [
            "healthy",
            "findings",
            "changed",
            "separatrix",
            "package",
            "system",
            "python",
            "libraries",
            "processor",
            "cores",
            "blas",
            "loops",
            "folders",
            "environment",
            "extras",
        ]
    )
    assert set(made["loops"]) == {
        *("listed", "built", "built_here", "cached", "missing", "faults", "versions", "trouble")
    }
    assert made["loops"]["built"] == made["loops"]["listed"] == ALL
    few.path(FIRST).unlink()
    code, out, _ = run("doctor", "--json")
    made = json.loads(out)
    assert code == 1 and made["healthy"] is False and made["findings"][0]["wrong"] is True
    assert made["loops"]["missing"] == [{"loop": FIRST, "signature": LISTED[FIRST][0]}]


def test_quiet_is_the_exit_code(run, few):
    assert run("doctor", "-q") == (0, "", "")
    few.path(FIRST).unlink()
    assert run("doctor", "-q") == (1, "", "")


# ---- compiled files ----


def test_files_that_nobody_believes_are_named_and_made_anew(doctor, few):
    few.path(FIRST).write_bytes(few.path(FIRST).read_bytes()[:-9])
    few.path(SECOND).write_bytes(few.path(THIRD).read_bytes())
    few.path(FOURTH).chmod(0o666)
    kept.write(few.shipped, few.key(FIFTH), pickle.dumps(("of", "another", "Numba")))
    broken = {
        FIRST: "is torn, or no file of ours",
        SECOND: "is about something else",
        FOURTH: ": any user can write to it",
        FIFTH: "cannot be used",
    }
    if os.name != "posix":
        del broken[FOURTH]
    code, said = doctor()
    assert (
        code == 1 and f"{len(broken)} not compiled yet" in said and f"{len(broken) + 1} things wrong" in said
    )
    for loop, why in broken.items():
        assert f"{few.path(loop).name} in {homeless(few.shipped)} {why}".replace(" :", ":") in said
    assert said.count("; separatrix doctor --fix removes it") == len(broken)
    code, said = doctor("--fix")
    assert code == 0 and f"removed {len(broken)} files" in said and f"compiled {len(broken)} loops" in said
    assert f"{ALL} built with the package" in doctor()[1]
    assert build.complete(few.shipped)


def test_several_torn_files_are_counted(doctor, few):
    for loop in FEW[:3]:
        few.path(loop).write_bytes(b"")
    code, said = doctor()
    first = few.path(FIRST).name
    assert (
        code == 1 and f"3 compiled loops, {first} the first, in" in said and "are torn, or no files" in said
    )


def test_loops_of_another_numba_are_named_and_made_anew(doctor, few):
    few.rewrite(versions="Python 3.11, Numba 0.61.2, llvmlite 0.44.0")
    code, said = doctor()
    assert code == 1 and f"{ALL} of {ALL} loops are compiled when first used" in said
    assert (
        "those in the package were made with Python 3.11, Numba 0.61.2, llvmlite 0.44.0, and here is" in said
    )
    code, said = doctor("--fix")
    assert code == 0 and f"removed {ALL} files" in said and f"{ALL} built with the package" in said
    assert len(list(few.shipped.glob("*.loop"))) == ALL


def test_loops_of_another_source_are_named(doctor, few):
    few.rewrite(source="0" * 32)
    code, said = doctor()
    assert code == 1 and "those in the package were made from another source" in said
    assert f"{ALL} files" in said and "of older sources or other versions" in said


def test_a_package_without_loops_is_named(doctor, few):
    for path in few.shipped.iterdir():
        path.unlink()
    few.shipped.rmdir()
    code, said = doctor()
    assert code == 1 and "none were built with the package; separatrix doctor --fix compiles them now" in said
    assert "shipped" in said and "empty; can be written" in said


def test_what_is_of_no_use_is_a_note_and_goes(doctor, few):
    few.rewrite(few.users, versions="Python 3.9, Numba 0.50, llvmlite 0.33")
    age(folders.FORGOTTEN, *few.users.iterdir())
    few.rewrite(few.users, versions="Python 3.99, Numba 9.9, llvmlite 0.99")
    few.rewrite(few.users, processor="linux x86_64 another machine of this home")
    begun, under_way = few.users / "a.part", few.users / "b.part"
    for path in (begun, under_way):
        path.write_bytes(b"x" * 2000)
    age(folders.UNDER_WAY, begun)
    code, said = doctor()
    assert f"{3 * ALL} files" in said and f"({ALL} of other sources or versions)" in said
    assert code == 0 and "healthy" in said and f"{ALL} files (" in said and "1 file (2.0 kB) begun" in said
    code, said = doctor("--fix")
    assert code == 0 and f"removed {ALL + 1} files of no use" in said
    assert under_way.exists() and not begun.exists() and len(list(few.users.glob("*.loop"))) == 2 * ALL
    assert "files of no use" not in doctor()[1]


def test_a_file_that_was_taken_away_is_torn_no_more(doctor, few):
    few.path(FIRST).write_bytes(b"")
    assert "is torn" in doctor()[1]
    few.path(FIRST).unlink()
    said = doctor()[1]
    assert "is torn" not in said and "1 not compiled yet" in said


def test_where_the_cache_has_what_is_torn_in_the_package_builds_are_told_of_the_gap(doctor, few):
    from separatrix.loops import dispatch

    here = few.key(FIRST, processor=dispatch.kind(dispatch.processor_of(state._context())))
    assert kept.write(few.users, here, kept.read(few.shipped, few.key(FIRST)))
    few.path(FIRST).write_bytes(b"")
    code, said = doctor("--fix")
    assert code == 0 and f"{ALL - 1} built with the package, 1 compiled here before" in said
    assert not build.complete(few.shipped)


def test_what_cannot_be_removed_is_left_and_named(doctor, few):
    (few.shipped / "folder.loop").mkdir()
    code, said = doctor("--fix")
    assert code == 1 and f"files of no use in {homeless(few.shipped)} were left" in said
    assert "folder.loop in" in said and "cannot be read" in said


def test_a_torn_file_in_the_cache_is_named_and_goes(doctor, few):
    few.users.mkdir(parents=True)
    (few.users / "ascent.shuffle-0123.loop").write_bytes(b"\0" * 99)
    code, said = doctor()
    assert code == 1 and "ascent.shuffle-0123.loop in" in said and "is torn" in said
    code, said = doctor("--fix")
    assert code == 0 and "removed 1 file" in said and not list(few.users.iterdir())


# ---- places ----


def test_a_package_nobody_may_write_to_is_mended_in_the_users_folder(doctor, few, monkeypatch):
    read_only(monkeypatch, few.shipped)
    few.path(FIRST).unlink()
    code, said = doctor()
    assert code == 1 and "cannot be written (Read-only file system)" in said
    code, said = doctor("--fix")
    assert code == 0 and f"compiled 1 loop into {homeless(few.users)}" in said
    assert f"{ALL - 1} built with the package, 1 built here" in said and not few.path(FIRST).exists()


def test_a_cache_nobody_may_write_to_costs_only_where_loops_are_missing(doctor, few, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    code, said = doctor()
    assert code == 0 and "cannot be kept" in said and "is no folder; set NUMBA_CACHE_DIR" in said
    few.path(FIRST).unlink()
    code, said = doctor()
    assert code == 1 and "anew in every process" in said and "--fix compiles them now" in said
    read_only(monkeypatch, few.shipped)
    assert "let a cache folder be written, then" in doctor()[1]
    code, said = doctor("--fix")
    assert code == 1 and "separatrix: not everything could be mended: nothing can be written in" in said


def test_a_user_without_a_home_is_told_of_the_variable(doctor, few, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    code, said = doctor()
    assert code == 0 and "there is no home where compiled loops could be kept; set NUMBA_CACHE_DIR" in said


@pytest.mark.skipif(not hasattr(os, "setuid") or os.geteuid() != 0, reason="only root becomes somebody else")
def test_permissions_of_another_user_are_tried_for_real(tmp_path):
    program = (
        "import os, sys; from pathlib import Path; from separatrix.loops import folders; "
        "folders.unwritable(Path('/tmp')); "
        "os.setuid(65534); print(folders.unwritable(Path(sys.argv[1], 'separatrix', 'loops')))"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == os.strerror(errno.EACCES)


def test_a_disk_that_fills_up_while_compiling_is_named(run, few, monkeypatch):
    few.path(FIRST).unlink()

    def compiles_but_cannot_keep(*arguments):
        def full(**where):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(folders.tempfile, "TemporaryFile", full)

    monkeypatch.setattr(build, "compile_into", compiles_but_cannot_keep)
    code, out, error = run("doctor", "--fix")
    assert code == 1 and one_sentence(error) and f"1 of {ALL} were not kept in" in error
    assert f"{FIRST} first: {os.strerror(errno.ENOSPC)}" in error
    assert f"cannot be kept in {homeless(few.users)}" in told(out) and "make room" in told(out)


def test_little_room_is_named(doctor, few, monkeypatch):
    monkeypatch.setattr(folders, "_free", lambda ground: 3_000_000)
    code, said = doctor()
    assert code == 1 and "3.0 MB are free where" in said


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_that_others_may_write_to_is_named_and_closed(doctor, few):
    few.users.mkdir(parents=True)
    for folder, mode in ((few.users, 0o777), (few.shipped, 0o757)):
        folder.chmod(mode)
        code, said = doctor()
        named = f"no loops are read from {homeless(folder)}: any user can write to it; separatrix doctor --fix closes"
        assert code == 1 and named in said
        stamps = {path: path.stat().st_mtime_ns for path in few.shipped.iterdir()}
        code, said = doctor("--fix")
        assert (
            code == 0
            and f"closed {homeless(folder)}" in said
            and "compiled" not in said.partition("changed")[2]
        )
        assert stamps == {path: path.stat().st_mtime_ns for path in few.shipped.iterdir()}
        assert f"{ALL} built with the package" in doctor()[1]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_loops_of_a_package_that_others_may_write_to_are_not_taken_for_torn(doctor, few):
    few.shipped.chmod(0o777)
    code, said = doctor()
    assert code == 1 and f"{ALL} not compiled yet" in said and "2 things wrong" in said
    assert f"{ALL} of {ALL} loops are compiled when first used: those in the package are not believed" in said


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_what_lies_above_a_cache_is_left_to_whose_it_is(doctor, few, monkeypatch, tmp_path):
    above = tmp_path / "everybodys"
    above.mkdir()
    above.chmod(0o777)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(above / "cache"))  # not there yet
    wanted = f"no loops are read from {homeless(above)}/cache/separatrix: {homeless(above)}: any user can write to it"
    for asked in ((), ("--fix",)):
        code, said = doctor(*asked)
        assert code == 1 and f"{wanted}; set NUMBA_CACHE_DIR to a folder of yours alone" in said
    assert above.stat().st_mode & 0o777 == 0o777 and not list(above.iterdir())
    few.path(FIRST).unlink()
    read_only(monkeypatch, few.shipped)
    assert "anew in every process" in doctor()[1]
    code, said = doctor("--fix")
    assert code == 1 and f"nothing can be kept: {homeless(above)}: any user can write to it" in said


# ---- Numba, the environment ----


def test_a_numba_that_cannot_be_imported_is_named(doctor, monkeypatch):
    def cannot():
        raise ImportError("Numba needs NumPy 2.2 or less")

    monkeypatch.setattr(state, "_context", cannot)
    for asked in ((), ("--fix",)):
        code, said = doctor(*asked)
        assert code == 1 and "Numba cannot be imported: ImportError: Numba needs NumPy 2.2 or less" in said


def test_variables_that_matter_are_named(doctor, monkeypatch):
    monkeypatch.setenv("NUMBA_OPT", "0")
    code, said = doctor()
    assert code == 0 and "NUMBA_OPT=0 is set: loops compiled under it are optimised otherwise" in said
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    code, said = doctor()
    assert code == 1 and "loops run as Python" in said and "OMP_NUM_THREADS=3" in said
    assert "hush" not in said


def test_what_is_wrong_comes_before_what_is_worth_knowing(run, few, monkeypatch):
    few.rewrite(few.users, versions="Python 3.9, Numba 0.50, llvmlite 0.33")
    age(folders.FORGOTTEN, *few.users.iterdir())
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    found = json.loads(run("doctor", "--json")[1])["findings"]
    assert [finding["wrong"] for finding in found] == [True, False]


def test_more_threads_than_the_control_group_pays_for_is_a_note(doctor, monkeypatch):
    monkeypatch.setattr(facts.machine, "cores", lambda: Cores(64, 64, 2.0))
    code, said = doctor()
    assert code == 0 and "pays for 2 cores, and 64 threads" in said and "taskset -c 0-1" in said


def test_the_users_name_is_not_told(run, few, monkeypatch):
    monkeypatch.setenv("HOME", str(few.shipped.parent))
    for asked in ((), ("--json",), ("--fix",)):
        few.path(FIRST).unlink(missing_ok=True)
        _, out, error = run("doctor", *asked)
        assert str(few.shipped.parent) not in out + error and "~/built" in out
    assert homeless("/home/anna/x:/home/annabel") == "/home/anna/x:/home/annabel"


# ---- libraries and extras ----


def test_every_extra_for_users_is_known_and_read_as_it_is_written():
    written = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras.BRINGS) == set(written["optional-dependencies"]) - {"demo", "bench", "test", "dev"}
    assert [need.name for need in extras.needs(written["dependencies"])[""]] == [
        line.partition(">")[0] for line in written["dependencies"]
    ]


def test_a_missing_extra_is_no_fault_and_an_old_library_is(doctor, monkeypatch):
    asked = ["numpy>=2.0", "nosuchstemmer>=3.0; extra == 'text'"]
    monkeypatch.setattr(extras.metadata, "requires", lambda name: asked)
    code, said = doctor()
    assert (
        code == 0
        and "text missing nosuchstemmer>=3.0, for stems of words: pip install 'separatrix[text]'" in said
    )
    asked += ["scipy>=99", "nosuchthing>=1"]
    code, said = doctor()
    assert code == 1 and "and separatrix needs >=99; pip install 'scipy>=99'" in said
    assert "nosuchthing is not installed, and separatrix needs >=1" in said


def test_it_runs_where_typer_is_missing(run, few, monkeypatch):
    monkeypatch.delitem(sys.modules, "separatrix.app.commands")
    monkeypatch.setitem(sys.modules, "typer", None)
    code, out, _ = run("doctor")
    assert code == 0 and ": healthy" in out and f"{ALL} built with the package" in out
    code, out, _ = run("doctor", "--json")
    assert code == 0 and json.loads(out)["healthy"] is True
    code, _, error = run("fit", "logistic", "iris")
    assert code == 1 and "the command line needs typer" in error
