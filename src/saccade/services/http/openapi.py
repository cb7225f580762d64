"""The OpenAPI document, with what only the running server knows: the tools' names and whether a token is asked for."""

from typing import Any

from fastapi import FastAPI

from saccade.services.http.gate import OPEN_PATHS

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
