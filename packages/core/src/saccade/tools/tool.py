"""A tool: a typed function that a model may call, with its schema, its checks and its deadline."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol

from PIL import Image

from saccade.characters import whole_characters
from saccade.errors import BrokenToolError, MachineError, SaccadeError, ToolError, UserError, is_of_machinery, nearest
from saccade.media.decode import MediaError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.tools.arguments import Value, checked_arguments, json_excerpt
from saccade.tools.schema import Parameter, parameters_of, spec_of
from saccade.types import ImageRef, Json, Task, ToolResult, ToolSpec

logger = logging.getLogger(__name__)

MAX_RESULT_TEXT_CHARS = 16_384
MAX_RESULT_IMAGES = 16
MAX_RESULT_PIXELS = 1 << 24
"""Limit of one image that a tool gives back; 16.8 megapixels."""
SEARCH_PAGES = "search_pages"
"""Name of the tool that searches for pages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolOutput:
    """The return value of a tool function: text and pictures for the model, data for programs."""

    text: str = ""
    images: tuple[Image.Image, ...] = ()
    data: Mapping[str, Json] = field(default_factory=dict)


Returned = ToolOutput | ToolResult | Image.Image | str
"""A bare picture or text stands for an output of nothing else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundCall:
    """A call that passed its checks; ``image`` is the one that the function will get, if it takes one."""

    tool: "Tool"
    values: Mapping[str, Value]
    image: ImageRef | None
    images: tuple[ImageRef, ...] = ()
    """All images, if the function takes them."""

    def run(self, media: MediaStore) -> ToolResult:
        """The tool's result, its pictures kept in ``media``.

        ``ToolError`` when the tool refuses the call, ``BrokenToolError`` when it breaks on it, ``MachineError`` when
        its machine fails.
        """
        name, arguments = self.tool.name, self.arguments_in(media)
        try:
            return _result(name, self.tool.function(**arguments), media)
        except MediaError as error:
            raise BrokenToolError(f"{name} gave a picture that cannot be shown; change the call") from error
        except SaccadeError:
            raise
        # A tool is foreign code, and may raise anything on a call that nobody thought of.
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            if is_of_machinery(error):
                raise MachineError(f"tool {name} broke: {said}") from error
            _warn_once(name, said)
            # Its words may hold what differs from run to run.
            raise BrokenToolError(f"{name} failed on this call ({type(error).__name__}); change the call") from error

    def arguments_in(self, media: MediaStore) -> dict[str, Value | Image.Image | list[Image.Image]]:
        """The arguments of the function, with the pictures that it takes."""
        values: dict[str, Value | Image.Image | list[Image.Image]] = dict(self.values)
        if self.image is not None:
            values["image"] = media.get(self.image)
        if self.tool.takes_all_images:
            values["images"] = [media.get(one) for one in self.images]
        return values


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A function that a model may call. Make one with ``tool_from``."""

    spec: ToolSpec
    parameters: tuple[Parameter, ...]
    function: Callable[..., Returned]
    deadline_s: float
    origin: Mapping[str, Json] | None = None
    """Its maker's name with settings, by which another process makes the same (``saccade.tools.making``); None for a
    plain function."""

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def takes_all_images(self) -> bool:
        """Whether the function gets every image of a call, beside the one that its arguments name."""
        return any(one.kind == "images" for one in self.parameters)

    def bind(self, arguments: Mapping[str, Json], images: Sequence[ImageRef]) -> BoundCall:
        """The call, checked but not run; coordinates are in pixels of the original. ``ToolError`` when refused."""
        values = checked_arguments(arguments, self.parameters, len(images))
        number = values.pop("image", None)
        image = images[number - 1] if isinstance(number, int) else None
        return BoundCall(tool=self, values=values, image=image, images=tuple(images) if self.takes_all_images else ())

    def within(self, episode: "Episode") -> "Tool":
        """The tool as it may be called in this episode: itself, unless it keeps to what the question is asked of."""
        return self

    def call(self, arguments: Mapping[str, Json], images: Sequence[ImageRef], media: MediaStore) -> ToolResult:
        """Check and run; the caller keeps the deadline. Raises as ``bind`` and ``BoundCall.run`` do."""
        return self.bind(arguments, images).run(media)


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """The episode in which a tool is called: the parts of the task that it may know."""

    images: tuple[ImageRef, ...]
    """Images of the question."""
    media: MediaStore
    view: ViewRule
    """How the model sees images."""
    seed: int
    """The same for every episode of a task, so that an episode is a function of its task and its texts."""
    corpus: str | None = None
    document: str | None = None
    """Document of the question, as in ``Task``."""


def episode_of(task: Task, *, media: MediaStore, view: ViewRule, seed: int) -> Episode:
    """The episode of a task: neither its answer nor the pages that hold it are told."""
    return Episode(images=task.images, media=media, view=view, seed=seed, corpus=task.corpus, document=task.document)


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenTool:
    """An opened tool of one episode; its opener closes it in the end, once or more often."""

    tool: Tool
    close: Callable[[], None]


class EpisodeTool(Protocol):
    """A tool with a state that lasts for an episode: variables, files. Opening must be cheap.

    After a ``MachineError`` a call may be tried again. The opened tool then either does it as if for the first time or
    raises ``MachineError`` again; it never works on a state that the failed call left half done.
    """

    @property
    def spec(self) -> ToolSpec: ...

    def open(self, episode: Episode) -> OpenTool: ...


def tool_from(function: Callable[..., Returned], deadline_s: float = 10.0) -> Tool:
    """A tool from a typed function with a docstring; ``saccade.tools.schema`` says what it must look like.

    The function gets pictures that it must not change, raises ``ToolError`` with a sentence for the model when it
    cannot do what was asked, and must depend on its arguments alone.
    """
    if not deadline_s > 0:
        raise UserError(f"deadline_s={deadline_s} of tool {function.__name__} leaves no time; use a positive number")
    parameters = parameters_of(function)
    return Tool(spec=spec_of(function, parameters), parameters=parameters, function=function, deadline_s=deadline_s)


def find_tool(name: str, tools: Sequence[Tool]) -> Tool:
    """The tool of this name; otherwise a ``ToolError`` that lists the names and the nearest one."""
    for tool in tools:
        if tool.name == name:
            return tool
    names = [tool.name for tool in tools]
    if not names:
        raise ToolError("no tools are offered here")
    suggestion = nearest(name, names)
    hint = f"; did you mean {suggestion}?" if suggestion else ""
    raise ToolError(f"there is no tool {json_excerpt(name)}; the tools are {', '.join(names)}{hint}")


def check_names(tools: Sequence[Tool | EpisodeTool]) -> None:
    """``UserError`` when two tools share a name, for the model could not say which it means."""
    names = [tool.spec.name for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two tools are called {name}; rename one of the functions")


@lru_cache(maxsize=64)
def _warn_once(name: str, said: str) -> None:
    logger.warning("tool %s broke on a call, which the model is told: %s", name, said[:500])


def _result(name: str, returned: Returned, media: MediaStore) -> ToolResult:
    if isinstance(returned, ToolResult):
        return replace(returned, text=cut(returned.text))
    output = _output(returned)
    if len(output.images) > MAX_RESULT_IMAGES:
        raise BrokenToolError(f"{name} gave {len(output.images)} images; at most {MAX_RESULT_IMAGES} can be shown")
    for image in output.images:
        if not 0 < image.width * image.height <= MAX_RESULT_PIXELS:
            size = f"{image.width} x {image.height}"
            raise BrokenToolError(f"{name} gave an image of {size} px; 1 to {MAX_RESULT_PIXELS} pixels can be shown")
    # What no record can hold would end the run when it is written.
    json.dumps(output.data, allow_nan=False)
    images = tuple(media.add(image) for image in output.images)
    return ToolResult(text=cut(output.text), images=images, data=output.data)


def _output(returned: ToolOutput | Image.Image | str) -> ToolOutput:
    match returned:
        case ToolOutput():
            return returned
        case Image.Image():
            return ToolOutput(images=(returned,))
        case str():
            return ToolOutput(text=returned)
    raise TypeError(f"a tool gives a text, a picture or a ToolOutput, not {returned!r}")


def cut(text: str) -> str:
    """The text in whole characters, or as much of it as a model is shown."""
    return whole_characters(text if len(text) <= MAX_RESULT_TEXT_CHARS else f"{text[:MAX_RESULT_TEXT_CHARS]}… (cut)")
