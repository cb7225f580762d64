"""The files of a session as a transaction: contents are kept by the keeper, compared, and written back in place.

Time stamps are no evidence (a write through a memory map leaves them), contents are.
"""

import os
import stat
from dataclasses import dataclass

from saccade.sandbox import tree


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
        self._root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._root_mode = stat.S_IMODE(os.fstat(self._root).st_mode)
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._saved: dict[str, _Saved] = {}
        self._before: dict[str, _Saved] = {}

    def write(self, path: str, content: bytes) -> None:
        """Makes a file, for the session's images."""
        self._make(path, _Saved(mode=stat.S_IFREG | 0o644, content=content))

    def commit(self) -> None:
        """Makes the tree as it is now the one to come back to; OverLimitError, and no change, when it is too large."""
        os.fchmod(self._root, self._root_mode)
        saved: dict[str, _Saved] = {}
        room = self._most_bytes
        try:
            for path, place, name, found in tree.walk(self._root, lambda _: True):
                if len(saved) >= self._most_files:
                    raise OverLimitError(f"a session may have {self._most_files} files")
                if stat.S_ISREG(found.st_mode):
                    # Before reading: a hole costs the writer nothing and the reader all.
                    room -= found.st_size
                    if room < 0:
                        raise OverLimitError(f"the files of a session may have {self._most_bytes >> 20} MiB together")
                    content = tree.read(name, place, found.st_size)
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
        except tree.TooDeepError as error:
            raise OverLimitError(f"folders may lie {tree.DEPTH} deep") from error
        self._saved, self._before = saved, self._saved

    def take_back(self) -> None:
        """Makes the tree as it was at the commit before the last."""
        self._saved = self._before
        self.roll_back()

    def roll_back(self) -> None:
        """Makes the tree as it was at the last commit; files that still exist are rewritten in place."""
        os.fchmod(self._root, self._root_mode)
        kept: set[str] = set()
        changed: set[str] = set()
        for path, place, name, found in tree.walk(self._root, lambda path: path in kept, writable=True):
            saved = self._saved.get(path)
            is_regular = stat.S_ISREG(found.st_mode)
            # A file with several names may be another committed file: to write to it would change both.
            if (
                saved is None
                or stat.S_IFMT(saved.mode) != stat.S_IFMT(found.st_mode)
                or (is_regular and found.st_nlink > 1)
            ):
                tree.remove(name, place, found.st_mode)
                continue
            if stat.S_ISLNK(found.st_mode) and os.fsencode(os.readlink(name, dir_fd=place)) != saved.content:
                os.unlink(name, dir_fd=place)
                continue
            kept.add(path)
            if is_regular and not (
                found.st_size == len(saved.content) and tree.read(name, place, found.st_size) == saved.content
            ):
                # Emptied first, so that all the room is free before anything is written.
                changed.add(path)
                tree.cut(name, place)
        # Parents come before what is in them.
        for path, saved in self._saved.items():
            if path not in kept:
                self._make(path, saved)
            elif path in changed:
                self._fill(path, saved.content)
        self._restore_modes()

    def _make(self, path: str, saved: _Saved) -> None:
        folder, _, name = path.rpartition("/")
        place = tree.open_path(self._root, folder)
        try:
            if stat.S_ISDIR(saved.mode):
                os.mkdir(name, 0o700, dir_fd=place)
            elif stat.S_ISLNK(saved.mode):
                os.symlink(saved.content, os.fsencode(name), dir_fd=place)
            else:
                tree.write(name, place, saved.content, is_made=True)
        finally:
            os.close(place)

    def _fill(self, path: str, content: bytes) -> None:
        folder, _, name = path.rpartition("/")
        place = tree.open_path(self._root, folder)
        try:
            tree.write(name, place, content, is_made=False)
        finally:
            os.close(place)

    def _restore_modes(self) -> None:
        """Last, and from the inside out: nobody can write into a folder that forbids it."""

        def saved_mode(path: str, mode: int) -> int:
            return self._saved[path].mode if path in self._saved else mode

        for path, place, name, found in tree.walk(self._root, lambda _: True, leaves_mode=saved_mode):
            wanted = saved_mode(path, found.st_mode)
            if stat.S_ISREG(found.st_mode) and found.st_mode != wanted:
                tree.set_mode(name, place, stat.S_IMODE(wanted))
