"""A folder tree that hostile code has made and may hold open: by descriptors, following no link, bounded in depth."""

import os
import stat
from collections.abc import Callable, Iterator

DEPTH = 40
_PART = 1 << 16
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PLACE = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC


class TooDeepError(Exception):
    """Folders lie more than ``DEPTH`` deep."""


def walk(
    root: int,
    enters: Callable[[str], bool],
    *,
    writable: bool = False,
    leaves_mode: Callable[[str, int], int] = lambda _, mode: mode,
) -> Iterator[tuple[str, int, str, os.stat_result]]:
    """Path, descriptor of its folder, name and stat of everything; folders before what is in them.

    ``enters`` says of a folder's path, once it has been given out, whether to go in. ``leaves_mode`` says with which
    mode a folder is left, of its path and the mode that it had. As many descriptors are open as folders lie inside
    each other.
    """
    stack = [("", os.dup(root), iter(sorted(os.listdir(root))), 0)]
    try:
        while stack:
            prefix, place, names, mode = stack[-1]
            name = next(names, None)
            if name is None:
                stack.pop()
                if mode and os.fstat(place).st_mode != (wanted := leaves_mode(prefix[:-1], mode)):
                    os.fchmod(place, stat.S_IMODE(wanted))
                os.close(place)
                continue
            path = prefix + name
            try:
                found = os.lstat(name, dir_fd=place)
            except FileNotFoundError:
                # Threads of the run may still be at work; the commit after their end is exact.
                continue
            yield path, place, name, found
            if stat.S_ISDIR(found.st_mode) and enters(path):
                if len(stack) > DEPTH:
                    raise TooDeepError
                inner = open_folder(name, place, writable=writable)
                stack.append((path + "/", inner, iter(sorted(os.listdir(inner))), found.st_mode))  # noqa: PTH208
    finally:
        for _, place, _, _ in stack:
            os.close(place)


def open_folder(name: str, place: int, *, writable: bool) -> int:
    """A folder's descriptor; the keeper of an ordinary user first gives itself the rights that it lacks."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=place)
    except PermissionError:
        set_mode(name, place, 0o700)
        folder = os.open(name, _FOLDER, dir_fd=place)
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    needed = 0o700 if writable else 0o500
    if mode & needed != needed:
        os.fchmod(folder, mode | needed)
    return folder


def open_path(root: int, folder: str) -> int:
    """The descriptor of a folder some levels below another, to write in; each level opened without following links."""
    place = os.dup(root)
    for name in folder.split("/") if folder else []:
        try:
            inner = open_folder(name, place, writable=True)
        finally:
            os.close(place)
        place = inner
    return place


def set_mode(name: str, place: int, mode: int) -> None:
    """Changes permissions of what has this name, unless it is a link."""
    held = os.open(name, _PLACE, dir_fd=place)
    try:
        if stat.S_ISLNK(os.fstat(held).st_mode):
            return
        try:
            os.chmod(f"/proc/self/fd/{held}", mode)  # noqa: PTH101
            return
        except FileNotFoundError:
            pass
    finally:
        os.close(held)
    # Where there is no /proc the keeper may open everything.
    held = os.open(name, _READ, dir_fd=place)
    try:
        os.fchmod(held, mode)
    finally:
        os.close(held)


def read(name: str, place: int, size: int) -> bytes:
    """The first bytes of a file."""
    file = _open_descriptor(name, place, _READ)
    try:
        parts, left = [], size
        while left > 0 and (part := os.read(file, left)):
            parts.append(part)
            left -= len(part)
    finally:
        os.close(file)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def holds(name: str, place: int, content: bytes) -> bool:
    """Whether a file has just this content; nothing as large as the file is made for it."""
    file = _open_descriptor(name, place, _READ)
    try:
        known, start = memoryview(content), 0
        while part := os.read(file, _PART):
            if known[start : start + len(part)] != part:
                return False
            start += len(part)
    finally:
        os.close(file)
    return start == len(content)


def cut(name: str, place: int, size: int) -> None:
    """Leaves so many bytes of a file."""
    file = _open_descriptor(name, place, _WRITE)
    try:
        os.ftruncate(file, size)
    finally:
        os.close(file)


def rewrite(name: str, place: int, content: bytes) -> None:
    """Gives a file that is not longer this content."""
    file = _open_descriptor(name, place, _WRITE)
    try:
        _write(file, content)
    finally:
        os.close(file)


def make(name: str, place: int, mode: int, content: bytes) -> None:
    """Makes a folder (0700), a link or a file (0644), as ``mode`` has it, for the owner of the folder that it is in."""
    if stat.S_ISDIR(mode):
        os.mkdir(name, 0o700, dir_fd=place)
    elif stat.S_ISLNK(mode):
        os.symlink(content, os.fsencode(name), dir_fd=place)
    else:
        file = os.open(name, _WRITE | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=place)
        try:
            _write(file, content)
            os.fchmod(file, 0o644)
        finally:
            os.close(file)
    owner = os.fstat(place)
    if owner.st_uid != os.geteuid():
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=place, follow_symlinks=False)


def _write(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


def remove(name: str, place: int, mode: int) -> None:
    """Removes a file, or a folder of any depth, without recursion: folders in it are moved up first."""
    if not stat.S_ISDIR(mode):
        os.unlink(name, dir_fd=place)
        return
    waiting = [name]
    while waiting:
        current = waiting.pop()
        folder = open_folder(current, place, writable=True)
        try:
            for entry in os.listdir(folder):  # noqa: PTH208
                if stat.S_ISDIR(os.lstat(entry, dir_fd=folder).st_mode):
                    # A folder that its owner may not write to cannot be moved.
                    os.close(open_folder(entry, folder, writable=True))
                    # A name that cannot have been taken before.
                    moved = f".gone-{os.urandom(12).hex()}"
                    os.rename(entry, moved, src_dir_fd=folder, dst_dir_fd=place)
                    waiting.append(moved)
                else:
                    os.unlink(entry, dir_fd=folder)
        finally:
            os.close(folder)
        os.rmdir(current, dir_fd=place)


def _open_descriptor(name: str, place: int, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=place)
    except PermissionError:
        mode = os.lstat(name, dir_fd=place).st_mode
        set_mode(name, place, 0o600)
        file = os.open(name, flags, dir_fd=place)
        os.fchmod(file, stat.S_IMODE(mode))
        return file
