"""Who could have written a file:  code is unpickled, so none is read from a place another user can write to.

    shipped     believed as the library itself is: its folder and its files are no more open than this module
    kept here   nobody but us and root may change the folder, or any folder or link on the way to it

As with a key of ssh, what lies above one's home is taken on trust; a folder in which others may only add (/tmp) is
passed on the way, not read from. Where permissions are not those of POSIX, folders of a user are the user's.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

LINKS = 40  # followed on one way, as the system does


def shipped(folder: Path) -> str:
    """Why files of a folder of the library's are not believed; "" where they are. A folder must be there."""
    return "" if os.name != "posix" else _why_not(os.stat(folder), folder)


def kept(folder: Path) -> str:
    """Why files of a user's folder are not believed; "" where they are. A folder must be there."""
    if os.name != "posix":
        return ""
    above = _above_home()
    here, rest, followed = Path("/"), _backwards(Path(os.path.abspath(folder))), 0
    while rest:
        name = rest.pop()
        if name == "..":
            here = here.parent  # no link is left in what stands here
            continue
        here = here / name
        info = os.lstat(here)
        if stat.S_ISLNK(info.st_mode):
            followed += 1
            if followed > LINKS:
                return f"{here} leads round in a circle"
            if not _ours(info) and here not in above:
                return f"{here} is another user's"
            to = Path(os.readlink(here))
            here = Path("/") if to.is_absolute() else here.parent
            rest += _backwards(to)
        elif here not in above:
            passed = bool(rest) and bool(info.st_mode & stat.S_ISVTX)
            why = _why_not(info, here)
            if why and not (passed and _ours(info)):
                return f"{here}: {why}"
    return ""


def opened(file: int) -> str:
    """Why an open file is not believed; "" where it is."""
    return "" if os.name != "posix" else _why_not(os.fstat(file), file)


def _why_not(info: os.stat_result, at: Path | int) -> str:
    if not _ours(info):
        return "it is another user's"
    if info.st_mode & stat.S_IWOTH:
        return "any user can write to it"
    if info.st_mode & stat.S_IWGRP and not (_group_of_library(info) or _group_of_one(info.st_gid)):
        return "its group can write to it"
    if info.st_mode & stat.S_IWGRP and _more_than_modes(at):
        return "others can write to it"
    return ""


def _ours(info: os.stat_result) -> bool:
    return info.st_uid in (0, os.geteuid(), _library().st_uid)


def _library() -> os.stat_result:
    return os.stat(__file__)


def _group_of_library(info: os.stat_result) -> bool:
    """Whether a group may write the library too."""
    library = _library()
    return bool(library.st_mode & stat.S_IWGRP) and library.st_gid == info.st_gid


def _group_of_one(group: int) -> bool:
    """Whether a group is a user's own: named as the user is, without another member."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}


def _more_than_modes(at: Path | int) -> bool:
    """Whether a list of access stands beside the modes: the group's bits are then its widest, not the group's."""
    with contextlib.suppress(OSError, AttributeError):
        return "system.posix_acl_access" in os.listxattr(at)
    return False


def _above_home() -> set[Path]:
    try:
        home = Path.home()
    except RuntimeError:
        return set()
    return {*home.parents, *Path(os.path.realpath(home)).parents}


def _backwards(path: Path) -> list[str]:
    return [part for part in reversed(path.parts) if part != path.anchor]
