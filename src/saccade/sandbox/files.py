"""The files of a session as a transaction: contents are kept by the keeper, compared, and written back in place.

Everything here walks a tree that hostile code has made and may hold open: by descriptors, following no link, with
bounds on depth, count and size. Time stamps are no evidence (a write through a memory map leaves them), contents are.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

_DEPTH = 40
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class OverLimitError(Exception):
    """The tree is larger than a session's may be; says which limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Saved:
    mode: int
    """As ``st_mode``: kind and permissions."""
    content: bytes = b""
    """Of a file; of a link its target; of a folder nothing."""


class Files:
    """The committed tree under a folder, and the way back to it."""

    def __init__(self, folder: str, *, most_bytes: int, most_files: int) -> None:
        self._root = os.open(folder, _FOLDER)
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._saved: dict[str, _Saved] = {}

    def write(self, path: str, content: bytes) -> None:
        """Makes a file, for the session's images."""
        file = os.open(path, _WRITE | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=self._root)
        try:
            _write_all(file, content)
            os.fchmod(file, 0o644)
        finally:
            os.close(file)

    def commit(self) -> None:
        """Makes the tree as it is now the one to come back to; OverLimitError, and no change, when it is too large."""
        saved: dict[str, _Saved] = {}
        room = self._most_bytes
        for path, place, name, found in self._walk():
            if len(saved) >= self._most_files:
                raise OverLimitError(f"a session may have {self._most_files} files")
            if stat.S_ISREG(found.st_mode):
                # Before reading: a hole costs the writer nothing and the reader all.
                room -= found.st_size
                if room < 0:
                    raise OverLimitError(f"the files of a session may have {self._most_bytes >> 20} MiB together")
                content = _read(place, name, found.st_size)
            elif stat.S_ISLNK(found.st_mode):
                content = os.fsencode(os.readlink(name, dir_fd=place))
            elif stat.S_ISDIR(found.st_mode):
                content = b""
            else:
                raise OverLimitError("a session may have files, folders and links only")
            before = self._saved.get(path)
            if before is None or before.content != content or before.mode != found.st_mode:
                before = _Saved(mode=found.st_mode, content=content)
            saved[path] = before
        self._saved = saved

    def roll_back(self) -> None:
        """Makes the tree as it was at the last commit; files that still exist are rewritten in place."""
        changed: list[str] = []
        kept: set[str] = set()
        for path, place, name, found in self._walk(removing=True):
            saved = self._saved.get(path)
            if saved is None or stat.S_IFMT(saved.mode) != stat.S_IFMT(found.st_mode):
                _remove(place, name, found.st_mode)
                continue
            kept.add(path)
            if stat.S_ISREG(found.st_mode) and not (
                found.st_size == len(saved.content) and _read(place, name, found.st_size) == saved.content
            ):
                changed.append(path)
                _cut(place, name)
            elif stat.S_ISLNK(found.st_mode) and os.fsencode(os.readlink(name, dir_fd=place)) != saved.content:
                os.unlink(name, dir_fd=place)
                kept.discard(path)
            if found.st_mode != saved.mode and not stat.S_ISLNK(found.st_mode):
                os.chmod(name, stat.S_IMODE(saved.mode), dir_fd=place)
        # Parents come before what is in them.
        for path, saved in self._saved.items():
            if path not in kept:
                self._make(path, saved)
            elif path in changed:
                self._rewrite(path, saved.content)

    def _make(self, path: str, saved: _Saved) -> None:
        if stat.S_ISDIR(saved.mode):
            os.mkdir(path, dir_fd=self._root)
            os.chmod(path, stat.S_IMODE(saved.mode), dir_fd=self._root)
        elif stat.S_ISLNK(saved.mode):
            os.symlink(saved.content, os.fsencode(path), dir_fd=self._root)
        else:
            self.write(path, saved.content)
            os.chmod(path, stat.S_IMODE(saved.mode), dir_fd=self._root)

    def _rewrite(self, path: str, content: bytes) -> None:
        file = os.open(path, _WRITE, dir_fd=self._root)
        try:
            _write_all(file, content)
        finally:
            os.close(file)

    def _walk(self, *, removing: bool = False) -> Iterator[tuple[str, int, str, os.stat_result]]:
        """Path, descriptor of its folder, name and stat of everything; folders before what is in them."""
        waiting: list[tuple[str, int]] = [("", os.dup(self._root))]
        try:
            while waiting:
                prefix, place = waiting.pop()
                try:
                    for name in sorted(os.listdir(place)):  # noqa: PTH208
                        path = prefix + name
                        try:
                            found = os.lstat(name, dir_fd=place)
                        except FileNotFoundError:
                            # Threads of the run may still be at work; the commit after their end is exact.
                            continue
                        yield path, place, name, found
                        if not stat.S_ISDIR(found.st_mode) or (removing and path not in self._saved):
                            continue
                        if path.count("/") >= _DEPTH:
                            raise OverLimitError(f"folders may lie {_DEPTH} deep")
                        waiting.append((path + "/", _open_folder(name, place)))
                finally:
                    os.close(place)
        finally:
            for _, place in waiting:
                os.close(place)


def _open_folder(name: str, place: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=place)
    except PermissionError:
        # The keeper of an ordinary user has no rights beyond the owner's.
        os.chmod(name, 0o700, dir_fd=place)
        return os.open(name, _FOLDER, dir_fd=place)


def _open_file(name: str, place: int, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=place)
    except PermissionError:
        os.chmod(name, 0o600, dir_fd=place)
        return os.open(name, flags, dir_fd=place)


def _read(place: int, name: str, size: int) -> bytes:
    file = _open_file(name, place, _READ)
    try:
        parts, left = [], size
        while left > 0 and (part := os.read(file, left)):
            parts.append(part)
            left -= len(part)
    finally:
        os.close(file)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _cut(place: int, name: str) -> None:
    """Empties a file that will be rewritten, so that all the room is free before anything is written."""
    file = _open_file(name, place, _WRITE)
    try:
        os.ftruncate(file, 0)
    finally:
        os.close(file)


def _write_all(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


def _remove(place: int, name: str, mode: int) -> None:
    """Removes a file, or a folder of any depth, without recursion: folders in it are moved up first."""
    if not stat.S_ISDIR(mode):
        os.unlink(name, dir_fd=place)
        return
    waiting, made = [name], 0
    while waiting:
        current = waiting.pop()
        folder = _open_folder(current, place)
        try:
            for entry in os.listdir(folder):  # noqa: PTH208
                if stat.S_ISDIR(os.lstat(entry, dir_fd=folder).st_mode):
                    made += 1
                    moved = f"{name[:100]}.gone-{made}"
                    os.rename(entry, moved, src_dir_fd=folder, dst_dir_fd=place)
                    waiting.append(moved)
                else:
                    os.unlink(entry, dir_fd=folder)
        finally:
            os.close(folder)
        os.rmdir(current, dir_fd=place)
