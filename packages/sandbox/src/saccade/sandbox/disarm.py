"""What the model's code may have set up to run, or to end this process, at some later time: taken away."""

import gc
import sys
from collections.abc import Callable

# Bound here by name: model code may replace what modules hold.
from faulthandler import cancel_dump_traceback_later
from functools import partial
from signal import ITIMER_PROF, ITIMER_REAL, ITIMER_VIRTUAL, SIG_DFL, SIGCHLD, SIGCONT, setitimer, signal
from sys import getprofile, gettrace, setprofile, settrace

from saccade.sandbox.processes import outlive_parent

_do_not_collect = gc.disable
_forget_monitors: list[Callable[[], object]] = []
if sys.version_info >= (3, 12):
    _forget_monitors = [
        partial(sys.monitoring.register_callback, tool, event, None)
        for tool in range(6)
        for event in vars(sys.monitoring.events).values()
        if event.bit_count() == 1
    ]


def disarm() -> None:
    """Leaves this process to itself, until it is woken to run code: no timer, handler, collection or trace."""
    for timer in (ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF):
        setitimer(timer, 0)
    for handled in (SIGCHLD, SIGCONT):
        signal(handled, SIG_DFL)
    # The parent is killed soon; the keeper becomes the parent.
    outlive_parent()
    cancel_dump_traceback_later()
    _do_not_collect()
    for forget in _forget_monitors:
        forget()
    # An audit hook, which sees these calls, may set one of them when the other is taken away.
    while gettrace() or getprofile():
        settrace(None)
        setprofile(None)
