"""Checks of tools: contract and fuzzing, in which each call must end in a result or in a refusal."""

import faulthandler
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitedTooLongError
from dataclasses import dataclass, field
from typing import Literal

from PIL import Image

from saccade.errors import BrokenToolError, ToolError
from saccade.media.store import MediaStore, image_hash
from saccade.seeding import generator_for
from saccade.testing.fuzzed_calls import FuzzedCall, fuzzed_call
from saccade.testing.hostile import hostile_arguments
from saccade.testing.tasks import tiny_example
from saccade.tools.tool import Tool
from saccade.types import ImageRef, Json, ToolResult


def check_tool(tool: Tool, calls: Sequence[Mapping[str, Json]], *, image: Image.Image | None = None) -> None:
    """Checks a tool that should succeed on each of ``calls``; an ``AssertionError`` says what is wrong.

    Checked: the schema is JSON and names its required arguments; each call gives the same result twice, within the
    deadline, its images in the store, and leaves its image as it was; hostile arguments raise nothing but
    ``ToolError``. Coordinates are in pixels of ``image``, by default a 256 x 256 scene.
    """
    assert calls, f"{tool.name}: give at least one call that should succeed"
    _check_spec(tool)
    media = MediaStore()
    shown = tiny_example(media).task.images[0] if image is None else media.add(image)
    for arguments in calls:
        results = []
        for _ in range(2):
            started = time.monotonic()
            results.append(tool.call(arguments, (shown,), media))
            took_s = time.monotonic() - started
            assert took_s < tool.deadline_s, f"{tool.name} took {took_s:.1f} s of {tool.deadline_s:g} s"
        _check_result(tool, results[0], media)
        assert results[0] == results[1], f"{tool.name} gives different results for the same call {arguments}"
        assert image_hash(media.get(shown)) == shown.hash, f"{tool.name} changes the image that it is given"
        _check_hostile(tool, arguments, media, shown)


def _check_spec(tool: Tool) -> None:
    assert tool.spec.description.strip(), f"{tool.name} has no description"
    json.dumps(tool.spec.parameters, allow_nan=False)
    properties, required = tool.spec.parameters.get("properties"), tool.spec.parameters.get("required")
    assert isinstance(properties, Mapping), f"{tool.name}: the schema has no properties"
    assert isinstance(required, Sequence), f"{tool.name}: the schema does not say what is required"
    assert set(required) <= set(properties), f"{tool.name} requires arguments that it does not describe"


def _check_result(tool: Tool, result: ToolResult, media: MediaStore) -> None:
    assert result.is_ok, f"{tool.name} failed on a good call: {result.text}"
    assert result.text or result.images, f"{tool.name} shows the model nothing"
    json.dumps(result.data, allow_nan=False)
    for image in result.images:
        assert image.hash in media, f"{tool.name} gives an image that is not in the store"


def _check_hostile(tool: Tool, good: Mapping[str, Json], media: MediaStore, shown: ImageRef) -> None:
    names = tuple(parameter.name for parameter in tool.parameters if parameter.name != "image")
    for arguments in hostile_arguments(names, good):
        try:
            tool.call(arguments, (shown,), media)
        except BrokenToolError as error:
            raise AssertionError(
                f"{tool.name} breaks on {str(arguments)[:200]}: {error.__cause__ or error!r}"
            ) from error
        except ToolError as error:
            message = str(error)
            if not message or len(message) > 2000:
                raise AssertionError(f"{tool.name}: an error has {len(message)} characters, not 1 to 2000") from error


Ending = Literal["result", "refused", "nameless", "broken", "hung"]
"""``nameless`` is a refusal that names no argument."""

MAX_MESSAGE_CHARS = 6000
"""A failed program may show 4096 characters of what it said."""

EXAMPLE_SHARE = 0.04
"""Share of calls on the example's own picture."""

GRACE_S = 60.0
"""After a call's deadline the process ends with a traceback: an endless regular expression lets nothing else run,
not even the clock that counts a call as hung."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FuzzedTool:
    """A tool, a call that it takes, and pictures to call it on; the first picture is the example's."""

    tool: Tool
    example: Mapping[str, Json]
    pictures: Sequence[Image.Image]


@dataclass(kw_only=True)
class FuzzReport:
    """How the calls ended."""

    endings: Counter[Ending] = field(default_factory=Counter)
    by_tool: dict[str, Counter[Ending]] = field(default_factory=dict)
    by_kind: dict[str, Counter[Ending]] = field(default_factory=dict)
    slowest_s: dict[str, float] = field(default_factory=dict)
    failures: list[dict[str, Json]] = field(default_factory=list)
    """The first of those that are neither a result nor a refusal that teaches."""

    def as_json(self) -> dict[str, Json]:
        return {
            "calls": sum(self.endings.values()),
            "endings": _plain(self.endings),
            "by_kind": {kind: _plain(counts) for kind, counts in sorted(self.by_kind.items())},
            "by_tool": {
                name: {**_plain(counts), "slowest_s": round(self.slowest_s[name], 3)}
                for name, counts in sorted(self.by_tool.items())
            },
            "failures": self.failures[:20],
        }

    def count(self, tool: Tool, call: FuzzedCall, ending: Ending, said: str, took_s: float) -> None:
        self.endings[ending] += 1
        self.by_tool.setdefault(tool.name, Counter())[ending] += 1
        self.by_kind.setdefault(call.kind, Counter())[ending] += 1
        self.slowest_s[tool.name] = max(took_s, self.slowest_s.get(tool.name, 0.0))
        if ending not in ("result", "refused"):
            shown = repr(call.arguments)[:400]
            self.failures.append({"tool": tool.name, "kind": call.kind, "ending": ending, "said": said, "call": shown})


def fuzz(tools: Sequence[FuzzedTool], calls: int, *, seed: int = 0) -> FuzzReport:
    """As many calls, the tools in turn; the same seed makes the same calls."""
    report = FuzzReport()
    waiting = ThreadPoolExecutor(1)
    for index in range(calls):
        fuzzed = tools[index % len(tools)]
        rng = generator_for(seed, "fuzz", index)
        call = fuzzed_call(fuzzed.tool.parameters, fuzzed.example, rng)
        media = MediaStore()
        # The example's picture now and then; the others otherwise, which are small and quick.
        first = 0 if rng.random() < EXAMPLE_SHARE else int(rng.integers(1, len(fuzzed.pictures)))
        shown = [
            media.add(fuzzed.pictures[(first + step) % len(fuzzed.pictures)]) for step in range(rng.integers(1, 3))
        ]
        faulthandler.dump_traceback_later(fuzzed.tool.deadline_s + GRACE_S, exit=True)
        started = time.monotonic()
        outcome = waiting.submit(_ending, fuzzed.tool, call, shown, media)
        try:
            ending, said = outcome.result(timeout=fuzzed.tool.deadline_s + 5)
        except WaitedTooLongError:
            ending, said = "hung", f"no end after {fuzzed.tool.deadline_s:g} s"
            # Its thread cannot be stopped; the others go on without it.
            waiting = ThreadPoolExecutor(1)
        report.count(fuzzed.tool, call, ending, said, time.monotonic() - started)
    faulthandler.cancel_dump_traceback_later()
    waiting.shutdown(wait=False)
    return report


def _ending(tool: Tool, call: FuzzedCall, images: Sequence[ImageRef], media: MediaStore) -> tuple[Ending, str]:
    try:
        result = tool.call(call.arguments, images, media)
        json.dumps(result.data, allow_nan=False).encode("ascii")
        result.text.encode("utf-8")
    except BrokenToolError as error:
        cause = error.__cause__ or error
        return "broken", f"{type(cause).__name__}: {cause}"[:400]
    except ToolError as error:
        return _refusal(tool, call, str(error))
    # Whatever else comes is what the fuzzing looks for.
    except Exception as error:
        return "broken", f"{type(error).__name__}: {error}"[:400]
    return "result", result.text[:200]


def _refusal(tool: Tool, call: FuzzedCall, message: str) -> tuple[Ending, str]:
    """A refusal must fit into a turn, be readable, and name an argument of the tool or of the call."""
    names = [parameter.name for parameter in tool.parameters]
    names += [json.dumps(name)[:20] for name in call.arguments if name not in names]
    is_text = message.encode("utf-8", "replace").decode() == message
    is_named = any(name.strip('"') in message for name in names) and is_text and len(message) <= MAX_MESSAGE_CHARS
    return ("refused" if is_named else "nameless"), message[:400]


def _plain(counts: Counter[Ending]) -> dict[str, Json]:
    return dict(sorted(counts.items()))
