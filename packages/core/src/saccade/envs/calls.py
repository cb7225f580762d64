"""Tool calls of an episode: tools opened for it, arguments in original pixels, deadlines, and how long calls take."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from saccade.errors import MachineError, ToolError, UserError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.coordinates import call_to_original
from saccade.tools.tool import Episode, EpisodeTool, OpenTool, Tool, cut, find_tool
from saccade.types import ImageRef, ToolCall, ToolResult


class ToolLatencies:
    """Collects how long calls took, from any number of environments and threads, until somebody takes it."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, float]] = []

    def record(self, tool: str, seconds: float) -> None:
        """A call took so long, whatever became of it."""
        # One append, which threads cannot tear.
        self._calls.append((tool, seconds))

    @contextmanager
    def timing(self, tool: str) -> Iterator[None]:
        """Records how long the block takes, also when it raises."""
        started_s = time.perf_counter()
        try:
            yield
        finally:
            self.record(tool, time.perf_counter() - started_s)

    def take(self) -> list[tuple[str, float]]:
        """The calls since the last time, by tool and seconds."""
        taken, self._calls = self._calls, []
        return taken


def tool_times(latencies: Iterable[ToolLatencies]) -> dict[str, float]:
    """Takes what was collected and sums it up per tool: ``tools/NAME/calls``, and ``mean_s``, ``p50_s``, ``p95_s``."""
    seconds: dict[str, list[float]] = {}
    for one in latencies:
        for tool, took_s in one.take():
            seconds.setdefault(tool, []).append(took_s)
    times: dict[str, float] = {}
    for tool, taken in sorted(seconds.items()):
        times[f"tools/{tool}/calls"] = float(len(taken))
        times[f"tools/{tool}/mean_s"] = float(np.mean(taken))
        times[f"tools/{tool}/p50_s"] = float(np.percentile(taken, 50))
        times[f"tools/{tool}/p95_s"] = float(np.percentile(taken, 95))
    return times


MAX_RUNNING = 32
"""Tools at work at the same time in this process. One that hangs past its deadline keeps its place until it ends."""

PATIENCE = 10
"""How many deadlines a call has that works and is kept from the CPU."""

_BUSY_SHARE = 0.02
"""Share of the time for which what works has the CPU, on a machine with fifty times as much to do."""

Result = TypeVar("Result")

_places = threading.BoundedSemaphore(MAX_RUNNING)


def run_within(operation: Callable[[], Result], *, deadline_s: float, what: str) -> Result:
    """Result of ``operation``, or its error; ``MachineError`` when it hangs or no place becomes free in time.

    What works on its own CPU all the while is slow by what it was asked for: a ``ToolError``. Where others keep it from
    the CPU it has up to ``PATIENCE`` times as long, for a policy may choose slow calls, and must not be able to choose
    failures. Python cannot stop a thread: an operation over its deadline runs on, and what it returns is dropped.
    """
    if not _places.acquire(timeout=deadline_s):
        raise MachineError(f"{what} found none of {MAX_RUNNING} places free within {deadline_s:g} s")
    future: Future[Result] = Future()
    clock: list[int] = []
    # A daemon, unlike the threads of an executor: a hanging tool must not keep the process from ending.
    threading.Thread(target=_work, args=(operation, future, clock), name=what, daemon=True).start()
    why = f"{what} took longer than its deadline of {deadline_s:g} s"
    for times in range(1, PATIENCE + 1):
        try:
            return future.result(timeout=deadline_s)
        except TimeoutError:
            worked_s = _worked_s(clock)
            # The operation may itself have raised this kind of error, or have ended now.
            if future.done():
                return future.result()
        if worked_s >= deadline_s / 2:
            raise ToolError(f"{why}; ask for less")
        if worked_s < _BUSY_SHARE * times * deadline_s:
            break
    raise MachineError(why)


def _worked_s(clock: Sequence[int]) -> float:
    """Seconds that a thread has had of its CPU; 0 where it has ended, or where the system does not say."""
    try:
        return time.clock_gettime(clock[0])
    except (IndexError, OSError):
        return 0.0


def _work(operation: Callable[[], Result], future: "Future[Result]", clock: list[int]) -> None:
    if hasattr(time, "pthread_getcpuclockid"):
        # By the thread itself: asked by another, one that has just ended would be read from freed memory.
        clock.append(time.pthread_getcpuclockid(threading.get_ident()))
    try:
        result = operation()
    except BaseException as error:
        # Free before the answer is known, so that a caller that waits for it finds the place free.
        _places.release()
        future.set_exception(error)
    else:
        _places.release()
        future.set_result(result)


class OpenedTools:
    """``tools`` to call, from ``open`` to ``close``; none before and afterwards."""

    def __init__(self, offered: Sequence[Tool | EpisodeTool]) -> None:
        self.tools: tuple[Tool, ...] = ()
        self._offered = tuple(offered)
        self._opened: list[OpenTool] = []

    def open(self, episode: Episode) -> None:
        """Closes what an earlier episode left open, and opens for this one."""
        self.close()
        self.tools = tuple(
            tool.within(episode) if isinstance(tool, Tool) else self._open(tool, episode) for tool in self._offered
        )

    def close(self) -> None:
        self.tools = ()
        while self._opened:
            self._opened.pop().close()

    def _open(self, tool: EpisodeTool, episode: Episode) -> Tool:
        opened = tool.open(episode)
        self._opened.append(opened)
        return opened.tool


@dataclass(frozen=True, kw_only=True, slots=True)
class CallOutcome:
    """Outcome of a call."""

    result: ToolResult | None
    """None when the call was refused before the tool ran."""
    shown: ToolResult
    """Observation for the model: the result, or why the call was refused."""


def in_original_pixels(call: ToolCall, tools: Sequence[Tool], images: Sequence[ImageRef], view: ViewRule) -> ToolCall:
    """The call with its coordinates in pixels of the original; unchanged when there is no such tool."""
    spec = next((tool.spec for tool in tools if tool.name == call.name), None)
    return call if spec is None else call_to_original(call, spec, images, view)


def run_call(
    call: ToolCall,
    tools: Sequence[Tool],
    images: Sequence[ImageRef],
    media: MediaStore,
    latencies: ToolLatencies | None = None,
    *,
    view: ViewRule,
) -> CallOutcome:
    """Check and run a call that is in original pixels; ``latencies`` is told how long the tool took, if it ran.

    ``MachineError`` when the tool's machine fails or it passes its deadline; the policy's mistakes are outcomes, and so
    are calls on which the tool breaks or gives a picture that ``view`` cannot show.
    """
    try:
        tool = find_tool(call.name, tools)
        bound = tool.bind(call.arguments, images)
    except ToolError as error:
        return CallOutcome(result=None, shown=_error_result(error))
    try:
        with nullcontext() if latencies is None else latencies.timing(tool.name):
            result = run_within(lambda: bound.run(media), deadline_s=tool.deadline_s, what=f"tool {tool.name}")
        _check_shown(result.images, view)
    except ToolError as error:
        result = _error_result(error)
    return CallOutcome(result=result, shown=result)


def _check_shown(images: Sequence[ImageRef], view: ViewRule) -> None:
    try:
        for image in images:
            view.view_size(image.width, image.height)
    except UserError as error:
        raise ToolError(f"the result cannot be shown: {error}") from error


def _error_result(error: ToolError) -> ToolResult:
    return ToolResult(text=cut(str(error)), is_ok=False)
