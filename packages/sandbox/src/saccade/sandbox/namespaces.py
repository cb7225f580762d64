"""Namespaces: a root with nothing in it but Python and its libraries, and for each session a world of its own."""

import os
import socket
from pathlib import Path

from saccade.sandbox import linux, processes
from saccade.sandbox.libraries import Entries
from saccade.sandbox.processes import NOBODY

USER = 1000
"""As which the sessions see themselves."""
SESSION = "/session"
NAMES = ("user", "mount", "pid", "network", "ipc", "uts")

_MEMORY = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
_ALL = linux.NEW_USER | linux.NEW_NS | linux.NEW_PID | linux.NEW_NET | linux.NEW_IPC | linux.NEW_UTS
_STAGES = ("/sys", "/mnt", "/media", "/srv", "/var", "/tmp")
DEVICES = ("/dev/null", "/dev/random", "/dev/urandom")
"""No /dev/zero: mapped as shared it is memory that no limit counts."""
_ACCOUNTS = {
    "etc/passwd": f"root:x:0:0::/:/none\nuser:x:{USER}:{USER}::{SESSION}/work:/none\n",
    "etc/group": f"root:x:0:\nuser:x:{USER}:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


def enter(libraries: list[str], packages: Entries) -> int:
    """Takes this process, and the children it forks from now on, out of the host; a descriptor of the old /proc."""
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if processes.is_root():
        # While still root, since libraries may lie where only root may go.
        linux.unshare(linux.NEW_NS)
        _build_root(libraries, packages)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        processes.may_write_own_proc_files(True)
        _unshare_as(proc, _ALL, inside=USER)
    else:
        _unshare_as(proc, _ALL, inside=USER)
        _build_root(libraries, packages)
    socket.sethostname("sandbox")
    return proc


def close_root() -> None:
    """Makes the root read-only."""
    linux.restrict_mount("/", linux.ATTR_RDONLY, recursive=False)


def begin_pid_namespace() -> None:
    """The next child of this process is the first of a namespace of its own: when it ends, all in there end."""
    linux.unshare(linux.NEW_PID)


def leave_pid_namespace(own: int) -> None:
    """Children are in this process's namespace again, whose pidfd is ``own``; another may then be begun."""
    linux.enter_namespace(own, linux.NEW_PID)


def enter_session(proc: int, *, mib: int, files: int) -> None:
    """Gives this process its own user and mount namespace, with a file system in memory for its session."""
    _unshare_as(proc, linux.NEW_USER | linux.NEW_NS, inside=USER)
    linux.mount("tmpfs", SESSION, "tmpfs", _MEMORY, f"size={mib}m,nr_inodes={files},mode=700")


def resize_session(*, mib: int, files: int) -> None:
    """Changes the size of the session's file system."""
    linux.mount("tmpfs", SESSION, "tmpfs", _MEMORY | linux.MS_REMOUNT, f"size={mib}m,nr_inodes={files}")


def _unshare_as(proc: int, flags: int, *, inside: int) -> None:
    user, group = os.geteuid(), os.getegid()
    linux.unshare(flags)
    for name, line in (("setgroups", "deny"), ("uid_map", f"{inside} {user} 1"), ("gid_map", f"{inside} {group} 1")):
        file = os.open(f"self/{name}", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)


def _build_root(libraries: list[str], packages: Entries) -> None:
    linux.mount("", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    stage = next(
        place
        for place in _STAGES
        if Path(place).is_dir() and not any(inner.startswith(place + "/") for inner in (*libraries, *packages))
    )
    linux.mount("tmpfs", stage, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=8m,mode=755")
    root = Path(stage)
    for library in libraries:
        _bind(library, root, linux.ATTR_RDONLY | linux.ATTR_NOSUID | linux.ATTR_NODEV)
    for folder in sorted(packages):
        _cover(folder, packages[folder], root)
    for alias in ("lib", "lib32", "lib64"):
        link = Path("/") / alias
        if link.is_symlink() and not (root / alias).exists():
            (root / alias).symlink_to(link.readlink())
    for device in DEVICES:
        _bind(device, root, linux.ATTR_RDONLY | linux.ATTR_NOSUID)
    (root / "etc").mkdir(exist_ok=True)
    for name, text in _ACCOUNTS.items():
        (root / name).write_text(text)
    for name in ("session", "proc"):
        (root / name).mkdir()
    # There is one when libraries lie in it; TMPDIR names the session's own.
    if not (root / "tmp").exists():
        (root / "tmp").symlink_to(f"{SESSION}/tmp")
    linux.change_root(stage)


def _cover(folder: str, entries: list[str], root: Path) -> None:
    """Puts a folder with these entries in the place of one that has more."""
    target = root / folder.lstrip("/")
    target.mkdir(parents=True, exist_ok=True)
    linux.mount("tmpfs", str(target), "tmpfs", _MEMORY, "size=1m,mode=755")
    for entry in entries:
        if Path(folder, entry).exists():
            _bind(f"{folder}/{entry}", root, linux.ATTR_RDONLY | linux.ATTR_NOSUID | linux.ATTR_NODEV)
    linux.restrict_mount(str(target), linux.ATTR_RDONLY, recursive=False)


def _bind(source: str, root: Path, attributes: int) -> None:
    target = root / source.lstrip("/")
    if Path(source).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    linux.mount(source, str(target), "", linux.MS_BIND | linux.MS_REC)
    linux.restrict_mount(str(target), attributes, recursive=True)
