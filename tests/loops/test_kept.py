"""Files of compiled loops: whole or not at all, and about what is asked for; what is wrong is the same as none."""

import dataclasses
import errno
import os
import stat

import pytest

from separatrix.loops import kept
from tests.loops.keeping import KEY, as_nobody, posix

CODE = bytes(range(256)) * 4


@pytest.fixture
def folder(home):
    return home / "loops"


def file_of(folder):
    return folder / KEY.file()


def test_what_is_written_is_read(folder):
    assert kept.read(folder, KEY) is None and kept.faults == {}
    assert kept.write(folder, KEY, CODE)
    assert kept.read(folder, KEY) == CODE and kept.faults == {}
    assert [path.name for path in folder.iterdir()] == [KEY.file()]
    assert not stat.S_IMODE(file_of(folder).stat().st_mode) & 0o022


def test_a_torn_file_is_no_file(folder):
    """Cut short anywhere, with any byte changed, or with more at its end."""
    kept.write(folder, KEY, CODE)
    whole = file_of(folder).read_bytes()
    torn = [whole[:length] for length in range(0, len(whole), 7)] + [whole + b"\0", bytes(len(whole))]
    torn += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, len(whole), 5)]
    for content in torn:
        file_of(folder).write_bytes(content)
        assert kept.read(folder, KEY) is None
        assert "torn" in kept.faults[str(file_of(folder))]
        assert not kept.stands(folder, KEY)
    file_of(folder).write_bytes(whole)
    assert kept.read(folder, KEY) == CODE and kept.faults == {}


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(kept.Key)])
def test_a_file_about_something_else_is_no_file(folder, field):
    """Whole, of another loop, signature, source, processor or Numba: under its own name, and under this one."""
    other = dataclasses.replace(KEY, **{field: getattr(KEY, field) + "x"})
    assert other.file() != KEY.file()
    kept.write(folder, other, CODE)
    assert kept.read(folder, KEY) is None and kept.faults == {}
    (folder / other.file()).rename(file_of(folder))
    assert kept.read(folder, KEY) is None
    assert "something else" in kept.faults[str(file_of(folder))]


def test_a_folder_in_place_of_a_file(folder):
    file_of(folder).mkdir(parents=True)
    assert kept.read(folder, KEY) is None and kept.faults
    assert not kept.write(folder, KEY, CODE)
    assert [path.name for path in folder.iterdir()] == [KEY.file()]


@posix
def test_an_unreadable_folder_or_file(home, reached):
    folder = reached / "loops"
    kept.write(folder, KEY, CODE)
    with as_nobody(folder, file_of(folder)):
        assert kept.read(folder, KEY) == CODE
        file_of(folder).chmod(0)
        assert kept.read(folder, KEY) is None
        file_of(folder).chmod(0o644)
        folder.chmod(0)
        assert kept.read(folder, KEY) is None
        assert "cannot be read" in kept.faults[str(file_of(folder))]
        folder.chmod(0o755)


@posix
def test_a_folder_that_is_only_read(home, reached):
    """A read-only site-packages: what is there is read; what is not cannot be added, and that is no error."""
    folder = reached / "loops"
    kept.write(folder, KEY, CODE)
    other = dataclasses.replace(KEY, loop="other")
    with as_nobody(folder):
        folder.chmod(0o555)
        assert kept.read(folder, KEY) == CODE
        assert not kept.write(folder, other, CODE)
        assert "cannot be written" in kept.faults[str(folder / other.file())]
        folder.chmod(0o755)


@posix
def test_a_home_that_cannot_be_written_to(home, reached, monkeypatch):
    monkeypatch.setenv("HOME", str(reached))
    with as_nobody(reached):
        reached.chmod(0o555)
        folder = kept.users_folder()
        assert folder is not None and folder.is_relative_to(reached)
        assert not kept.write(folder, KEY, CODE) and kept.read(folder, KEY) is None


@posix
def test_a_full_disk(folder, monkeypatch):
    """Writing stops in the middle: nothing is left, under no name; what was there before still is."""
    full = dataclasses.replace(KEY, loop="full")
    kept.write(folder, KEY, CODE)

    class Full:
        def __init__(self, path, mode):
            self.file = open(path, mode)  # noqa: SIM115

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, data):
            self.file.write(data[: len(data) // 2])
            self.file.flush()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(kept, "open", Full, raising=False)
    assert not kept.write(folder, full, CODE) and not kept.write(folder, KEY, CODE * 2)
    assert "No space left" in kept.faults[str(folder / full.file())]
    monkeypatch.undo()
    assert [path.name for path in folder.iterdir()] == [KEY.file()]
    assert kept.stands(folder, KEY)


def test_writers_at_once(folder, monkeypatch):
    """Whoever reads while another writes finds the old file or the new one."""
    kept.write(folder, KEY, CODE)
    replace, seen = os.replace, []

    def look(source, target):
        seen.append(kept.read(folder, KEY))
        replace(source, target)
        seen.append(kept.read(folder, KEY))

    monkeypatch.setattr(os, "replace", look)
    assert kept.write(folder, KEY, CODE * 2)
    assert seen == [CODE, CODE * 2]


def test_the_users_folder(home, monkeypatch):
    own = kept.users_folder()
    assert own is not None and own.is_relative_to(home) and own.parts[-2:] == ("separatrix", "loops")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(home / "said"))
    assert kept.users_folder() == home / "said" / "separatrix"
    monkeypatch.setenv("NUMBA_CACHE_DIR", "said")
    assert kept.users_folder().is_absolute()
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    if own == home / ".cache" / "separatrix" / "loops":
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be passed over, says its specification
        assert kept.users_folder() == own
        monkeypatch.setenv("XDG_CACHE_HOME", str(home / "xdg"))
        assert kept.users_folder() == home / "xdg" / "separatrix" / "loops"


def test_no_home(monkeypatch):
    """A user without an entry anywhere."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)

    def none():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(kept.Path, "home", none)
    assert kept.users_folder() is None
