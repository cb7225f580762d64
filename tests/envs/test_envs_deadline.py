import threading

import pytest

from saccade.envs.calls import MAX_RUNNING, run_within
from saccade.errors import MachineError, ToolError


def test_the_operations_value_comes_back() -> None:
    assert run_within(lambda: 41 + 1, deadline_s=5, what="sum") == 42


def test_what_the_operation_raises_comes_back() -> None:
    def refuse() -> None:
        raise ToolError("no")

    def time_out() -> None:
        raise TimeoutError("the tool's own")

    with pytest.raises(ToolError, match="no"):
        run_within(refuse, deadline_s=5, what="refusal")
    with pytest.raises(TimeoutError, match="the tool's own"):
        run_within(time_out, deadline_s=5, what="time-out")


def test_an_operation_over_its_deadline_is_the_machines_failure_and_is_not_waited_for() -> None:
    release = threading.Event()
    with pytest.raises(MachineError, match=r"slow took longer than its deadline of 0\.05 s"):
        run_within(lambda: release.wait(), deadline_s=0.05, what="slow")
    release.set()


def test_hanging_operations_keep_their_places_until_they_end() -> None:
    release = threading.Event()
    finished = threading.Semaphore(0)

    def hang() -> None:
        release.wait()
        finished.release()

    for _ in range(MAX_RUNNING):
        with pytest.raises(MachineError, match="deadline"):
            run_within(hang, deadline_s=0.005, what="hang")
    with pytest.raises(MachineError, match=f"none of {MAX_RUNNING} places free"):
        run_within(lambda: 1, deadline_s=0.01, what="late")
    release.set()
    for _ in range(MAX_RUNNING):
        assert finished.acquire(timeout=10)
    assert run_within(lambda: 1, deadline_s=5, what="late") == 1
