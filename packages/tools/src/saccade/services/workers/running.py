"""The tools of one worker: held ready with their images, run call by call, several at once where a tool can."""

import base64
import importlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from cachetools import LRUCache
from PIL import Image

from saccade.errors import MachineError, SaccadeError, ToolError, UserError
from saccade.media.decode import decode_image, to_rgb
from saccade.media.encode import png_bytes
from saccade.media.store import MediaStore, image_hash
from saccade.services.messages import CallRequest, PictureBody, ResultBody, ServedTool
from saccade.services.refusals import error_bytes
from saccade.tools.catalogue.settings import ToolSettings
from saccade.tools.tool import BoundCall, Returned, Tool, check_names, cut
from saccade.types import ImageRef, ToolResult

logger = logging.getLogger(__name__)

Builder = Callable[[ToolSettings, Path], Tool]

PLAIN_PIXELS = 128 * 128
"""Smaller pictures are sent uncompressed: packing them takes longer than sending what it saves."""


class JobMedia(MediaStore):
    """Media store of one call: the pictures that it is about, and the files of those that it makes."""

    def __init__(self, pictures: Mapping[str, Image.Image]) -> None:
        super().__init__(cache_bytes=0)
        self._pictures = pictures
        self.made: dict[str, bytes] = {}

    def add(self, image: Image.Image) -> ImageRef:
        # Encoded once, to be sent; the store's own way would decode it again for that.
        rgb = to_rgb(image, "an image that a tool made")
        key = image_hash(rgb)
        self.made[key] = png_bytes(rgb, compress_level=0 if rgb.width * rgb.height < PLAIN_PIXELS else 1)
        return ImageRef(hash=key, width=rgb.width, height=rgb.height)

    def get(self, image: ImageRef | str) -> Image.Image:
        return self._pictures[image.hash if isinstance(image, ImageRef) else image]


class HeldPictures:
    """Decoded images, the least recently used ones forgotten."""

    def __init__(self, capacity_bytes: int) -> None:
        self._known: LRUCache[str, Image.Image] = LRUCache(capacity_bytes, getsizeof=_size)

    def get(self, key: str, fetch: Callable[[str], bytes | None]) -> Image.Image | None:
        picture = self._known.get(key)
        if picture is None and (raw := fetch(key)) is not None:
            picture = decode_image(raw, f"image {key}")
            if _size(picture) <= self._known.maxsize:
                self._known[key] = picture
        return picture


def _size(picture: Image.Image) -> int:
    return 3 * picture.width * picture.height


@runtime_checkable
class BatchFunction(Protocol):
    """A tool's function that can also do several calls at once.

    A plain function is made one by an attribute: ``detect.batch = detect_many``.
    """

    def batch(self, calls: Sequence[Mapping[str, object]]) -> Sequence[Returned | ToolError]:
        """For each call (the keyword arguments of the function, by name) what the function would return or refuse."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class CallReply:
    """Outcome of a call: the status and body of its HTTP answer, and the pictures that the body shows."""

    status: int
    body: bytes
    pictures: tuple[tuple[str, bytes], ...] = ()
    """Hash and PNG of each."""
    missing: tuple[str, ...] = ()
    """Images that could not be had; the call was not run."""


class ToolRunner:
    """The tools of one group in this process. ``fetch`` gives the file of an image by its hash, or None."""

    def __init__(self, tools: Sequence[Tool], *, fetch: Callable[[str], bytes | None], image_mb: int) -> None:
        check_names(tools)
        self.tools = {tool.name: tool for tool in tools}
        self._fetch = fetch
        self._pictures = HeldPictures(image_mb << 20)

    def about(self) -> tuple[ServedTool, ...]:
        """Descriptions of the tools for clients, which make a ``Tool`` of each."""
        return tuple(
            ServedTool(
                name=tool.name,
                description=tool.spec.description,
                parameters=tool.spec.parameters,
                arguments=tool.parameters,
                deadline_s=tool.deadline_s,
                batches=_batch_function(tool) is not None,
            )
            for tool in self.tools.values()
        )

    def run(self, name: str, requests: Sequence[CallRequest]) -> list[CallReply]:
        """The outcome of each call; nothing that a tool or a call does raises."""
        tool = self.tools[name]
        outcomes: dict[int, CallReply] = {}
        bound: dict[int, tuple[BoundCall, JobMedia]] = {}
        for index, request in enumerate(requests):
            prepared = self._prepare_call(tool, request)
            if isinstance(prepared, CallReply):
                outcomes[index] = prepared
            else:
                bound[index] = prepared
        function = _batch_function(tool)
        if len(bound) > 1 and function is not None:
            together = self._together(function, list(bound.values()))
            for (index, (_, media)), returned in zip(bound.items(), together, strict=True):
                outcomes[index] = _outcome(_already(tool, returned), media)
        else:
            for index, (call, media) in bound.items():
                outcomes[index] = _outcome(call, media)
        return [outcomes[index] for index in range(len(requests))]

    def _prepare_call(self, tool: Tool, request: CallRequest) -> tuple[BoundCall, JobMedia] | CallReply:
        # Sizes are not known before an image is read, and binding a call needs none.
        images = [ImageRef(hash=key, width=1, height=1) for key in request.images]
        try:
            call = tool.bind(request.arguments, images)
        except ToolError as error:
            return _reply(ToolResult(text=cut(str(error)), is_ok=False), refused="arguments")
        wanted = dict.fromkeys(one.hash for one in (*([] if call.image is None else [call.image]), *call.images))
        pictures: dict[str, Image.Image] = {}
        for key in wanted:
            try:
                picture = self._pictures.get(key, self._fetch)
            except SaccadeError as error:
                return _failure("image", f"the image {key} cannot be read: {error}")
            if picture is None:
                return CallReply(status=409, body=b"", missing=(key,))
            pictures[key] = picture
        return call, JobMedia(pictures)

    def _together(
        self, function: BatchFunction, calls: Sequence[tuple[BoundCall, JobMedia]]
    ) -> Sequence[Returned | Exception]:
        try:
            returned = list(function.batch([call.arguments_in(media) for call, media in calls]))
        # A tool may be the user's code; what it raises is an outcome of its calls.
        except Exception as error:
            return [error] * len(calls)
        if len(returned) != len(calls):
            return [MachineError(f"{len(calls)} calls together gave {len(returned)} results")] * len(calls)
        return returned


def _batch_function(tool: Tool) -> BatchFunction | None:
    # Seen as any object: mypy holds that what is typed as a callable can be nothing more.
    function: object = tool.function
    return function if isinstance(function, BatchFunction) else None


def load_builder(path: str) -> Builder:
    """The function at ``module:name``; ``UserError`` when there is none."""
    module_name, _, name = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UserError(f"the builder {path} cannot be imported: {error}") from error
    builder: Builder | None = getattr(module, name, None)
    if not callable(builder):
        raise UserError(f"the module {module_name} has no function {name!r}; builder= must be like module:function")
    return builder


def build_tools(builder: str, settings: Sequence[ToolSettings], folder: Path) -> list[Tool]:
    """The tools of a group, under the names of the configuration; ``UserError`` for one that cannot be made."""
    build = load_builder(builder)
    tools = [build(one, folder) for one in settings]
    for one, tool in zip(settings, tools, strict=True):
        if tool.name != one.name:
            raise UserError(f"[tools.{one.name}] made a tool called {tool.name}; the two names must agree")
    return tools


def _already(tool: Tool, returned: Returned | Exception) -> BoundCall:
    """A call whose function has been run with others: what is left is to make a result of what it gave."""

    def give() -> Returned:
        if isinstance(returned, Exception):
            raise returned
        return returned

    given = Tool(spec=tool.spec, parameters=tool.parameters, function=give, deadline_s=tool.deadline_s)
    return BoundCall(tool=given, values={}, image=None)


def _outcome(call: BoundCall, media: JobMedia) -> CallReply:
    try:
        return _reply(call.run(media), made=media.made)
    except ToolError as error:
        return _reply(ToolResult(text=cut(str(error)), is_ok=False), refused="tool")
    except SaccadeError as error:
        logger.warning("tool %s: %s", call.tool.name, error)
        return _failure("broken", str(error))
    except (TypeError, ValueError, KeyError) as error:
        return _failure("broken", f"tool {call.tool.name} gave a result that cannot be sent: {error}")


def _reply(
    result: ToolResult, *, refused: Literal["arguments", "tool"] | None = None, made: Mapping[str, bytes] | None = None
) -> CallReply:
    pictures = [(image, (made or {})[image.hash]) for image in result.images]
    images = tuple(
        PictureBody(hash=image.hash, width=image.width, height=image.height, png=base64.b64encode(png).decode("ascii"))
        for image, png in pictures
    )
    content = ResultBody(is_ok=result.is_ok, refused=refused, text=result.text, data={}, images=images)
    # The data as they are: ``asdict`` would copy them, level by level.
    body = json.dumps({**asdict(content), "data": dict(result.data)}, allow_nan=False).encode("ascii")
    return CallReply(status=200, body=body, pictures=tuple((image.hash, png) for image, png in pictures))


def _failure(kind: str, message: str) -> CallReply:
    return CallReply(status=500, body=error_bytes(kind, cut(message)))
