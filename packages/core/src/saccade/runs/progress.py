"""Progress for a person who waits: bars on a terminal, a log line now and then elsewhere, or nothing.

Nothing here can stop a run: when the terminal or pipe goes away, progress falls silent.
"""

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as RichProgress

from saccade.heartbeat import PHASES, Heart, Phases
from saccade.runs.position import StepPace

ProgressMode = Literal["auto", "bars", "lines", "quiet"]
"""``auto`` is bars on a terminal and lines elsewhere."""

_LINE_EVERY_S = 15.0
_REDRAW_EVERY_S = 0.1
_FIRST_ON_TERMINAL_S, _NEXT_ON_TERMINAL_S = 3.0, 1.0
"""Silence before a terminal says what is done, and how often it does from then on, in the same line."""

logger = logging.getLogger(__name__)


class StageProgress:
    """The progress of one stage; ``Progress.stage`` makes it."""

    def __init__(self, pace: StepPace, show: Callable[[StepPace, str, bool], None]) -> None:
        self._pace = pace
        self._show = show
        self._note = ""

    def advance(self, *, steps: int = 1, tokens: int = 0, note: str = "") -> None:
        """``steps`` more are done. ``note`` is a few words on how it goes, such as ``reward 0.41``."""
        self._pace.advance(steps, tokens)
        self._note = note or self._note
        self._show(self._pace, self._note, self._pace.done >= self._pace.total)


class Progress:
    """Shows the stages of a run one after another on ``stream`` (stderr); lines go to the log instead."""

    def __init__(self, mode: ProgressMode = "auto", *, stream: TextIO | None = None, phases: Phases = PHASES) -> None:
        self._console = _CalmConsole(
            file=stream, stderr=stream is None, force_terminal=True if mode == "bars" else None
        )
        self._mode = mode if mode != "auto" else _fitting_mode(self._console)
        self._phases = phases
        self._waiting = _WaitingLine(self._console)
        if self._mode == "bars":
            times = {"first_s": _FIRST_ON_TERMINAL_S, "most_s": _NEXT_ON_TERMINAL_S}
            self.heart = Heart(self._waiting.tell, phases=phases, **times)
        else:
            self.heart = Heart(lambda words: logger.info("%s", words), phases=phases)

    @contextmanager
    def watching(self) -> Iterator["Progress"]:
        """Inside, what lasts is told while it does (``saccade.heartbeat``)."""
        if self._mode == "quiet":
            yield self
            return
        try:
            with self.heart.beating():
                yield self
        finally:
            self._waiting.end()

    @contextmanager
    def stage(self, name: str, *, total: int, done: int = 0, at_once: int = 1) -> Iterator[StageProgress]:
        """Progress of ``total`` steps, of which ``done`` were done before a resume; ``at_once`` as of ``StepPace``."""
        pace = StepPace(total=total, done=done, at_once=at_once)
        self.heart.quicken()
        match self._mode:
            case "bars":
                with self._bars(name, pace) as stage:
                    yield stage
            case "lines":
                with self._phases.phase(lambda: f"{name} {pace.done}/{pace.total}"):
                    yield StageProgress(pace, self._resting(_LogLines(name)))
            case _:
                yield StageProgress(pace, lambda pace, note, is_last: None)

    @contextmanager
    def _bars(self, name: str, pace: StepPace) -> Iterator[StageProgress]:
        # Redrawn by hand: a refresh thread would raise uncaught when the terminal goes away.
        bars = RichProgress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}"),
            TextColumn("[dim]{task.fields[note]}", markup=True),
            TextColumn("[dim]{task.fields[doing]}", markup=True),
            console=self._console,
            auto_refresh=False,
        )
        bar = bars.add_task(name, total=pace.total, completed=pace.done, pace="", note="", doing="")
        shown = _ProgressBar(bars, bar, self._console)
        with self._waiting.beside(shown):
            self._console.attempt(bars.start)
            try:
                yield StageProgress(pace, self._resting(shown))
            finally:
                self._console.attempt(bars.stop)

    def _resting(self, show: Callable[[StepPace, str, bool], None]) -> Callable[[StepPace, str, bool], None]:
        """Shows a step, which is as good as any word on what is done."""

        def rested(pace: StepPace, note: str, is_last: bool) -> None:
            self.heart.rest()
            show(pace, note, is_last)

        return rested


class _CalmConsole(Console):
    """A console that never ends the program: rich's own exits when its pipe closes."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        if self.stderr:
            _close_for_good(sys.__stderr__)

    def attempt(self, draw: Callable[[], None]) -> None:
        """Draw; when the stream is gone or closed, be quiet from then on.

        Draws even when quiet: stopping a bar also gives back sys.stdout, which rich redirects meanwhile.
        """
        try:
            draw()
        except BrokenPipeError:
            self.on_broken_pipe()
        except (OSError, ValueError):
            self.quiet = True


class _ProgressBar:
    def __init__(self, bars: RichProgress, bar: TaskID, console: _CalmConsole) -> None:
        self._bars = bars
        self._bar = bar
        self._console = console
        self._drawn_s = -_REDRAW_EVERY_S

    def __call__(self, pace: StepPace, note: str, is_last: bool) -> None:
        now_s = time.monotonic()
        if now_s - self._drawn_s < _REDRAW_EVERY_S and not is_last:
            return
        self._drawn_s = now_s
        self._bars.update(self._bar, completed=pace.done, pace=pace.describe(), note=_escaped(note), doing="")
        self._console.attempt(self._bars.refresh)

    def tell(self, words: str) -> None:
        """Says what is done until the next step."""
        self._bars.update(self._bar, doing=_escaped(words))
        self._console.attempt(self._bars.refresh)


class _WaitingLine:
    """The line of a terminal that says what is done: at the end of a stage's bar, or alone where there is none."""

    def __init__(self, console: _CalmConsole) -> None:
        self._console = console
        self._bar: _ProgressBar | None = None
        self._alone: RichProgress | None = None
        # Words come from another thread than the stages.
        self._one_at_a_time = threading.RLock()

    @contextmanager
    def beside(self, bar: _ProgressBar) -> Iterator[None]:
        """Inside, words stand beside the bar."""
        with self._one_at_a_time:
            self.end()
            self._bar = bar
        try:
            yield
        finally:
            with self._one_at_a_time:
                self._bar = None

    def tell(self, words: str) -> None:
        with self._one_at_a_time:
            if self._bar is not None:
                self._bar.tell(words)
                return
            if self._alone is None:
                column = TextColumn("[dim]{task.description}", markup=True)
                self._alone = RichProgress(column, console=self._console, auto_refresh=False, transient=True)
                self._alone.add_task("")
                self._console.attempt(self._alone.start)
            self._alone.update(self._alone.task_ids[0], description=_escaped(words))
            self._console.attempt(self._alone.refresh)

    def end(self) -> None:
        """Wipes the line that stands alone."""
        with self._one_at_a_time:
            if self._alone is not None:
                self._console.attempt(self._alone.stop)
                self._alone = None


class _LogLines:
    def __init__(self, name: str) -> None:
        self._name = name
        self._logged_s = time.monotonic()
        self._is_first = True

    def __call__(self, pace: StepPace, note: str, is_last: bool) -> None:
        now_s = time.monotonic()
        if now_s - self._logged_s < _LINE_EVERY_S and not is_last and not self._is_first:
            return
        self._logged_s = now_s
        self._is_first = False
        parts = [f"{self._name} {pace.done}/{pace.total}", pace.describe(), note]
        logger.info("%s", ", ".join(part for part in parts if part))


def _escaped(text: str) -> str:
    """Markup is shown, not obeyed."""
    return "".join(one if one.isprintable() else " " for one in text).replace("[", r"\[")


def _close_for_good(stream: TextIO | None) -> None:
    """Lets what a stream still holds vanish: a program that cannot write it when it ends, ends with an error."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]  # None has none: suppressed
        os.close(nowhere)


def _fitting_mode(console: Console) -> ProgressMode:
    try:
        return "bars" if console.is_terminal and not console.is_dumb_terminal else "lines"
    except ValueError:
        # A closed stream cannot say whether it is a terminal.
        return "quiet"
