"""Machine code from wherever it can be had:  the answer is the same, however it was come by, whatever is wrong."""

import dataclasses
import os
import pickle
import re
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from numba.core import event
from numba.core.compiler import CompileResult

from separatrix.loops import dispatch, kept, processor, telling
from separatrix.loops.compiled import LOOPS, loop
from tests.loops.keeping import anew, doubled, posix

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@pytest.fixture(autouse=True)
def asked(home, monkeypatch):
    """What this test asked for."""
    found = {}
    monkeypatch.setattr(dispatch, "asked", found)
    return found


def origin(asked, loop=None):
    """Call it as a process would that has just begun: the answer is right, and this is where the code came from."""
    asked.clear()
    cells = np.arange(4.0)
    assert (loop or anew())(cells) == 12.0 and list(cells) == [0, 2, 4, 6]
    (found,) = asked.values()
    return found


def kept_files(folder=None):
    folder = folder or kept.users_folder()
    return sorted(folder.glob("*.loop")) if folder.exists() else []


def test_compiled_once_then_found(asked, monkeypatch):
    assert origin(asked) == "compiled"
    (file,) = kept_files()
    with monkeypatch.context() as patch:
        patch.setattr(kept, "write", None)  # nothing is written again
        assert origin(asked) == "cached"
    file.unlink()
    assert origin(asked) == "compiled" and kept.faults == {}


def built():
    """The loop's code as a build would ship it, for the baseline."""
    loop = anew()
    loop(np.arange(3.0))
    (signature,) = loop.made().overloads
    here = dispatch.processor_of(loop.made().targetctx)
    code = kept.read(kept.users_folder(), dispatch.key_of(loop, signature, here))
    key = dispatch.key_of(loop, signature)
    assert code and kept.write(kept.SHIPPED, key, code)
    return key


def test_what_was_built_comes_first(asked, monkeypatch):
    monkeypatch.setattr(dispatch, "runs_baseline", lambda processor: True)
    key = built()
    assert origin(asked) == "built"
    for file in kept_files():
        file.unlink()
    assert origin(asked) == "built" and kept_files() == []
    # Into the user's own folder, where the package's cannot be written to.
    (kept.SHIPPED / key.file()).rename(kept.users_folder() / key.file())
    assert origin(asked) == "built"


def test_what_was_built_is_left_alone_on_a_lesser_processor(asked, monkeypatch):
    built()
    monkeypatch.setattr(dispatch, "runs_baseline", lambda processor: False)
    assert origin(asked) == "cached"


@pytest.mark.skipif(processor.BASELINE != "x86-64-v3", reason="another processor")
def test_which_processors_run_the_baseline():
    all_of_it = ",".join(f"+{word}" for word in processor.FEATURES.split())
    runs = processor.runs_baseline
    assert runs(f"znver5 +64bit,{all_of_it},+avx512f", "") and runs("x86-64-v3 -avx512f", "")
    assert runs(f"x86-64-v3 {all_of_it}", "x86-64-v3") and runs(f"skylake {all_of_it}", "host")
    for word in processor.FEATURES.split():
        assert not runs(f"haswell {all_of_it}".replace(f"+{word}", f"-{word}"), "")
        assert not runs(f"x86-64-v3 {all_of_it}".replace(f"+{word}", f"-{word}"), "x86-64-v3")
    # The name alone keeps every feature of the machine, but it is another processor that was asked for.
    assert not runs(f"x86-64-v2 {all_of_it}", "x86-64-v2") and not runs("generic ", "")


@pytest.mark.parametrize(
    "told",
    [("OPT", 0), ("OPT", type(dispatch.config.OPT)("max")), ("BOUNDSCHECK", 1), ("DEBUGINFO_DEFAULT", 1),
     ("LOOP_VECTORIZE", 0)],
)  # fmt: skip
def test_what_numba_was_told_is_another_code(asked, monkeypatch, told):
    """Bounds are checked where NUMBA_BOUNDSCHECK says so, in spite of code that was kept without."""
    assert dispatch.told() == []
    monkeypatch.setattr(dispatch, "runs_baseline", lambda processor: True)
    built()
    assert origin(asked) == "built"
    monkeypatch.setattr(dispatch.config, *told)
    assert origin(asked) == "compiled" and origin(asked) == "cached"


def test_another_version_is_another_code(asked, monkeypatch):
    assert origin(asked) == "compiled"
    monkeypatch.setattr(dispatch, "VERSIONS", dispatch.VERSIONS.replace("Numba ", "Numba 9"))
    assert origin(asked) == "compiled" and len(kept_files()) == 2


def test_what_was_built_is_of_no_use(asked, monkeypatch):
    """Then what was compiled here before is."""
    monkeypatch.setattr(dispatch, "runs_baseline", lambda processor: True)
    kept.write(kept.SHIPPED, built(), b"no code")
    assert origin(asked) == "cached" and "cannot be used" in " ".join(kept.faults.values())


def torn(file):
    file.write_bytes(file.read_bytes()[:-100])


def foreign(file):
    """Another loop's, whole, under this name."""
    key = kept.Key("another", "float64:1C", "made of", "this", "too")
    kept.write(file.parent, key, b"code")
    (file.parent / key.file()).rename(file)


def no_code(file):
    """Whole, about this very loop, and not what a loop is kept as."""
    head, _, _ = file.read_bytes()[len(kept.MAGIC) + 32 :].partition(b"\0")
    for number, payload in enumerate((b"no pickle", pickle.dumps((1, 2, 3)))):
        rest = head + b"\0" + payload
        digest = kept.hashlib.blake2b(rest, digest_size=32).digest()
        file.with_suffix(f".{number}").write_bytes(kept.MAGIC + digest + rest)
    os.replace(file.with_suffix(".0"), file)


def not_a_file(file):
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("wrong", [torn, foreign, no_code, not_a_file])
def test_a_file_that_is_wrong_is_compiled_over(asked, wrong):
    origin(asked)
    (file,) = kept_files()
    wrong(file)
    assert origin(asked) == "compiled"
    if wrong is not_a_file:
        file.rmdir()
        origin(asked)
    assert origin(asked) == "cached"


class Bomb:
    went_off = 0

    def __reduce__(self):
        return Bomb.go, ()

    @staticmethod
    def go():
        Bomb.went_off += 1


@posix
def test_nothing_is_unpickled_that_another_user_could_have_written(asked):
    """Where all else about a file is right."""
    loop = anew()
    loop(np.arange(3.0))
    (signature,) = loop.made().overloads
    key = dispatch.key_of(loop, signature, dispatch.processor_of(loop.made().targetctx))
    kept.write(kept.users_folder(), key, pickle.dumps(Bomb()))
    file = kept.users_folder() / key.file()
    Bomb.went_off = 0
    file.chmod(0o666)
    assert kept.stands(file.parent, key)
    assert origin(asked) == "compiled" and Bomb.went_off == 0
    kept.write(kept.users_folder(), key, pickle.dumps(Bomb()))
    assert origin(asked) == "compiled" and Bomb.went_off == 1  # so it would


def gone(*_):
    raise AttributeError("no longer here")


@pytest.mark.parametrize(
    "name, instead",
    [("_reduce", gone), ("_reduce", lambda self: (1, 2, 3)), ("_reduce", lambda self: tuple("123456789")[:8]),
     ("_rebuild", gone), ("_rebuild", None)],
)  # fmt: skip
def test_a_numba_that_does_things_otherwise(asked, monkeypatch, name, instead):
    """Its code is compiled, and used; at worst in every process anew."""
    origin(asked)
    if name == "_reduce":
        kept_files()[0].unlink()
    monkeypatch.setattr(CompileResult, name, instead)
    assert origin(asked) == "compiled" and kept.faults
    assert origin(asked) == "compiled"


def test_a_numba_without_names_or_events(asked, monkeypatch):
    monkeypatch.setattr(dispatch, "processor_of", gone)
    assert origin(asked) == "compiled" and kept.faults and kept_files() == []
    monkeypatch.setattr(telling, "_listener", None)
    register = event.register
    monkeypatch.setattr(
        event, "register", lambda kind, one: gone() if kind == "numba:compile" else register(kind, one)
    )
    assert origin(asked) == "compiled"


class Patient(event.Listener):
    """Compiling takes until it has been spoken of."""

    def on_start(self, event):
        until = time.monotonic() + 60
        while not telling._compiling._said and time.monotonic() < until:
            time.sleep(0.01)

    def on_end(self, event):
        pass


@pytest.fixture
def anew_told(asked, monkeypatch):
    """As if nothing had been said; what takes no time at all takes long."""
    monkeypatch.setattr(telling, "_compiling", telling._Compiling())
    origin(asked)
    monkeypatch.setattr(telling, "PATIENCE", 0.0)


def test_a_sentence_where_it_takes_long(asked, anew_told, capfd):
    """One a loop, whichever types."""
    loop = anew()
    with event.install_listener("numba:compile", Patient()):
        for kind in ("f4", "i8"):
            loop(np.arange(4, dtype=kind))
    out, err = capfd.readouterr()
    assert out == "" and re.fullmatch("separatrix: compiling doubled once for this machine … \\d+ s\n", err)


def test_no_sentence_where_it_does_not(asked, anew_told, capfd, monkeypatch):
    """None where the code is found, none while a quick one is compiled, none where a build is at work."""
    assert origin(asked) == "cached"
    monkeypatch.setattr(telling, "PATIENCE", 3600.0)
    anew()(np.arange(4, dtype="u8"))
    monkeypatch.setattr(telling, "PATIENCE", 0.0)
    monkeypatch.setattr(telling, "aloud", False)
    with event.install_listener("numba:compile", Quiet()):
        anew()(np.arange(4, dtype="u4"))
    assert capfd.readouterr() == ("", "")


class Quiet(Patient):
    """Compiling takes long enough to be spoken of."""

    def on_start(self, event):
        time.sleep(0.2)


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("stream", ["none", "closed"])
def test_no_one_to_tell(asked, anew_told, monkeypatch, tmp_path, stream):
    with open(tmp_path / "err", "w") as file:
        monkeypatch.setattr(sys, "stderr", None if stream == "none" else file)
    with event.install_listener("numba:compile", Patient()), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert anew()(np.arange(4, dtype="f4")) == 12.0
    assert telling._compiling._said == {doubled.name}


inside = doubled


@loop
def around(cells):
    return inside(cells) + 1.0


del LOOPS[around.name]


def test_a_loop_inside_a_loop_is_compiled_with_it(asked, monkeypatch):
    """And is not looked for, nor kept, by itself: what was kept of it says nothing of what is built in."""
    monkeypatch.setitem(globals(), "inside", anew())
    assert anew(around)(np.arange(4.0)) == 13.0
    assert [name for name, _ in asked] == [around.name]
    assert [file.name.partition("-")[0] for file in kept_files()] == [around.name]
    asked.clear()
    assert anew(around)(np.arange(4.0)) == 13.0 and list(asked.values()) == ["cached"]


def test_compiling_that_was_cut_short(asked):
    """Ctrl-C between two of Numba's events: the end of one is never told, and what comes after is found as ever."""
    origin(asked)
    loop = anew()
    telling._compiling.start(loop.made())
    assert origin(asked) == "cached" and origin(asked, loop) == "cached"
    assert telling._compiling.under_way() == []


def test_threads_that_call_a_loop_first_at_once(asked, monkeypatch):
    written = []
    monkeypatch.setattr(kept, "write", lambda *a, write=kept.write, **k: written.append(1) or write(*a, **k))
    loop, together, answers = anew(), threading.Barrier(8), []

    def call():
        together.wait()
        answers.append(loop(np.arange(4.0)))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [12.0] * 8 and written == [1] and list(asked.values()) == ["compiled"]


def child(work, seconds=120):
    """Fork; whether the child came through its work."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads are what this is about
        number = os.fork()
    if number:
        return number
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    try:
        work()
        os._exit(0)
    except BaseException as error:
        os.write(2, repr(error).encode())
        os._exit(1)


def ended_well(number):
    return os.waitpid(number, 0)[1] == 0


@forks
def test_processes_that_compile_at_once(asked, home):
    """Into one folder: each has the right answer, and one whole file is left."""
    start = time.time() + 0.3

    def work():
        time.sleep(max(0.0, start - time.time()))
        assert origin(asked) in ("compiled", "cached")

    children = [child(work) for _ in range(4)]
    assert all([ended_well(number) for number in children])
    assert len(kept_files()) == 1 and origin(asked) == "cached"
    assert [path.suffix for path in kept.users_folder().iterdir()] == [".loop"]


@forks
def test_a_fork_while_another_thread_compiles(asked, monkeypatch):
    """The child has the compiler's lock, and not the thread that would let go of it."""
    loaded, at_work = anew(), threading.Event()
    loaded(np.arange(4.0))
    write = kept.write

    def slow(*arguments, **options):
        at_work.set()
        time.sleep(0.5)
        return write(*arguments, **options)

    monkeypatch.setattr(kept, "write", slow)
    thread = threading.Thread(target=lambda: anew()(np.arange(4, dtype="f4")))
    thread.start()
    at_work.wait()
    monkeypatch.setattr(kept, "write", write)

    def work():
        assert loaded(np.arange(4.0)) == 12.0
        assert anew()(np.arange(4, dtype="i4")) == 12

    number = child(work)
    thread.join()
    assert ended_well(number)
    assert anew()(np.arange(4, dtype="i2")) == 12  # and the parent goes on


@forks
def test_a_fork_while_another_thread_speaks():
    def hold():
        with telling.speaking:
            at_work.set()
            time.sleep(0.5)

    at_work = threading.Event()
    thread = threading.Thread(target=hold)
    thread.start()
    at_work.wait()
    number = child(lambda: anew()(np.arange(4.0)))
    thread.join()
    assert ended_well(number) and not telling.speaking.locked()


@forks
def test_a_fork_while_another_thread_makes_a_loop(monkeypatch):
    made, at_work = dispatch.dispatcher, threading.Event()

    def slow(loop):
        at_work.set()
        time.sleep(0.5)
        return made(loop)

    monkeypatch.setattr(dispatch, "dispatcher", slow)
    thread = threading.Thread(target=lambda: anew()(np.arange(4.0)))
    thread.start()
    at_work.wait()
    monkeypatch.setattr(dispatch, "dispatcher", made)
    number = child(lambda: anew()(np.arange(4.0)))
    thread.join()
    assert ended_well(number)


def test_keys_say_all_that_matters():
    loop = anew()
    loop(np.arange(3.0))
    (signature,) = loop.made().overloads
    key = dispatch.key_of(loop, signature)
    assert key.loop == doubled.name and key.signature == "float64:1C" and key.source
    assert processor.BASELINE in key.processor and processor.SAID in key.processor
    for name in ("Python", "Numba", "llvmlite"):
        assert name in key.versions
    here = dispatch.key_of(loop, signature, dispatch.processor_of(loop.made().targetctx))
    assert here == dataclasses.replace(key, processor=here.processor) and here.processor != key.processor
