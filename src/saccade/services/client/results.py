"""What a server's answers say, checked: it is another machine, and its words are not ours."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Protocol, get_args

from saccade.errors import MachineError, SaccadeError, ToolError
from saccade.media.store import MediaStore
from saccade.tools.schema import Parameter, ParameterKind
from saccade.types import ImageRef, Json, ToolResult, ToolSpec

Described = tuple[ToolSpec, tuple[Parameter, ...]]


class Knowing(Protocol):
    """A record of which images the server has."""

    def has_image(self, key: str) -> None: ...


def result_of(answer: Json, media: MediaStore, server: Knowing) -> ToolResult:
    """The result, its pictures kept in ``media``; ``ToolError`` when the call was refused."""
    try:
        content = _table(answer)
        text = str(content["text"])
        if content["refused"] is not None:
            raise ToolError(text)
        data = _table(content["data"])
        pictures = tuple(_picture(_table(one), media) for one in _list(content["images"]))
        is_ok = content["is_ok"] is True
    except (KeyError, TypeError, ValueError) as error:
        raise MachineError(f"the server's result cannot be read: {error!r}") from error
    for picture in pictures:
        server.has_image(picture.hash)
    return ToolResult(text=text, images=pictures, data=data, is_ok=is_ok)


def tools_of(answer: Json) -> list[Described]:
    """The tools that a server tells of; ``MachineError`` when it speaks another language."""
    try:
        return [_tool(_table(one)) for one in _list(_table(answer)["tools"])]
    except (KeyError, TypeError, ValueError) as error:
        raise MachineError(
            f"the server's list of tools cannot be read: {error!r}; is it of another version?"
        ) from error


def _tool(about: Mapping[str, Json]) -> Described:
    spec = ToolSpec(
        name=str(about["name"]), description=str(about["description"]), parameters=_table(about["parameters"])
    )
    return spec, tuple(_parameter(_table(one)) for one in _list(about["arguments"]))


def _parameter(about: Mapping[str, Json]) -> Parameter:
    kinds: dict[str, ParameterKind] = {kind: kind for kind in get_args(ParameterKind)}
    return Parameter(
        name=str(about["name"]),
        kind=kinds[str(about["kind"])],
        choices=tuple(str(choice) for choice in _list(about["choices"])),
        description=str(about["description"]),
        is_required=about["is_required"] is True,
        default=about["default"],
        max_chars=int(str(about["max_chars"])),
    )


def _picture(about: Mapping[str, Json], media: MediaStore) -> ImageRef:
    try:
        raw = base64.b64decode(str(about["png"]), validate=True)
        image = media.add_encoded(raw, "a picture of a tool server")
    except (SaccadeError, binascii.Error) as error:
        raise MachineError(f"a picture of the server cannot be read: {error}") from error
    if image.hash != about["hash"]:
        raise MachineError(f"the server sent the picture {image.hash} as {about['hash']}")
    return image


def _table(value: Json) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{str(value)[:80]!r} is no object")
    return value


def _list(value: Json) -> Sequence[Json]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{str(value)[:80]!r} is no list")
    return value
