"""What code registers to run later: in the time of a run, and undone with it, or never."""

import sys

import pytest

from saccade.sandbox import Session

THREAD = "import threading\nt = threading.Thread(target=int); t.start(); t.join()\n"
SLOW = "import os, sys, time\nis_over = False\ndef slow(*_):\n    if is_over: time.sleep(0.3)\n"
C_HOOK = "import ctypes\nhook = ctypes.CFUNCTYPE(None)(slow)\n"

AT_FORKS = {
    "of Python, before": "os.register_at_fork(before=slow)",
    "of Python, in the child": "os.register_at_fork(after_in_child=slow)",
    "of C, before": C_HOOK + "ctypes.CDLL(None)['__register_atfork'](hook, None, None, None)",
}


@pytest.mark.parametrize("hook", AT_FORKS)
def test_a_hook_of_the_fork_of_threads_counts_as_time_of_its_run(confined: Session, hook: str) -> None:
    result = confined.run(f"{SLOW}{AT_FORKS[hook]}\n{THREAD}is_over = True")
    assert result.ok
    assert result.elapsed_s > 0.3


def test_a_hook_in_each_child_of_the_fork_of_threads_counts_as_time_of_the_next_runs(session: Session) -> None:
    hook = C_HOOK + "ctypes.CDLL(None)['__register_atfork'](None, None, hook, None)"
    assert session.run(f"{SLOW}{hook}\n{THREAD}is_over = True").ok
    assert session.run("1").elapsed_s > 0.3


def test_hooks_that_outlast_their_run_end_it_and_what_they_wrote_is_undone(confined: Session) -> None:
    register = "import os, time\ndef late():\n    open('late.txt', 'w').close(); time.sleep(99)\n"
    result = confined.run(f"{register}os.register_at_fork(before=late)\n{THREAD}", timeout_s=0.5)
    assert result.error is not None
    assert (result.error.kind, result.error.message) == ("timeout", "the code took longer than 0.5 s")
    assert confined.run("import os; 'late' in globals(), os.listdir()").stdout == "(False, ['input_image.png'])\n"


def test_hooks_that_make_threads_fail_their_run(confined: Session) -> None:
    crowd = "import os, threading\ndef crowd(): threading.Thread(target=iter(int, 1).__next__, daemon=True).start()\n"
    error = confined.run(f"{crowd}os.register_at_fork(after_in_child=crowd)\n{THREAD}").error
    assert error is not None
    assert error.message == "the threads that the code left running could not be ended"
    assert confined.run("'crowd' in globals()").stdout == "False\n"


def test_what_a_hook_of_a_fork_arms_does_not_reach_the_state(confined: Session) -> None:
    arm = (
        "import gc, os, signal, sys, builtins\nseen = []\ndef arm():\n    sys.settrace(lambda *a: seen.append(a[1]))\n"
        "    gc.enable(); gc.callbacks.append(lambda *a: seen.append(a[0])); builtins.len = None\n"
        "    signal.signal(signal.SIGALRM, lambda *_: seen.append('alarm')); signal.setitimer(0, 0.01, 0.01)\n"
    )
    assert confined.run(f"{arm}os.register_at_fork(after_in_child=arm)\n{THREAD}seen.clear()").ok
    look = "sys.gettrace(), signal.getitimer(0), 'alarm' in seen, len('abc')"
    for _ in range(2):
        assert confined.run(look).stdout == "(None, (0.0, 0.0), False, 3)\n"
        assert not confined.run("1 / 0").ok


def test_audit_hooks_hear_nothing_between_runs(confined: Session) -> None:
    assert confined.run("import sys\nheard = []\nopened = open('input_image.png')").ok
    assert confined.run("sys.addaudithook(lambda name, _: heard.append(name))").ok
    assert not confined.run("1 / 0").ok
    # The state's own look at the descriptors, and the thread that a run makes.
    assert confined.run(THREAD).ok
    assert confined.run("[name for name in heard if name.startswith(('fcntl', 'os.fork'))]").stdout == "[]\n"


LATE = {
    # It looks for pictures at the start and at the end.
    "audit hook": "sys.addaudithook(lambda name, _: slow() if name == 'os.scandir' else None)",
    "end of a stream": "import io\nclass Own(io.StringIO):\n    def __del__(self): slow()\nsys.stdout = Own()",
}


@pytest.mark.parametrize("kind", LATE)
def test_what_runs_at_the_start_of_the_next_run_counts_as_its_time(session: Session, kind: str) -> None:
    assert session.run(f"{SLOW}{LATE[kind]}\nis_over = True").ok
    assert session.run("1").elapsed_s > (0.6 if kind == "audit hook" else 0.3)


def test_a_trace_that_an_audit_hook_sets_again_ends_its_run(session: Session) -> None:
    again = "import sys\nsys.addaudithook(lambda name, _: sys.settrace(print) if name == 'sys.setprofile' else None)"
    assert not session.run(again, timeout_s=0.5).ok
    assert session.run("import sys; sys.gettrace()").stdout == ""


def test_threads_leave_the_drawing_of_numbers_as_it_was(confined: Session) -> None:
    assert confined.run(f"import random\nrandom.seed(3)\nfirst = random.getstate()\n{THREAD}").ok
    assert confined.run("random.getstate() == first").stdout == "True\n"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python monitors from 3.12 on")
def test_monitors_see_nothing_between_runs(confined: Session) -> None:
    monitor = (
        "import sys\nseen = []\nm = sys.monitoring; m.use_tool_id(3, 'own'); m.set_events(3, m.events.PY_START)\n"
        "m.register_callback(3, m.events.PY_START, lambda code, _: seen.append(code.co_name))"
    )
    assert confined.run(monitor).ok
    assert not confined.run("1 / 0").ok
    assert confined.run("[name for name in seen if name in ('_sleep', '_await_order', '_hear')]").stdout == "[]\n"
