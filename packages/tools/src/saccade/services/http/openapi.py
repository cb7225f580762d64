"""The OpenAPI document: messages of requests and answers, the tools' names, whether a token is asked for."""

from typing import Any

from fastapi import FastAPI

from saccade.codec.codecs import PLAIN_CODEC
from saccade.codec.docs import field_docs
from saccade.services import messages, refusals
from saccade.services.http.guards import OPEN_PATHS
from saccade.services.messages import MESSAGES, CallBody, HealthBody, ReadyBody, ResultBody, StoredBody, ToolsBody
from saccade.services.refusals import ErrorBody

JSON = "application/json"

Documented = dict[int | str, dict[str, Any]]
"""Answers by their status."""


def in_json(kind: type) -> dict[str, Any]:
    """The content of a request or an answer that is this message."""
    return {"content": {JSON: {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}}


def errors(**about: str) -> Documented:
    """Answers that are no result, by their status (``s404``)."""
    return {
        int(status.removeprefix("s")): {**in_json(ErrorBody), "description": text} for status, text in about.items()
    }


def describe(app: FastAPI, *, tool_names: list[str], has_token: bool) -> None:
    """Let ``app.openapi()`` tell it."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = generate()
            document.setdefault("components", {}).setdefault("schemas", {}).update(_schemas())
            _name_tools(document, tool_names)
            if has_token:
                _ask_for_token(document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _schemas() -> dict[str, Any]:
    """Schemas of the messages; the text under a field is its description."""
    written = PLAIN_CODEC.schemas(ResultBody, ErrorBody, StoredBody, ToolsBody, HealthBody, ReadyBody)
    schemas = written | MESSAGES.schemas(CallBody)
    kinds = vars(messages) | vars(refusals)
    for name, schema in schemas.items():
        for field, text in field_docs(kinds[name]).items():
            schema["properties"][field]["description"] = text
    return schemas


def _name_tools(document: dict[str, Any], tool_names: list[str]) -> None:
    for parameter in document["paths"]["/tools/{name}"]["post"]["parameters"]:
        if parameter["name"] == "name":
            parameter["schema"]["enum"] = tool_names


_REFUSED = {"description": "The token is missing or wrong", **in_json(ErrorBody)}


def _ask_for_token(document: dict[str, Any]) -> None:
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, operations in document["paths"].items():
        if path not in OPEN_PATHS:
            for operation in operations.values():
                operation["security"] = [{"token": []}]
                operation["responses"]["401"] = _REFUSED
