"""The OpenAPI document: bodies of requests and answers, the tools' names, whether a token is asked for."""

from typing import Annotated, Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field

from saccade.services.http.guards import OPEN_PATHS

ImageHash = Annotated[
    str,
    Field(
        pattern=r"^[0-9a-f]{64}$",
        description="SHA-256 over width and height (little-endian, 32 bit each) and the upright RGB pixels",
    ),
]


class CallBody(BaseModel):
    """A call of a tool."""

    model_config = ConfigDict(extra="forbid")

    arguments: dict[str, object] = Field(
        default={}, description="As the tool's schema says; the answer's text reports what is wrong with them"
    )
    images: list[ImageHash] = Field(
        default=[], max_length=256, description="The images that the argument `image` counts from 1"
    )
    deadline_s: float | None = Field(
        default=None, gt=0, le=86_400, allow_inf_nan=False, description="Seconds until the call is answered with 504"
    )
    call_id: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9._:-]{1,64}$",
        description="The same for every try of one call: it is then run once and has one result",
    )


class PictureBody(BaseModel):
    """A picture that a tool made; it is in the image store too."""

    hash: ImageHash
    width: int
    height: int
    png: str = Field(description="The file, in base64")


class ResultBody(BaseModel):
    """What a call gave. A policy's mistake is a result too, with the text that teaches."""

    is_ok: bool
    refused: Literal["arguments", "tool"] | None = Field(
        description="What refused a call that is not ok: the check of its arguments, or the tool"
    )
    text: str
    data: dict[str, object]
    images: list[PictureBody]


class ErrorAbout(BaseModel):
    """What went wrong."""

    kind: str = Field(description="Kind of error, for programs")
    message: str
    missing: list[str] = Field(default=[], description="Hashes of the images that must be sent first")
    retry_after_s: float | None = Field(default=None, description="As Retry-After, but not in whole seconds")


class ErrorBody(BaseModel):
    """An answer that is no result."""

    error: ErrorAbout


class StoredBody(BaseModel):
    """An image that the server has now."""

    hash: ImageHash
    width: int
    height: int


class ToolBody(BaseModel):
    """A tool that is served."""

    name: str
    description: str
    parameters: dict[str, object] = Field(description="JSON schema of the arguments")
    arguments: list[dict[str, object]] = Field(description="The same, argument by argument")
    deadline_s: float = Field(description="A worker that takes longer over a call is replaced")
    batches: bool = Field(description="Whether it does several calls at once")


class ToolsBody(BaseModel):
    """The tools of this server."""

    tools: list[ToolBody]


class HealthBody(BaseModel):
    """The server is up."""

    status: Literal["ok"]


class ReadyBody(BaseModel):
    """Whether every tool has a worker."""

    status: Literal["ready", "starting"]
    waiting_for: list[str] = Field(description="Tools without a worker")


_REFUSED = {
    "description": "The token is missing or wrong",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}},
}


def describe(app: FastAPI, *, tool_names: list[str], has_token: bool) -> None:
    """Let ``app.openapi()`` tell it."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = generate()
            _name_tools(document, tool_names)
            if has_token:
                _ask_for_token(document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _name_tools(document: dict[str, Any], tool_names: list[str]) -> None:
    for parameter in document["paths"]["/tools/{name}"]["post"]["parameters"]:
        if parameter["name"] == "name":
            parameter["schema"]["enum"] = tool_names


def _ask_for_token(document: dict[str, Any]) -> None:
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, operations in document["paths"].items():
        if path not in OPEN_PATHS:
            for operation in operations.values():
                operation["security"] = [{"token": []}]
                operation["responses"]["401"] = _REFUSED
