"""Code run as a notebook cell: what it finds when it starts, and how it failed, in the model's own lines."""

import ast
import builtins
import errno
import os
import random
import sys
import tempfile
import types
import warnings

# Bound here by name: model code may replace what modules hold.
from ast import Expr, Expression, parse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from linecache import cache as lines_of_code
from sys import setprofile, settrace
from traceback import StackSummary, TracebackException
from typing import NoReturn

import numpy as np
from PIL import Image

from saccade.sandbox import displays
from saccade.sandbox.displays import UNREADABLE, Gallery
from saccade.sandbox.results import ErrorKind

_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EMFILE, errno.EDQUOT)
_NAME_CHARS = 200
_MESSAGE_CHARS = 2000
_TRACEBACK_CHARS = 6000


class RefusedError(Exception):
    """An image cannot be read; says why."""


def furnish(
    module: types.ModuleType, gallery: Gallery, *, work: str, temporary: str, images: list[str], seed: int
) -> None:
    """Makes the module ``__main__``, in the folder ``work``; RefusedError for files that are no images."""
    os.chdir(work)
    os.environ.update(HOME=work, TMPDIR=temporary, PWD=work)
    tempfile.tempdir = temporary
    space = module.__dict__
    sys.modules["__main__"] = module
    space["display"] = displays.install(gallery)
    # Modules that the model writes into its folder can be imported.
    sys.path.insert(0, "")
    # Of the task's own code nothing can be imported, not even what the runner itself is made of.
    for name in [name for name in sys.modules if name.partition(".")[0] == "saccade"]:
        del sys.modules[name]
    warnings.showwarning = partial(_show_warning, work, warnings.showwarning)
    builtins.input = _no_input
    builtins.exit = builtins.quit = _leave  # type: ignore[assignment]  # of `site`, which is not loaded
    try:
        decoded = [_decode_image(name) for name in images]
    except (*UNREADABLE, MemoryError) as error:
        raise RefusedError(f"{type(error).__name__}: {error}") from error
    if decoded:
        space["input_image"] = decoded[0]
        space["input_images"] = decoded
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    displays.seed_opencv(seed)


def _show_warning(
    work: str,
    show: Callable[..., None],
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    *more: object,
) -> None:
    """As Python does; but what libraries tell of their own future is left out, and so are paths of this machine."""
    # Above this frame are that of `warnings`, and the one that warns.
    frame = sys._getframe(1).f_back
    warns = frame.f_code.co_filename if frame else ""
    is_own = warns.startswith((work, "<")) or warns == ast.__file__
    if is_own or not issubclass(category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning)):
        # A library blames its caller, which for a figure that is drawn at the end is not the model's code.
        if filename == displays.__file__:
            filename, lineno = "<display>", 1
        elif not filename.startswith((work, "<")):
            filename = f"<{filename.rpartition('/')[2]}>"
        show(message, category, filename, lineno, *more)


def _decode_image(name: str) -> Image.Image:
    image: Image.Image = Image.open(name)
    image.load()
    # Read whole, its file is closed; a copy of what is RGB already would double the memory of every session.
    if image.mode == "RGB":
        return image
    with image:
        return image.convert("RGB")


def _no_input(prompt: object = "") -> str:
    raise EOFError("input() has nobody to answer it here: put the value into the code")


def _leave(code: object = None) -> NoReturn:
    raise SystemExit(code)


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """The failure of a run, with the fields of `RunError`."""

    kind: ErrorKind
    name: str
    message: str
    traceback: str


def execute(code: str, number: int, space: dict[str, object], show: Callable[[object], None]) -> Failure | None:
    """Runs code in a namespace and shows its last expression; None when all went well."""
    filename = f"<run {number}>"
    # No time stamp: `linecache` then never looks for a file.
    # Each line ends as in a file, or a traceback's marks under the last one stand beside what they mean.
    lines_of_code[filename] = (len(code), None, f"{code}\n".splitlines(keepends=True), filename)
    try:
        tree = parse(code, filename)
        last = None
        # A closing semicolon means: do not show.
        if tree.body and isinstance(tree.body[-1], Expr) and not code.rstrip().endswith(";"):
            last = Expression(tree.body[-1].value)
            del tree.body[-1]
        exec(compile(tree, filename, "exec", dont_inherit=True), space)
        value = None if last is None else eval(compile(last, filename, "eval", dont_inherit=True), space)
        # A tracer of the model's would go on to trace the sandbox, here as well: so not by a function of ours.
        settrace(None)
        setprofile(None)
        show(value)
    except BaseException as error:
        settrace(None)
        setprofile(None)
        return failure_of(error)
    return None


def failure_of(error: BaseException) -> Failure:
    """An exception as a failure; the exception is the model's and may misbehave when asked anything."""
    try:
        name = str(type(error).__name__)[:_NAME_CHARS]
    except BaseException:
        name = "Exception"
    try:
        message = " ".join(str(error).split())[:_MESSAGE_CHARS]
    except BaseException:
        message = ""
    if isinstance(error, SystemExit):
        return Failure(kind="exit", name=name, message=f"the code left by exit({message})", traceback="")
    try:
        text = _own_lines(error)
    except BaseException:
        text = ""
    return Failure(kind=_kind(error, message), name=name, message=message, traceback=text)


def _kind(error: BaseException, message: str) -> ErrorKind:
    if isinstance(error, MemoryError) or "Insufficient memory" in message:
        return "memory"
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return "limit"
    if isinstance(error, RuntimeError) and message == "can't start new thread":
        return "limit"
    return "exception"


def _own_lines(error: BaseException) -> str:
    told = TracebackException.from_exception(error, limit=-200, compact=True)
    links: list[TracebackException | None] = [told]
    for link in links[:20]:
        if link is not None:
            own = [frame for frame in link.stack if frame.filename.startswith("<run ")]
            link.stack = StackSummary.from_list(own)
            links += [link.__cause__, link.__context__]
    text = "".join(told.format())
    if len(text) <= _TRACEBACK_CHARS:
        return text
    # The first lines say where it began, the last what it was.
    return text[: _TRACEBACK_CHARS // 3] + "\n[cut]\n" + text[-_TRACEBACK_CHARS * 2 // 3 :]
