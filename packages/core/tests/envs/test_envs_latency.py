"""Deadlines and latency of tools in an environment."""

import threading

import pytest

from saccade.envs.calls import MAX_RUNNING, ToolLatencies, run_within, tool_times
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError, ToolError
from saccade.media.store import MediaStore
from saccade.testing.tasks import tiny_example
from saccade.tools.tool import tool_from


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
        assert finished.acquire(timeout=60)
    assert run_within(lambda: 1, deadline_s=5, what="late") == 1


def test_what_works_over_its_deadline_is_the_calls_and_what_waits_the_machines() -> None:
    over = threading.Event()

    def work() -> int:
        while not over.is_set():
            sum(range(1000))
        return 0

    with pytest.raises(ToolError, match=r"took longer than its deadline of 0\.2 s; ask for less"):
        run_within(work, deadline_s=0.2, what="work")
    over.set()
    waits = threading.Event()
    with pytest.raises(MachineError, match="deadline"):
        run_within(waits.wait, deadline_s=0.2, what="wait")
    waits.set()


def look() -> str:
    """Look."""
    return "seen"


def breaks() -> str:
    """Break."""
    raise ConnectionError("broken")


def _call(name: str) -> str:
    return f'<think>t</think><tool_call>{{"name": "{name}", "arguments": {{}}}}</tool_call>'


def _env(media: MediaStore, latencies: ToolLatencies | None) -> VisualReasoningEnv:
    env = VisualReasoningEnv(
        tools=(tool_from(look), tool_from(breaks)), media=media, max_turns=4, shows_pixels=False, latencies=latencies
    )
    env.reset(options={"task": tiny_example(media).task})
    return env


def test_times_are_summed_up_per_tool_as_worked_out_by_hand() -> None:
    one, other = ToolLatencies(), ToolLatencies()
    for seconds in (0.1, 0.2, 0.3):
        one.record("crop", seconds)
    other.record("crop", 0.4)
    other.record("zoom", 2.0)
    times = tool_times([one, other])
    assert times == pytest.approx(
        {
            "tools/crop/calls": 4.0,
            "tools/crop/mean_s": 0.25,
            "tools/crop/p50_s": 0.25,
            "tools/crop/p95_s": 0.385,
            "tools/zoom/calls": 1.0,
            "tools/zoom/mean_s": 2.0,
            "tools/zoom/p50_s": 2.0,
            "tools/zoom/p95_s": 2.0,
        }
    )


def test_what_was_taken_is_not_told_again() -> None:
    latencies = ToolLatencies()
    latencies.record("crop", 0.1)
    assert latencies.take() == [("crop", 0.1)]
    assert tool_times([latencies, latencies]) == {}


def test_an_environment_tells_of_each_call_that_ran_and_of_no_other() -> None:
    latencies = ToolLatencies()
    env = _env(MediaStore(), latencies)
    env.step(_call("look"))
    env.step(_call("no_such_tool"))
    with pytest.raises(MachineError):
        env.step(_call("breaks"))
    assert [tool for tool, _ in latencies.take()] == ["look", "breaks"]


def test_turns_are_the_same_with_and_without_a_clock() -> None:
    media = MediaStore()
    turns = []
    for latencies in (None, ToolLatencies()):
        env = _env(media, latencies)
        env.step(_call("look"))
        turns.append(env.turns)
    assert turns[0] == turns[1]
