"""Calls and schemas of tools in the rows of conversations."""

from typing import cast

from saccade.tasks.rows.fields import RowError, RowValue, listed, literal, mapping, short
from saccade.types import Json, ToolCall


def call_of(value: RowValue, key: str) -> ToolCall:
    """``{"name": …, "arguments": …}``, perhaps inside of ``function``, and arguments perhaps as JSON text."""
    fields = mapping(value, key)
    fields = mapping(fields["function"], key) if fields.get("function") is not None else fields
    name, arguments = fields.get("name"), fields.get("arguments", fields.get("parameters"))
    if not isinstance(name, str) or not name.strip():
        raise RowError(key, f"has a call without a name: {short(value)}")
    if isinstance(arguments, str):
        found = literal(arguments, key)
    else:
        # Tables fill arguments that other calls have with nothing.
        found = _without_nothing(arguments)
    return ToolCall(name=name, arguments=cast(dict[str, Json], mapping({} if found is None else found, key)))


def _without_nothing(value: RowValue) -> RowValue:
    if isinstance(value, dict):
        return {name: _without_nothing(one) for name, one in value.items() if one is not None}
    return [_without_nothing(one) for one in value] if isinstance(value, list) else value


def tools_of(value: RowValue) -> tuple[dict[str, Json], ...]:
    """Schemas as chat templates take them: ``{"type": "function", "function": {…}}``."""
    found = []
    for item in listed(literal(value, "tools"), "tools"):
        schema = mapping(_without_nothing(literal(item, "tools")), "tools")
        found.append(schema if "function" in schema else {"type": "function", "function": schema})
    return cast(tuple[dict[str, Json], ...], tuple(found))
