"""Loops built ahead: what is missing is compiled, what is right is left alone, and what fails is said."""

import base64
import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from separatrix.loops import build, dispatch, kept, processor, signatures
from tests.loops.keeping import anew, environment

ROOT = Path(__file__).resolve().parents[2]
QUICK = "perceptron.next_mistake"  # one signature, compiled in a twentieth of a second
pytestmark = pytest.mark.skipif(not processor.BASELINE, reason="no baseline for this processor")


@pytest.fixture
def quick(monkeypatch):
    """A plan of one loop."""
    keys = build.plan()[QUICK]
    monkeypatch.setattr(build, "plan", lambda: {QUICK: keys})
    return keys


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with that loop in it, and what was told while it was made."""
    said = []
    folder = tmp_path_factory.mktemp("made") / "built"
    with pytest.MonkeyPatch.context() as patch:
        keys = build.plan()[QUICK]
        patch.setattr(build, "plan", lambda: {QUICK: keys})
        assert build.build(folder, 2, said.append) == len(keys) == 1
    return folder, said


@pytest.fixture
def folder(made, quick, tmp_path):
    """The same, of one's own."""
    folder = tmp_path / "built"
    assert build.build(folder, 1, lambda line: None, seed=made[0]) == 0
    return folder


def never(*_):
    raise AssertionError("compiled")


def test_progress_is_told(made):
    assert made[1][0].startswith("loops: 1 of 1 compiled, ") and made[1][0].endswith("\r")
    assert made[1][-1].startswith("loops: 1 ready, 1 compiled in ")
    assert build.spent[QUICK] > 0


def test_what_is_built_is_what_runs(made, home, monkeypatch):
    """In the loop's place, on a processor that has the baseline; the answer is Python's."""
    from separatrix.loops.compiled import LOOPS

    monkeypatch.setattr(kept, "SHIPPED", made[0])
    monkeypatch.setattr(dispatch, "asked", {})
    monkeypatch.setattr(dispatch, "runs_baseline", lambda processor: True)
    loop = LOOPS[QUICK]
    fresh = anew(loop)
    (words,) = signatures.listed()[QUICK]
    fresh.name = loop.name
    fresh.made().compile(signatures.parsed(words))
    assert list(dispatch.asked.values()) == ["built"]


def test_a_folder_that_is_right_is_left_alone(folder, monkeypatch):
    times = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    monkeypatch.setattr(build, "plan", never)
    assert build.build(folder) == 0
    assert times == {path: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.mark.parametrize("wrong", ["gone", "torn", "stamp", "more"])
def test_a_folder_that_is_not_right_is_mended(folder, made, quick, wrong, monkeypatch):
    file = folder / quick[0].file()
    if wrong == "gone":
        file.unlink()
    elif wrong == "torn":
        file.write_bytes(file.read_bytes()[:-1])
    elif wrong == "stamp":
        (folder / build.STAMP).write_text("of another source")
    else:
        (folder / "old-0123.loop").write_bytes(b"of last year")
    monkeypatch.setattr(build, "compile_into", never)
    assert build.build(folder, 1, lambda line: None, seed=made[0]) == 0
    assert [path.name for path in folder.glob("*.loop")] == [file.name] and kept.stands(folder, quick[0])
    monkeypatch.setattr(build, "plan", never)
    assert build.build(folder) == 0


def test_the_stamp_says_what_it_was_made_of(folder, monkeypatch):
    before = build.stamp()
    assert processor.BASELINE in before and (folder / build.STAMP).read_text().startswith(before)
    monkeypatch.setattr(build.metadata, "version", lambda name: "99")
    assert build.stamp() != before


def test_a_process_that_dies_is_told(tmp_path, quick, monkeypatch, capsys):
    monkeypatch.setattr(build, "_setting", lambda: environment(PYTHONPATH="", PYTHONHOME="/nowhere"))
    with pytest.raises(build.BuildError, match=f"{QUICK}: the process ended"):
        build.build(tmp_path / "built", 1, lambda line: None)
    assert build.main(["--into", str(tmp_path / "built"), "--jobs", "1"]) == 1
    assert "separatrix: loops were not built ahead: perceptron" in capsys.readouterr().err
    assert not (tmp_path / "built" / build.STAMP).exists()


def test_a_folder_that_is_only_read(tmp_path, made, quick, monkeypatch, capsys):
    """What is missing cannot be added, by whichever way: a sentence, and a status."""

    def refuse(*_):
        raise PermissionError("only read")

    with monkeypatch.context() as patch:
        patch.setattr(build, "compile_into", lambda *_: None)  # its processes could write nothing
        with pytest.raises(build.BuildError, match=r"1 of 1 were not kept in .*, perceptron"):
            build.build(tmp_path / "built", 1, lambda line: None)
    monkeypatch.setattr(build.shutil, "copyfile", refuse)
    assert build.main(["--into", str(tmp_path / "built"), "--seed", str(made[0])]) == 1
    assert "not built ahead: only read" in capsys.readouterr().err
    # A folder that holds all and cannot be written to is as good as any.
    monkeypatch.setattr(build.Path, "write_text", refuse)
    assert build.build(made[0]) == 0


def test_a_processor_without_a_baseline(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "BASELINE", "")
    with pytest.raises(build.BuildError, match="no baseline"):
        build.build(tmp_path / "built")


def test_no_numba(tmp_path, monkeypatch, capsys):
    def absent(name):
        raise build.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(build.metadata, "version", absent)
    assert build.main(["--into", str(tmp_path / "built")]) == 1
    assert "numba" in capsys.readouterr().err


def test_a_build_hears_nothing_of_what_numba_was_told(monkeypatch):
    monkeypatch.setenv("NUMBA_OPT", "0")
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    told = {name: value for name, value in build._setting().items() if name.startswith("NUMBA_")}
    assert told.keys() == {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_DISABLE_INTEL_SVML"}
    assert told["NUMBA_CPU_NAME"] == processor.BASELINE


CALL = """
import sys
import numpy as np
from separatrix.loops import dispatch
from separatrix.loops.perceptron import shuffled
from separatrix.loops.sparse import column_sums
sums = np.zeros((3, 2))
cells, index = np.array([1.0, 2.0, 0.1]), np.array([0, 2, 2], dtype=np.int32)
column_sums(cells, index, np.array([0.5, 1.0, 2.0]), sums)
print(sums.tolist(), shuffled(np.arange(9, dtype=np.int32), 5).tolist(), "sklearn" in sys.modules)
print(*dispatch.asked.values())
"""


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """What another process answers, under such an environment, and where its code came from."""

    def call(**said):
        home = str(tmp_path_factory.mktemp("home"))
        done = subprocess.run(
            [sys.executable, "-c", CALL], env=environment(HOME=home, **said), capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        told = done.stderr.splitlines()  # a busy machine may take more than two seconds
        assert all(line.startswith("separatrix: compiling ") for line in told)
        answer, *origins = done.stdout.splitlines()
        return answer, set(" ".join(origins).split())

    return call


def test_other_processors_and_no_compiler(called):
    """The same answers from a machine without AVX2, and without any machine code; scikit-learn is not needed."""
    here, origins = called()
    assert origins <= {"built", "compiled"} and origins and here.endswith("False")
    assert called(NUMBA_DISABLE_JIT="1") == (here, set())
    assert called(NUMBA_CPU_NAME="x86-64-v2", NUMBA_CPU_FEATURES="") == (here, {"compiled"})


@pytest.fixture(scope="module")
def hook():
    """tools/packing/hook.py, without hatchling."""
    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object
    spec = importlib.util.spec_from_file_location("build_hook", ROOT / "tools" / "packing" / "hook.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, interface.__name__, interface)
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "there, asked",
    [({}, []), ({"numba": "0.62.1", "llvmlite": "0.45.1"}, ["numba==0.62.1", "llvmlite==0.45.1"]),
     ({"numba": "0.62.1"}, []), ({"numba": "0.60.0", "llvmlite": "0.43.0"}, []),
     ({"numba": "0.62.1+ours", "llvmlite": "0.45.1"}, []), ({"numba": "0.63.0.dev0", "llvmlite": "0.45.1"}, []),
     ({"numba": "what", "llvmlite": "0.45.1"}, [])],
)  # fmt: skip
def test_the_build_asks_for_the_compilers_that_are_there(hook, there, asked):
    """Where they are published and new enough; else for what an installer would choose."""
    assert hook.required(["numpy>=2.0", "numba>=0.61"], there) == ["numba>=0.61", *asked]


def test_the_hook_finds_the_compilers_that_are_there(hook):
    assert hook.standing() == {name: build.metadata.version(name) for name in hook.COMPILERS}
    assert {"x86_64", "AMD64", "aarch64", "arm64"} == set(hook.MACHINES)
    assert kept.SHIPPED == build.PACKAGE / hook.BUILT


def hooked(hook, monkeypatch, version, works):
    """What the hook asks for, and of hatchling."""
    calls = []
    monkeypatch.setattr(hook, "compiled", lambda *a, **k: calls.append((a, k)) or works)
    one = hook.LoopsHook()
    one.root = str(ROOT)
    data = {"force_include": {}}
    one.initialize(version, data)
    one.finalize(version, data, "wheel")
    return calls, data


def test_a_wheel_is_of_its_platform_where_loops_were_built(hook, monkeypatch):
    (((source, folder), options),), data = hooked(hook, monkeypatch, "standard", True)
    assert source == ROOT / "src" and options == {"seed": kept.SHIPPED}
    assert data["force_include"] == {str(folder): hook.BUILT}
    assert data["infer_tag"] and not data["pure_python"]
    assert not folder.parent.exists()
    _, data = hooked(hook, monkeypatch, "standard", False)
    assert data == {"force_include": {}}  # a wheel all the same, for any platform


def test_an_editable_install_builds_into_the_tree(hook, monkeypatch):
    (((_, folder), options),), data = hooked(hook, monkeypatch, "editable", True)
    assert folder == kept.SHIPPED and options == {} and data == {"force_include": {}}


def test_a_build_that_fails_is_said_and_passed_over(hook, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(hook.subprocess, "run", lambda *a, **k: SimpleNamespace(returncode=1))
    assert not hook.compiled(tmp_path, tmp_path)
    assert "going on without" in capsys.readouterr().err

    def gone(*a, **k):
        raise OSError("no such program")

    monkeypatch.setattr(hook.subprocess, "run", gone)
    assert not hook.compiled(tmp_path, tmp_path)
    assert "no such program" in capsys.readouterr().err


def test_the_environment_of_the_build(hook, monkeypatch, tmp_path):
    """The source comes first; what the installer laid out for the build stays."""
    seen = {}

    def run(command, env, check):
        seen.update(command=command, env=env)
        return SimpleNamespace(returncode=0)

    monkeypatch.setenv("PYTHONPATH", "overlay")
    monkeypatch.setattr(hook.subprocess, "run", run)
    assert hook.compiled(tmp_path / "src", tmp_path / "built", seed=tmp_path / "tree")
    assert seen["env"]["PYTHONPATH"] == os.pathsep.join((str(tmp_path / "src"), "overlay"))
    assert seen["command"][1:3] == ["-m", "separatrix.loops.build"]
    assert seen["command"][3:] == ["--into", str(tmp_path / "built"), "--seed", str(tmp_path / "tree")]


@pytest.fixture
def backend():
    """tools/packing/backend.py, without hatchling."""
    hatchling = ModuleType("hatchling")
    hatchling.build = ModuleType("hatchling.build")
    spec = importlib.util.spec_from_file_location("backend", ROOT / "tools" / "packing" / "backend.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "hatchling", hatchling)
        patch.setitem(sys.modules, "hatchling.build", hatchling.build)
        spec.loader.exec_module(module)
    return module


def wheel(folder, **files):
    """A wheel as hatchling leaves it: RECORD is its last file."""
    path = folder / "separatrix-0.1.0-cp311-cp311-linux_x86_64.whl"
    info = "separatrix-0.1.0.dist-info"
    contents = {**files, f"{info}/WHEEL": "Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n"}
    record = "".join(f"{name},sha256=old,{len(text)}\n" for name, text in contents.items())
    with zipfile.ZipFile(path, "w") as out:
        for name, text in {**contents, f"{info}/RECORD": record + f"{info}/RECORD,,\n"}.items():
            out.writestr(name, text)
    return path


def test_the_name_of_a_wheel_says_the_baseline(backend, tmp_path):
    given = wheel(tmp_path, **{backend.STAMP: build.stamp(), "separatrix/a.py": "1"})
    found = backend.labelled(given)
    _, _, tag, *rest = found.name.split("-")
    assert tag == "1_" + processor.BASELINE.replace("-", "_")
    assert rest == ["cp311", "cp311", "linux_x86_64.whl"] and os.listdir(tmp_path) == [found.name]
    with zipfile.ZipFile(found) as packed:
        text = packed.read("separatrix-0.1.0.dist-info/WHEEL").decode()
        assert text.endswith(f"\nBuild: {tag}\n")
        lines = packed.read("separatrix-0.1.0.dist-info/RECORD").decode().splitlines()
        assert packed.read("separatrix/a.py") == b"1"
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    assert f"separatrix-0.1.0.dist-info/WHEEL,sha256={digest},{len(text)}" in lines
    assert "separatrix/a.py,sha256=old,1" in lines and len(lines) == 4


def test_a_wheel_without_loops_keeps_its_name(backend, tmp_path):
    given = wheel(tmp_path, **{"separatrix/a.py": "1"})
    kept_as = given.read_bytes()
    assert backend.labelled(given) == given and given.read_bytes() == kept_as
