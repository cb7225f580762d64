import io
import logging
import os
import subprocess
import sys

import pytest

from saccade.heartbeat import Phases
from saccade.runs.position import StepPace, duration
from saccade.runs.progress import Progress


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_speed_and_time_left_come_from_the_steps_done() -> None:
    clock = Clock()
    pace = StepPace(total=10, clock=clock)
    assert (pace.tokens_per_s, pace.left_s, pace.describe()) == (None, None, "")
    clock.now_s += 2.0
    pace.advance(1, 3000)
    assert (pace.tokens_per_s, pace.left_s) == (1500.0, 18.0)
    assert pace.describe() == "1,500 tokens/s, 18 s left"


def test_steps_done_before_a_resume_do_not_count_for_the_speed() -> None:
    clock = Clock()
    pace = StepPace(total=10, done=8, clock=clock)
    clock.now_s += 3.0
    pace.advance(1, 0)
    assert (pace.done, pace.left_s, pace.tokens_per_s) == (9, 3.0, None)


def test_old_steps_leave_the_estimate() -> None:
    clock = Clock()
    pace = StepPace(total=200, clock=clock)
    clock.now_s += 1000.0
    pace.advance(1, 10)
    for _ in range(50):
        clock.now_s += 1.0
        pace.advance(1, 10)
    assert (pace.tokens_per_s, pace.left_s) == (10.0, 149.0)


def test_the_first_of_many_played_side_by_side_says_nothing_of_the_time_left() -> None:
    clock = Clock()
    pace = StepPace(total=256, at_once=128, clock=clock)
    clock.now_s += 3.4
    pace.advance(1, 0)
    assert (pace.left_s, pace.describe()) == (None, "")
    # All but the last of the first 128 end at nearly one time, and so do the others after them.
    for _ in range(127):
        pace.advance(1, 0)
    assert pace.left_s == pytest.approx(3.4)
    clock.now_s += 3.4
    pace.advance(64, 0)
    assert pace.left_s == pytest.approx(6.8 / 192 * 64)


def test_a_quarter_of_a_few_is_a_measure() -> None:
    clock = Clock()
    pace = StepPace(total=9, done=1, at_once=128, clock=clock)
    for left_s in (None, None, 5.0):
        clock.now_s += 1.0
        pace.advance(1, 0)
        assert pace.left_s == left_s


def test_a_clock_that_stands_still_gives_no_speed() -> None:
    pace = StepPace(total=2, clock=Clock())
    pace.advance(1, 10)
    assert (pace.tokens_per_s, pace.left_s) == (None, 0.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (59.6, "1 min 00 s"), (125, "2 min 05 s"), (3599.6, "1 h 00 min"), (11220, "3 h 07 min")],
)
def test_durations_are_read_by_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_without_a_terminal_the_first_and_last_step_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), Progress(stream=io.StringIO()).stage("sft", total=500) as stage:
        for _ in range(500):
            stage.advance(note="loss 1.2")
    assert [message.split(",")[0] for message in caplog.messages] == ["sft 1/500", "sft 500/500"]
    assert caplog.messages[-1].endswith("loss 1.2")


def test_bars_show_stage_steps_and_note() -> None:
    stream = io.StringIO()
    with Progress("bars", stream=stream).stage("rl", total=2) as stage:
        stage.advance(tokens=10)
        stage.advance(tokens=10, note="reward [red]0.5")
    assert "rl" in stream.getvalue()
    assert "2/2" in stream.getvalue()
    assert "[red]0.5" in stream.getvalue()


def test_quiet_shows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    stream = io.StringIO()
    with caplog.at_level(logging.INFO), Progress("quiet", stream=stream).stage("rl", total=1) as stage:
        stage.advance()
    assert (stream.getvalue(), caplog.messages) == ("", [])


def test_a_stream_that_closes_does_not_stop_the_run() -> None:
    stream = io.StringIO()
    with Progress("bars", stream=stream).stage("rl", total=2) as stage:
        stage.advance()
        shown = stream.getvalue()
        stream.close()
        stage.advance()
    with Progress("auto", stream=stream).stage("rl", total=1) as stage:
        stage.advance()
    assert "1/2" in shown


def test_a_pipe_whose_reader_leaves_does_not_stop_the_run() -> None:
    code = (
        "import sys; from saccade.runs.progress import Progress\n"
        "sys.stdin.readline()\n"
        "with Progress('bars').stage('rl', total=3) as stage:\n"
        "    for _ in range(3): stage.advance()\n"
        "sys.stderr.write('left in the buffer')\n"
        "print('went on')\n"
    )
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=write_end, text=True
    )
    os.close(write_end)
    os.close(read_end)
    output, _ = process.communicate("go\n", timeout=60)
    assert (output, process.returncode) == ("went on\n", 0)


def test_an_error_inside_a_stage_passes_through() -> None:
    with pytest.raises(KeyError), Progress("bars", stream=io.StringIO()).stage("rl", total=2):
        raise KeyError


def test_a_stage_that_is_silent_says_in_the_log_what_it_does(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    phases = Phases(clock)
    progress = Progress("lines", stream=io.StringIO(), phases=phases)
    with caplog.at_level(logging.INFO), progress.stage("rl", total=2) as stage, phases.phase(lambda: "sampling"):
        clock.now_s += 10
        progress.heart.beat()
        stage.advance(note="reward 0.5")
        clock.now_s += 10
        progress.heart.beat()
    # The step was shown, and from there it is silent for less than the second interval.
    assert caplog.messages == [
        "rl 0/2: sampling, 10 s",
        *(one for one in caplog.messages if one.startswith("rl 1/2, ")),
    ]
    assert len(caplog.messages) == 2


def test_a_terminal_says_it_in_one_line_alone_or_beside_the_bar() -> None:
    clock, stream = Clock(), io.StringIO()
    phases = Phases(clock)
    progress = Progress("bars", stream=stream, phases=phases)
    with progress.watching():
        with phases.phase(lambda: "loading [red]0.52 B weights\x1b[2J"):
            for _ in range(4):
                clock.now_s += 3
                progress.heart.beat()
        with progress.stage("rl", total=2) as stage, phases.phase(lambda: "sampling"):
            clock.now_s += 4
            progress.heart.beat()
            stage.advance(note="reward 0.5")
    shown = stream.getvalue()
    assert "loading [red]0.52 B weights" in shown
    assert "\x1b[2J" not in shown
    assert "sampling, 4 s" in shown
    assert shown.index("loading") < shown.index("sampling") < shown.rindex("reward 0.5")
    # One line, written again.
    assert shown.split("sampling")[0].count("\n") <= 1
