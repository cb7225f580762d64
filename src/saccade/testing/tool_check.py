"""Does a tool keep its contract?"""

import json
import time
from collections.abc import Mapping, Sequence

from PIL import Image

from saccade.errors import ToolError
from saccade.media.store import MediaStore, image_hash
from saccade.testing.hostile import hostile_arguments
from saccade.testing.tasks import tiny_example
from saccade.tools.tool import Tool
from saccade.types import ImageRef, Json, ToolResult


def check_tool(tool: Tool, calls: Sequence[Mapping[str, Json]], *, image: Image.Image | None = None) -> None:
    """``AssertionError`` says what is wrong with a tool that should succeed on each of ``calls``.

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
        except ToolError as error:
            message = str(error)
            if not message or len(message) > 2000:
                raise AssertionError(f"{tool.name}: an error of {len(message)} characters teaches nothing") from error
