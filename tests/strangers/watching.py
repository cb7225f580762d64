"""What a process reaches while it reads something foreign: Python's audit events, and files that native code opens.

An audit hook sees what Python does. Libraries in C and Rust open files past it; ``inotify`` sees those, of the folder
of decoys that every hostile input points at. Both only record: nothing is stopped, since a reader might survive that.
"""

import ctypes
import os
import socket
import struct
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from places import ROOT, SOURCES

OWN = f"{ROOT}/packages/"
_IN_OPEN, _IN_MODIFY, _IN_ATTRIB, _IN_CREATE, _IN_DELETE, _IN_MOVED = 0x20, 0x2, 0x4, 0x100, 0x200, 0xC0
_NAMES = {_IN_OPEN: "opened", _IN_MODIFY: "written", _IN_ATTRIB: "changed", _IN_CREATE: "made", _IN_DELETE: "removed"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LISTS = ("os.listdir", "os.scandir")
_CHANGES = [
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.rename",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.chown",
    "os.truncate",
    "os.utime",
    "os.mkfifo",
    "shutil.rmtree",
    "shutil.move",
    "shutil.copyfile",
    "shutil.copymode",
    "shutil.copystat",
    "shutil.copytree",
    "shutil.chown",
    "shutil.make_archive",
    "shutil.unpack_archive",
]
_PROCESSES = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn")
_NETWORK = [
    "socket.connect",
    "socket.bind",
    "socket.sendto",
    "socket.sendmsg",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.gethostbyaddr",
    "urllib.Request",
    "http.client.connect",
    "ftplib.connect",
    "webbrowser.open",
]
INSTALLED = tuple(
    os.path.realpath(one)
    for one in {
        sys.prefix,
        sys.base_prefix,
        *sysconfig.get_paths().values(),
        *map(str, SOURCES),
        f"{ROOT}/tests",
        *map(str, ROOT.glob("packages/*/tests")),
    }
)
_SYSTEM = (
    "/proc/",
    "/sys/",
    "/dev/null",
    "/dev/urandom",
    "/dev/shm/",
    "/usr/share/",
    "/usr/lib",
    "/lib",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/ssl",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/machine-id",
    "/etc/passwd",
)
_ROOTS = ("/", "/etc", "/dev", "/tmp")
"""What libraries read and list of the system; a decoy stands for each file that an input might want."""


@dataclass
class Watch:
    """What was reached; ``folder`` may be read, ``own`` read and written, ``decoys`` neither."""

    decoys: Path
    own: tuple[Path, ...]
    folder: Path = Path("/nowhere")
    may_write: bool = False
    reached: list[str] = field(default_factory=list)
    readers: set[str] = field(default_factory=set)
    """Modules of Saccade that opened something of the folder."""
    is_on: bool = False

    def start(self) -> None:
        """For the rest of the process: a hook cannot be taken away."""
        self._inotify = _Inotify(self.decoys)
        sys.addaudithook(self._hook)

    @contextmanager
    def over(self, folder: Path, *, may_write: bool) -> Iterator[None]:
        self.folder, self.may_write, self.reached = folder, may_write, []
        self._inotify.taken()
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False
            self.reached += self._inotify.taken()

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.is_on:
            return
        self.is_on = False
        try:
            self._note(event, arguments)
        finally:
            self.is_on = True

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            self._file(event, os.fsdecode(arguments[0]), is_writing=bool(flags & _WRITING))
        elif event in _LISTS:
            self._file(event, _text(arguments[0]) or ".", is_writing=False)
        elif event in _CHANGES:
            first, last = (1, 2) if event in ("os.link", "shutil.copyfile", "shutil.copytree") else (0, 1)
            for one in arguments[first : 2 if event in ("os.rename", "shutil.move") else last]:
                if event != "os.mkdir" or not Path(_text(one)).is_dir():
                    self._file(event, _text(one), is_writing=True)
        elif event == "subprocess.Popen":
            self._process(arguments)
        elif event in _PROCESSES or event in _NETWORK:
            # Processes of one machine speak by sockets without an address.
            if getattr(arguments[0], "family", None) != socket.AF_UNIX:
                self.reached.append(f"{event} {arguments[:2]!r}"[:200])
        elif event == "pickle.find_class":
            if not _is_library_frame():
                self.reached.append(f"{event} {arguments!r}")
        elif event == "ctypes.dlopen":
            self._library(arguments[0])
        elif event == "exec":
            self._code(getattr(arguments[0], "co_filename", ""))

    def _file(self, event: str, path: str, *, is_writing: bool) -> None:
        real = os.path.realpath(path)
        if not path or path.isdigit() or _is_below(real, self.own):
            return
        is_inside = _is_below(real, (self.folder,))
        if is_inside and event == "open" and not is_writing:
            self.readers.add(_reader())
        if is_writing:
            is_free = (is_inside and self.may_write) or real.startswith(("/dev/null", "/dev/shm/"))
        else:
            is_free = (
                is_inside or _is_below(real, INSTALLED) or real.startswith(_SYSTEM) or real in (*_ROOTS, *sys.path)
            )
        if not is_free:
            led = f" -> {real}" if real != str(Path(path).absolute()) else ""
            self.reached.append(f"{event}{' for writing' if is_writing else ''}: {path}{led}")

    def _process(self, arguments: tuple[object, ...]) -> None:
        command = [_text(one) for one in arguments[1]] if isinstance(arguments[1], list | tuple) else []
        ours = command[1:3] if command[:1] == [sys.executable] else []
        is_ours = any(one.startswith("saccade.") or one.startswith(OWN) for one in ours) or "-c" in ours
        if not is_ours:
            self.reached.append(f"subprocess.Popen {arguments[1]!r}"[:200])

    def _library(self, name: object) -> None:
        path = _text(name)
        real = os.path.realpath(path)
        if "/" in path and not _is_below(real, (*INSTALLED, *map(str, self.own))) and not real.startswith(_SYSTEM):
            self.reached.append(f"ctypes.dlopen {path}")

    def _code(self, file: str) -> None:
        """Code of a file that is nobody's we installed, or of a text of the folder."""
        if not file.startswith("<") and not _is_below(os.path.realpath(file), INSTALLED):
            self.reached.append(f"exec of {file}")


def _text(value: object) -> str:
    return os.fsdecode(value) if isinstance(value, str | bytes | os.PathLike) else ""


def _is_below(real: str, folders: tuple[object, ...]) -> bool:
    return any(real == str(one) or real.startswith(f"{one}/") for one in folders)


def _reader() -> str:
    """The innermost module of Saccade on the stack."""
    frame = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(OWN) and not file.endswith("/plain_files.py"):
            return file.partition("/src/")[2]
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _is_library_frame() -> bool:
    """Whether a library unpickles what it made itself, to copy a value or to start a process."""
    frame = sys._getframe(2)
    names = set()
    while frame is not None:
        names.add(frame.f_code.co_filename.rpartition("/")[2])
        frame = frame.f_back  # type: ignore[assignment]
    return bool(names & {"copy.py", "synchronize.py", "popen_spawn_posix.py"})


class _Inotify:
    """Events of all folders below the decoys, with the names of the files."""

    def __init__(self, root: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._folders: dict[int, Path] = {}
        mask = _IN_OPEN | _IN_MODIFY | _IN_ATTRIB | _IN_CREATE | _IN_DELETE | _IN_MOVED
        for folder in (root, *(one for one in root.rglob("*") if one.is_dir())):
            self._folders[libc.inotify_add_watch(self._descriptor, os.fsencode(folder), mask)] = folder

    def taken(self) -> list[str]:
        found = []
        try:
            raw = os.read(self._descriptor, 1 << 16)
        except BlockingIOError:
            return []
        while raw:
            watched, mask, _, length = struct.unpack_from("iIII", raw)
            name = raw[16 : 16 + length].rstrip(b"\0").decode()
            what = next((words for bit, words in _NAMES.items() if mask & bit), f"event {mask:x}")
            found.append(f"decoy {what}: {self._folders.get(watched, Path())}/{name}")
            raw = raw[16 + length :]
        return found
