"""Code is unpickled: none is read from where another user could have put it, by whichever way."""

import os
from types import SimpleNamespace

import pytest

from separatrix.loops import kept, trust
from tests.loops.keeping import KEY, NOBODY, posix, root

pytestmark = posix
CODE = b"code"


@pytest.fixture
def folder(home):
    """A folder of ours with a file of ours, two folders below home."""
    found = home / "way" / "loops"
    assert kept.write(found, KEY, CODE)
    return found


def refused(folder):
    """Whether what would be believed elsewhere is not believed; and none is written there either."""
    found = kept.read(folder, KEY)
    assert (found is None) == bool(kept.faults)
    return found is None


def test_a_folder_of_ours(folder):
    assert not refused(folder)


@pytest.mark.parametrize("mode", [0o646, 0o666])
def test_a_file_that_any_user_can_write(folder, mode):
    (folder / KEY.file()).chmod(mode)
    assert refused(folder)


@pytest.mark.parametrize("mode", [0o757, 0o777, 0o1777])
def test_a_folder_that_any_user_can_write(folder, mode):
    """There others may put files, and links to files of ours."""
    folder.chmod(mode)
    assert refused(folder) and not kept.write(folder, KEY, CODE)


def test_a_folder_on_the_way_that_any_user_can_write(folder):
    """There others may put a folder in place of ours; but for where they may only add."""
    folder.parent.chmod(0o777)
    assert refused(folder)
    folder.parent.chmod(0o1777)
    kept.faults.clear()
    assert not refused(folder)


def test_what_lies_above_home_is_taken_on_trust(folder, home):
    mode = home.stat().st_mode
    home.parent.chmod(0o777)
    assert not refused(folder)
    home.chmod(0o777)
    assert refused(folder)
    home.chmod(mode)


@root
@pytest.mark.parametrize("what", ["file", "folder", "way", "sticky way"])
def test_what_another_user_owns(folder, what):
    if what == "sticky way":
        folder.parent.chmod(0o1777)
    at = {"file": folder / KEY.file(), "folder": folder}.get(what, folder.parent)
    os.chown(at, 54321, -1)
    assert refused(folder)


@root
@pytest.mark.parametrize("what", ["file", "folder", "way"])
def test_what_a_group_can_write(folder, what, monkeypatch):
    at = {"file": folder / KEY.file(), "folder": folder}.get(what, folder.parent)
    os.chown(at, -1, 54321)
    at.chmod(0o775)
    assert refused(folder)
    # A user's own group, as systems make them that let it write; not where a list of access is behind its bits.
    kept.faults.clear()
    monkeypatch.setattr(trust, "_group_of_one", lambda group: group == 54321)
    assert not refused(folder)
    monkeypatch.setattr(os, "listxattr", lambda at: ["system.posix_acl_access"], raising=False)
    assert refused(folder)


@pytest.mark.parametrize(
    "primary, name, members, own",
    [(77, "ann", [], True), (77, "ann", ["ann"], True), (77, "ann", ["bob"], False), (77, "staff", [], False),
     (78, "ann", [], False)],
)  # fmt: skip
def test_a_group_of_one(monkeypatch, primary, name, members, own):
    import grp
    import pwd

    user = SimpleNamespace(pw_gid=primary, pw_name="ann")
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: user)
    monkeypatch.setattr(grp, "getgrgid", lambda gid: SimpleNamespace(gr_name=name, gr_mem=members))
    assert trust._group_of_one(77) == own


def test_links_of_ours(folder, home):
    """Followed, step by step: what they lead to must be believed as well, and what leads there."""
    (home / "to").symlink_to(folder)
    (home / "on").symlink_to("way/../to")
    assert not refused(home / "on")
    open_to_all = home / "open"
    open_to_all.mkdir(mode=0o777)
    open_to_all.chmod(0o777)
    (open_to_all / "link").symlink_to(folder)
    (home / "by").symlink_to(open_to_all / "link")
    assert refused(home / "by")


@root
def test_a_link_of_another_users(folder, home):
    """In a folder where others may add, to a folder of ours with a file of ours."""
    shared = home / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "link").symlink_to(folder)
    assert not refused(shared / "link")
    os.lchown(shared / "link", NOBODY, NOBODY)
    assert refused(shared / "link")


def test_links_in_a_circle(home):
    (home / "a").symlink_to("b")
    (home / "b").symlink_to("a")
    assert refused(home / "a")


@root
def test_the_folder_that_the_environment_names(home, monkeypatch):
    """NUMBA_CACHE_DIR in /tmp, where another user was first."""
    shared = home / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(shared / "cache"))
    assert kept.write(kept.users_folder(), KEY, CODE) and not refused(kept.users_folder())
    os.chown(shared / "cache", NOBODY, NOBODY)
    assert refused(kept.users_folder())


def test_what_comes_with_the_library(home):
    """Its folder is believed as the library is; links on the way are the installer's."""
    assert kept.write(kept.SHIPPED, KEY, CODE)
    home.chmod(0o777)  # who can write there can write the library
    assert not refused(kept.SHIPPED)
    kept.SHIPPED.chmod(0o777)
    assert refused(kept.SHIPPED)
    kept.SHIPPED.chmod(0o755)
    kept.faults.clear()
    (kept.SHIPPED / KEY.file()).chmod(0o666)
    assert refused(kept.SHIPPED)
    home.chmod(0o755)
