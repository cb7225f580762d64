"""What lasts is told, once it does and then seldom; what is fast is not."""

import subprocess
import sys

import pytest

from saccade.heartbeat import Heart, Phases


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Listener:
    """A heart with a clock of its own; ``told`` are pairs of seconds and words."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.phases = Phases(self.clock)
        self.told: list[tuple[float, str]] = []
        self.heart = Heart(lambda words: self.told.append((self.clock.now_s, words)), phases=self.phases)

    def wait(self, seconds: int) -> None:
        for _ in range(2 * seconds):
            self.clock.now_s += 0.5
            self.heart.beat()


def test_a_phase_that_lasts_is_told_within_ten_seconds_and_then_at_growing_intervals() -> None:
    listener = Listener()
    with listener.phases.phase(lambda: "sampling"):
        listener.wait(600)
    times = [seconds for seconds, _ in listener.told]
    assert times == [9, 27, 63, 135, 255, 375, 495]
    assert listener.told[0][1] == "sampling, 9 s"


def test_fast_phases_are_silent_while_steps_are_shown() -> None:
    listener = Listener()
    for _ in range(40):
        with listener.phases.phase(lambda: "sampling"):
            listener.wait(4)
        with listener.phases.phase(lambda: "learning"):
            listener.wait(4)
        listener.heart.rest()
    assert listener.told == []


def test_many_fast_phases_without_a_step_are_told_too() -> None:
    listener = Listener()
    for index in range(12):
        with listener.phases.phase(lambda index=index: f"round {index}"):  # type: ignore[misc]
            listener.wait(1)
    assert [words for _, words in listener.told] == ["round 8, 1 s"]


def test_a_stage_that_begins_has_short_intervals_again() -> None:
    listener = Listener()
    with listener.phases.phase(lambda: "loading"):
        listener.wait(300)
    listener.heart.quicken()
    before = len(listener.told)
    with listener.phases.phase(lambda: "sampling"):
        listener.wait(10)
    assert [words for _, words in listener.told[before:]] == ["sampling, 9 s"]


def test_nothing_is_told_where_nothing_is_done() -> None:
    listener = Listener()
    listener.wait(100)
    assert listener.told == []


def test_phases_inside_one_another_are_told_together_and_items_are_counted() -> None:
    phases = Phases(Clock())
    with phases.phase(lambda: "rl 0/3"), phases.counted("learning", ["a", "b", "c"], "micro-batches") as items:
        next(items)
        assert phases.in_words() == "rl 0/3: learning: 0 of 3 micro-batches, 0 s"
        next(items)
        assert phases.in_words() == "rl 0/3: learning: 1 of 3 micro-batches, 0 s"
    assert phases.in_words() == ""


def test_a_phase_that_an_error_leaves_is_over() -> None:
    phases = Phases(Clock())

    def fail() -> None:
        with phases.counted("learning", [1, 2], "micro-batches") as items:
            for item in items:
                raise KeyError(item)

    with pytest.raises(KeyError):
        fail()
    assert phases.in_words() == ""


def test_phases_of_one_thread_may_end_in_any_order() -> None:
    phases = Phases(Clock())
    first, second = phases.phase(lambda: "first"), phases.phase(lambda: "second")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert phases.in_words() == "second, 0 s"
    second.__exit__(None, None, None)
    assert phases.in_words() == ""


def test_a_process_ends_although_its_heart_beats_and_words_that_fail_harm_nothing() -> None:
    code = (
        "import sys, time; from saccade.heartbeat import Heart, phase\n"
        "heart = Heart(lambda words: print(words, flush=True), first_s=0.0, most_s=0.0)\n"
        "calls = []\n"
        "def words():\n"
        "    calls.append(0)\n"
        "    if len(calls) < 2: raise RuntimeError('not yet')\n"
        "    return 'at work'\n"
        "beating = heart.beating()\n"
        "beating.__enter__()\n"
        "with phase(words):\n"
        "    while len(calls) < 3: time.sleep(0.05)\n"
        "sys.exit(5)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 5
    assert done.stdout.startswith("at work")
    assert done.stderr == ""
