"""Landlock: this process and its descendants see these paths only, and no network and no process outside."""

import ctypes
import os
import struct
from collections.abc import Sequence

from saccade.sandbox import linux

_CREATE, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1

_WRITE_FILE, _READ_FILE, _READ_FOLDER = 1 << 1, 1 << 2, 1 << 3
_REMOVE_FOLDER, _REMOVE_FILE, _MAKE_FOLDER, _MAKE_FILE, _MAKE_LINK = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 12
_MOVE, _TRUNCATE = 1 << 13, 1 << 14
_READ = _READ_FILE | _READ_FOLDER
_CHANGE = (
    _READ | _WRITE_FILE | _REMOVE_FOLDER | _REMOVE_FILE | _MAKE_FOLDER | _MAKE_FILE | _MAKE_LINK | _MOVE | _TRUNCATE
)


def version() -> int:
    """The version of the kernel's Landlock, 0 where there is none."""
    try:
        return linux.call(_CREATE, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def restrict(
    *, listed: Sequence[str], readable: Sequence[str], writable: Sequence[str], devices: Sequence[str]
) -> None:
    """Forbids all else, for good; paths that are not there are passed over."""
    have = version()
    # One bit for each right that the version knows of.
    handled = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(have, 16)) - 1
    network = 3 if have >= 4 else 0
    scopes = 3 if have >= 6 else 0
    attributes = struct.pack("QQQ", handled, network, scopes)
    size = 8 if have < 4 else 16 if have < 6 else 24
    rules = linux.call(_CREATE, attributes, size, 0)
    try:
        for paths, rights in (
            (listed, _READ_FOLDER),
            (readable, _READ),
            (writable, _CHANGE),
            (devices, _READ_FILE | _WRITE_FILE),
        ):
            for path in paths:
                _allow(rules, path, rights & handled)
        linux.call(_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):  # noqa: PTH112
            rights &= _READ_FILE | _WRITE_FILE | _TRUNCATE
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, place), 12)
        linux.call(_ADD_RULE, rules, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)
