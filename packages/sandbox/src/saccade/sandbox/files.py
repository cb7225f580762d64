"""The files of a session as a transaction: contents are kept by the keeper, compared, and written back in place.

Time stamps are no evidence (a write through a memory map leaves them), contents are.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace

from saccade.sandbox import tree

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TOP_MODE = 0o700


class OverLimitError(Exception):
    """The tree is larger than a session's may be; says which limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Saved:
    inode: int
    """The same for all names of one file, and for what open files and memory maps mean."""
    mode: int
    """As ``st_mode``: kind and permissions."""
    content: bytes = b""
    """Bytes of a file; a link's target; nothing for a folder."""


class Files:
    """The committed tree under a folder, and the way back to it."""

    def __init__(
        self, folder: str, *, most_bytes: int, most_files: int, make_room: Callable[[], None] | None = None
    ) -> None:
        self._root = os.open(folder, _FOLDER)
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._make_room = make_room
        self._saved: dict[str, _Saved] = {}
        self._last: dict[str, _Saved] = {}

    def write(self, path: str, content: bytes) -> None:
        """Makes a file, for the session's images."""
        folder, _, name = path.rpartition("/")
        place = tree.open_path(self._root, folder)
        try:
            tree.make(name, place, stat.S_IFREG | 0o644, content)
        finally:
            os.close(place)

    def overflow(self) -> bool:
        """Whether the tree, which may change meanwhile, takes far more of the disk than a session may."""
        room = 2 * self._most_bytes
        with contextlib.suppress(OSError, tree.TooDeepError):
            for count, (_, _, _, found) in enumerate(tree.walk(self._root, lambda _: True)):
                room -= 512 * found.st_blocks
                # To look at all of very many would take longer than the run may.
                if room < 0 or count > 4 * self._most_files:
                    return True
        return room < 0

    def commit(self) -> None:
        """Makes the tree as it is now the one to come back to; OverLimitError, and no change, when it is too large."""
        saved: dict[str, _Saved] = {}
        room = self._most_bytes
        try:
            for path, place, name, found in tree.walk(self._root, lambda _: True):
                if len(saved) >= self._most_files:
                    raise OverLimitError(f"a session may have {self._most_files} files")
                before = self._saved.get(path)
                if stat.S_ISREG(found.st_mode):
                    # Before reading: a hole costs the writer nothing and the reader all.
                    room -= found.st_size
                    if room < 0:
                        raise OverLimitError(f"the files of a session may have {self._most_bytes >> 20} MiB together")
                    is_same = (
                        before is not None
                        and len(before.content) == found.st_size
                        and tree.holds(name, place, before.content)
                    )
                    content = before.content if before and is_same else tree.read(name, place, found.st_size)
                elif stat.S_ISLNK(found.st_mode):
                    content = os.fsencode(os.readlink(name, dir_fd=place))
                elif stat.S_ISDIR(found.st_mode):
                    content = b""
                else:
                    raise OverLimitError("a session may have files, folders and links only")
                now = _Saved(inode=found.st_ino, mode=found.st_mode, content=content)
                # What was there before keeps its content, which need not be held twice.
                saved[path] = before if before == now else now
        except tree.TooDeepError:
            raise OverLimitError(f"folders may lie {tree.DEPTH} deep") from None
        self._open_top()
        self._last, self._saved = self._saved, saved

    def forget_last(self) -> None:
        """The last commit is final: what was there before it is let go."""
        self._last = {}

    def take_back(self) -> None:
        """Makes the tree as it was before the last commit."""
        self._saved, self._last = self._last, {}
        self.roll_back()

    def roll_back(self) -> None:
        """Makes the tree as it was at the last commit.

        A file that still has its name is rewritten in place. One that was removed or replaced is made anew, unless
        another of its names is left: what was open or mapped of it is then no longer what has its name. No other
        process may change the tree meanwhile.
        """
        try:
            self._restore()
        except OSError as error:
            if self._make_room is None or error.errno != errno.ENOSPC:
                raise
            # Files that were removed and are still held open take the room.
            self._make_room()
            self._restore()

    def _restore(self) -> None:
        self._open_top()
        changed: set[str] = set()
        kept: set[str] = set()
        for path, place, name, found in tree.walk(
            self._root, kept.__contains__, writable=True, leaves_mode=self._mode_of
        ):
            saved = self._saved.get(path)
            is_file = stat.S_ISREG(found.st_mode)
            if (
                saved is None
                or saved.inode != found.st_ino
                or stat.S_IFMT(saved.mode) != stat.S_IFMT(found.st_mode)
                or (stat.S_ISLNK(found.st_mode) and os.fsencode(os.readlink(name, dir_fd=place)) != saved.content)
            ):
                tree.remove(name, place, found.st_mode)
                continue
            if is_file and not (found.st_size == len(saved.content) and tree.holds(name, place, saved.content)):
                changed.add(path)
                # All the room is freed before anything is written. Not more: a private map of it would lose its own.
                if found.st_size > len(saved.content):
                    tree.cut(name, place, len(saved.content))
            kept.add(path)
            # A folder's is set when the walk has left it.
            if is_file and found.st_mode != saved.mode:
                tree.set_mode(name, place, stat.S_IMODE(saved.mode))
        self._make_all(kept, changed)
        made = self._saved.keys() - kept | changed
        for path, saved in reversed(self._saved.items()):
            is_closed = stat.S_ISDIR(saved.mode) and saved.mode & 0o700 != 0o700
            if path in made or (made and is_closed):
                self._set_mode(path, saved.mode)

    def _make_all(self, kept: set[str], changed: set[str]) -> None:
        """Makes what is missing, and rewrites what was changed."""
        homes = {self._saved[path].inode: path for path in kept}
        # Parents come before what is in them; their own modes are set at the end, from the inside out.
        for path, saved in list(self._saved.items()):
            if path in kept and path not in changed:
                continue
            home = homes.setdefault(saved.inode, path)
            folder, _, name = path.rpartition("/")
            place = tree.open_path(self._root, folder)
            try:
                if path in changed:
                    tree.rewrite(name, place, saved.content)
                elif home != path:
                    self._link(home, name, place)
                else:
                    tree.make(name, place, saved.mode, saved.content)
                inode = os.lstat(name, dir_fd=place).st_ino
            finally:
                os.close(place)
            self._saved[path] = replace(saved, inode=inode)

    def _link(self, path: str, name: str, place: int) -> None:
        """Gives a file that is there one more name."""
        folder, _, first = path.rpartition("/")
        source = tree.open_path(self._root, folder)
        try:
            os.link(first, name, src_dir_fd=source, dst_dir_fd=place, follow_symlinks=False)
        finally:
            os.close(source)

    def _mode_of(self, path: str, mode: int) -> int:
        """With which mode a folder is left."""
        return self._saved[path].mode if path in self._saved else mode

    def _set_mode(self, path: str, mode: int) -> None:
        folder, _, name = path.rpartition("/")
        place = tree.open_path(self._root, folder)
        try:
            tree.set_mode(name, place, stat.S_IMODE(mode))
        finally:
            os.close(place)

    def _open_top(self) -> None:
        """The session's own folder is in no transaction, but code may have taken its rights away."""
        if stat.S_IMODE(os.fstat(self._root).st_mode) != _TOP_MODE:
            os.fchmod(self._root, _TOP_MODE)
