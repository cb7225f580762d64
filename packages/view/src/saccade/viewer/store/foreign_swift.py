"""ms-swift: ``completions.jsonl`` of its GRPO and GKD, a line of columns for each step, and results of ``swift infer``.

One file holds all steps, so the step of a trajectory is its stream.
"""

from saccade.types import Attempt, Json
from saccade.viewer.store.field_map import FieldMap
from saccade.viewer.store.foreign_lines import Fields, LineKind, as_number, digest, list_pictures, text_of
from saccade.viewer.store.foreign_messages import named_rewards, spoken, targets_of
from saccade.viewer.store.foreign_verl import last_user
from saccade.viewer.store.message_reading import completion_from, list_or_empty, messages_from
from saccade.viewer.store.messages import Told, attempt_of, question_id
from saccade.viewer.store.shelf import Shelf

_OWN = frozenset({"step", "gen_step", "prompt", "completion", "advantages", "advantage", "entropy"})
_CHAT = FieldMap()


def _is_table(value: Fields) -> bool:
    prompts = list_or_empty(value.get("prompt"))
    # Prompts as messages would be one conversation.
    return isinstance(value.get("completion"), list) and bool(prompts) and isinstance(prompts[0], str)


def _count(value: Fields) -> int:
    return min(len(list_or_empty(value.get("prompt"))), len(list_or_empty(value.get("completion"))))


def _cell(value: Fields, name: str, number: int) -> Json:
    column = list_or_empty(value.get(name))
    return column[number] if number < len(column) else None


def _row(value: Fields, shelf: Shelf, number: int) -> Attempt:
    prompt, step = _cell(value, "prompt", number), _cell(value, "step", number)
    rewards = {
        name[:100]: one
        for name in value
        if name not in _OWN and (one := as_number(_cell(value, name, number))) is not None
    }
    step = _cell(value, "gen_step", number) if step is None else step
    asked = text_of(prompt)
    told = Told(
        task=digest(asked),
        family="ms-swift",
        question=last_user(asked) if isinstance(prompt, str) else "",
        expected=text_of(_cell(value, "solution", number)),
        stream="main" if step is None else f"step {step}"[:80],
        rewards=rewards,
        total=sum(rewards.values()) if rewards else None,
        advantage=as_number(_cell(value, "advantages", number)),
    )
    return attempt_of(
        [*messages_from(prompt, shelf), *completion_from(_cell(value, "completion", number), shelf)], told
    )


def _is_result(value: Fields) -> bool:
    """Of ``swift infer``, or of ``swift deploy``, whose requests have no reply among the messages."""
    has_messages = isinstance(value.get("messages"), list)
    return has_messages and isinstance(value.get("response"), str) and not {"prompt", "choices"} & set(value)


def _result(value: Fields, shelf: Shelf, _number: int) -> Attempt:
    messages = spoken(_CHAT, value, list_pictures(value.get("images")), shelf)
    if messages[-1].role != "assistant":
        messages += completion_from(value.get("response"), shelf)
    told = Told(
        task=str(value.get("id") or question_id(messages, shelf))[:400],
        family="ms-swift",
        expected=text_of(value.get("labels", value.get("solution"))),
        rewards=named_rewards(value),
        targets=targets_of(value.get("objects"), next((image for one in messages for image in one.images), None)),
    )
    return attempt_of(messages, told)


SWIFT_COMPLETIONS = LineKind(
    name="ms-swift",
    stage="completions",
    is_one=_is_table,
    to_attempt=_row,
    count=_count,
    words="ms-swift writes prompts as text; these files contain no pictures. Rewards are added without their weights.",
)
SWIFT_RESULTS = LineKind(name="ms-swift infer", stage="results", is_one=_is_result, to_attempt=_result)
