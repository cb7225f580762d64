"""verifiers and prime-rl: ``results.jsonl`` up to verifiers 0.3, and ``traces.jsonl`` of ``verifiers.v1``.

A line of the latter is an episode with one trace for each agent. Each trace is a trajectory: its messages are the path
of the graph that ends at its last leaf, and its rewards have their weights.
"""

import json
from collections.abc import Mapping

from saccade.types import Attempt, Json
from saccade.viewer.store.foreign_lines import Fields, LineKind, as_number, digest, numbers_of, text_of
from saccade.viewer.store.message_reading import completion_from, list_or_empty, messages_from
from saccade.viewer.store.messages import Told, attempt_of
from saccade.viewer.store.shelf import Shelf

_LIMITS = frozenset({"max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens"})
_EXPECTED = ("answer", "solution", "target", "ground_truth")


def _is_result(value: Fields) -> bool:
    return {"prompt", "completion", "reward"} <= set(value) and "messages" not in value


def _result(value: Fields, shelf: Shelf, _number: int) -> Attempt:
    metrics = value.get("metrics")
    rewards = {name: one for name, one in value.items() if name.endswith("_reward")}
    prompt = messages_from(value.get("prompt"), shelf)
    error = value.get("error")
    told = Told(
        task=str(value.get("example_id", digest(json.dumps(value.get("prompt"), default=str)))),
        family=text_of(value.get("task")) or "verifiers",
        expected=text_of(value.get("answer")),
        total=as_number(value.get("reward")),
        rewards=numbers_of(metrics if isinstance(metrics, Mapping) else rewards),
        advantage=as_number(value.get("advantage")),
        status="failed" if error else "token_limit" if value.get("is_truncated") is True else "answered",
        failure=text_of(error)[:1000],
    )
    return attempt_of([*prompt, *completion_from(value.get("completion"), shelf)], told)


def _is_episode(value: Fields) -> bool:
    return isinstance(value.get("traces"), list) and isinstance(value.get("task"), Mapping)


def _traces(value: Fields) -> list[Fields]:
    return [trace for trace in list_or_empty(value.get("traces")) if isinstance(trace, Mapping)]


def _count(value: Fields) -> int:
    """An episode that failed before any trace is one too."""
    return max(1, len(_traces(value)))


def _trace(value: Fields, shelf: Shelf, number: int) -> Attempt:
    trace = (_traces(value) or [value])[number]
    task = trace.get("task", value.get("task"))
    data = task.get("data") if isinstance(task, Mapping) else None
    named = data if isinstance(data, Mapping) else {}
    rewards = {
        str(name)[:100]: score * weight
        for name, one in _pairs(trace.get("rewards"))
        if isinstance(one, Mapping)
        and (score := as_number(one.get("score"))) is not None
        and (weight := as_number(one.get("weight", 1.0))) is not None
    }
    errors = [*list_or_empty(trace.get("errors")), *list_or_empty(value.get("errors"))]
    last = errors[-1] if errors and isinstance(errors[-1], Mapping) else {}
    failed = trace.get("ok") is False and bool(errors)
    env, agent = value.get("env"), trace.get("agent")
    messages = messages_from(_path(trace.get("nodes")), shelf) or messages_from(named.get("prompt"), shelf)
    told = Told(
        task=_identity(task, named),
        family=text_of(env.get("name") or env.get("id")) if isinstance(env, Mapping) else "",
        expected=next((text_of(named[name]) for name in _EXPECTED if name in named), ""),
        stream=text_of(agent.get("name"))[:80] or "main" if isinstance(agent, Mapping) else "main",
        rewards=rewards,
        total=sum(rewards.values()) if rewards else None,
        status="failed" if failed else "token_limit" if trace.get("stop_condition") in _LIMITS else "answered",
        failure=f"{last.get('type', '')}: {last.get('message', '')}"[:1000] if failed else "",
        advantage=_advantage(trace.get("nodes")),
    )
    return attempt_of(messages, told)


def _identity(task: Json, data: Fields) -> str:
    key = task.get("key") or task.get("hash") if isinstance(task, Mapping) else None
    found = next((data[name] for name in ("id", "name", "idx") if data.get(name) is not None), key)
    return str(found)[:400] if found is not None else digest(json.dumps(data, default=str))


def _path(nodes: Json) -> list[Json]:
    """The messages from a root to the last leaf."""
    listed = list_or_empty(nodes)
    parents = {one.get("parent") for one in listed if isinstance(one, Mapping)}
    at: Json = next((place for place in range(len(listed) - 1, -1, -1) if place not in parents), None)
    path: list[Json] = []
    # A parent comes before its children; what points elsewhere would go in circles.
    while isinstance(at, int) and 0 <= at < len(listed) and isinstance(node := listed[at], Mapping):
        path.append(node.get("message"))
        parent = node.get("parent")
        at = parent if isinstance(parent, int) and parent < at else None
    return path[::-1]


def _advantage(nodes: Json) -> float | None:
    """The mean over all tokens that have one."""
    told = [one.get("advantages") for one in list_or_empty(nodes) if isinstance(one, Mapping)]
    numbers = [number for one in told for each in list_or_empty(one) if (number := as_number(each)) is not None]
    return sum(numbers) / len(numbers) if numbers else None


def _pairs(value: Json) -> list[tuple[str, Json]]:
    return list(value.items()) if isinstance(value, Mapping) else []


VERIFIERS = LineKind(
    name="verifiers",
    stage="results",
    is_one=_is_result,
    to_attempt=_result,
    words="verifiers replaces each picture by a word unless it is configured to keep pictures.",
)
VERIFIERS_TRACES = LineKind(name="verifiers.v1", stage="traces", is_one=_is_episode, to_attempt=_trace, count=_count)
