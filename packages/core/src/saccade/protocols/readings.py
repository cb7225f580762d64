"""Readings of a protocol: by its own table, or also what models write that were not trained on it.

``strict`` is the protocol's own table, by default and for the papers' methods. ``lenient`` also takes forms of real
models in which the action is complete, for a model that is to begin learning. ``foreign`` takes a bare answer, too: it
tells knowledge from form, for measuring alone; a stage of training refuses it.

===============================================  ==========================================================
what the model wrote                             what becomes of it, ``lenient``
===============================================  ==========================================================
``</code>`` missing after a complete block, at   the block is run: nothing of it can be missing
the end of the turn or before anything else
a complete block or ``<code>``, then talk, an    the first is run and the turn ends there: what follows was
answer, an invented output, a second block       written before its output was seen, and answers nothing
an answer, then anything                         the first answer counts; so hedging gains nothing
a second call, or talk, after a call             the first call
``</tool_call>`` missing at the end of the turn  the call, if its JSON is complete
or before another tag
``"arguments"`` as a JSON text, ``"parameters"`` the call
for it, ``{"type": "function", "function": …}``,
one brace too many, a fence around the JSON
a ```json block that holds ``arguments`` or      the call
``parameters``, with text around it
nothing but a call's JSON after the thought      the call; not with words around it, which may quote one
a thought that never ends, a block that is never as in ``strict``: refused
closed or holds a tag, code without a block and
without ``</code>``, ``< code>``, an action
after a role token or a tool response
one line without tags after the thought, up to   as in ``strict``; ``foreign`` takes it as the answer
``MAX_BARE_CHARS``
===============================================  ==========================================================

A turn is well-formed if ``strict`` calls it so, whatever the reading: no reward of the format pays another form. A
reading never gives more than one action, none out of a thought or a quoted block, and no answer that stands after a
complete action. With either reading the engine stops at the first complete action (``saccade.turn_ends``).
"""

import json
import re
from dataclasses import replace
from typing import Literal

from saccade.errors import UserError
from saccade.protocols.markup import after_thought, call_value, find_fences, read_call, unreadable
from saccade.protocols.protocol import ChatProtocol, Parse, ParsedTurn, Reading
from saccade.turn_ends import FencedActions, FirstAction, first_action, whole_object
from saccade.types import Json, Malformed

TrainedReading = Literal["strict", "lenient"]
"""Readings that a policy may learn by."""

MAX_BARE_CHARS = 200

_CALL = ("<tool_call>", "</tool_call>")
_LIKE_A_TAG = re.compile(r"<\s{0,3}[/|]?\s{0,3}(?:think|description|code|tool_|answer|interpreter|\w{1,40}\|>)|```|~~~")
_CLOSING = re.compile(r"</(\w+)>")


def with_reading(protocol: ChatProtocol, reading: Reading) -> ChatProtocol:
    """The protocol with this reading; UserError where it has no tags by which a turn ends."""
    if reading == "strict":
        return protocol
    tags = tuple(found[1] for stop in protocol.stop if (found := _CLOSING.fullmatch(stop)))
    if not tags or protocol.reading != "strict":
        raise UserError(f"the protocol {protocol.name} has one reading; leave reading={reading!r} out")
    rule = _rule(tags)
    strict = protocol.parse
    return replace(
        protocol, parse=lambda text: _read(text, strict, rule, reading), reading=reading, fenced_actions=rule
    )


def _rule(tags: tuple[str, ...]) -> FencedActions:
    if "code" in tags:
        return FencedActions(languages=("python", "python3", "py"), tags=tags, tag="code")
    if "tool_call" in tags:
        # Models also show data as JSON, boxes say.
        return FencedActions(
            languages=("json",),
            tags=tags,
            tag="tool_call",
            words=('"arguments"', '"parameters"'),
        )
    return FencedActions(languages=(), tags=tags, server_stops=())


def _read(text: str, strict: Parse, rule: FencedActions, reading: Reading) -> ParsedTurn:
    as_written = strict(text)
    if as_written.is_well_formed or unreadable(text) is not None:
        return as_written
    first = first_action(text, rule)
    if first is not None:
        return replace(strict(_mended(text, first, rule)), is_well_formed=False)
    if not isinstance(as_written.action, Malformed):
        return as_written
    said = after_thought(text)
    if "tool_call" in rule.tags and whole_object(said) is not None:
        read = strict(_written_call(said))
    elif reading == "foreign" and said and "\n" not in said and len(said) <= MAX_BARE_CHARS:
        read = as_written if _LIKE_A_TAG.search(said) else strict(f"<answer>{said}</answer>")
    else:
        return as_written
    return as_written if isinstance(read.action, Malformed) else replace(as_written, action=read.action)


def _mended(text: str, first: FirstAction, rule: FencedActions) -> str:
    """The turn up to the end of its first action, in the protocol's own form."""
    before, action = text[: first.start], text[first.start : first.end] + first.closing
    if first.block is not None and rule.tag == "tool_call":
        return before + _written_call(first.block)
    if action.startswith(_CALL[0]):
        return before + _written_call(action.removeprefix(_CALL[0]).removesuffix(_CALL[1]))
    return before + action


def _written_call(content: str) -> str:
    """The call between its tags, with the keys and the JSON that it should have; as it is where that cannot be."""
    said = content
    if isinstance(read_call(said.strip()), Malformed):
        fences, beside = find_fences(said.strip())
        said = fences[0].code if len(fences) == 1 and fences[0].is_closed and not beside.strip() else said
        said = _mended_json(whole_object(said) or said)
    return said.join(_CALL)


def _mended_json(text: str) -> str:
    try:
        value = call_value(text)
        if isinstance(value, dict):
            value = _with_arguments(_inner_call(value))
        # Escapes stay escapes: half a surrogate pair is for ``read_call`` to refuse.
        return json.dumps(value)
    except (ValueError, RecursionError):
        return text


def _inner_call(value: dict[str, Json]) -> dict[str, Json]:
    """The call of ``{"type": "function", "function": {…}}``, perhaps with an ``id``."""
    function = value.get("function")
    is_wrapped = value.get("type") == "function" and set(value) - {"id"} == {"type", "function"}
    return function if is_wrapped and isinstance(function, dict) else value


def _with_arguments(call: dict[str, Json]) -> dict[str, Json]:
    if set(call) == {"name", "parameters"}:
        call = {"name": call["name"], "arguments": call["parameters"]}
    arguments = call.get("arguments")
    return {**call, "arguments": call_value(arguments)} if isinstance(arguments, str) else call
