"""verl's ``rollout_data_dir`` and ``validation_data_dir``: ``STEP.jsonl``, a line for each sample as two texts."""

from saccade.types import Attempt
from saccade.viewer.store.foreign_lines import Fields, LineKind, as_number, digest, numbers_of, text_of
from saccade.viewer.store.message_reading import completion_from, messages_from
from saccade.viewer.store.messages import Told, attempt_of
from saccade.viewer.store.shelf import Shelf

_OWN = frozenset({"input", "output", "gts", "score", "step", "images", "reward"})
"""All else that is a number is what the reward function gave beside the score."""


def verl_attempt(value: Fields, shelf: Shelf, _number: int) -> Attempt:
    """A sample of a trainer that writes prompt and output as two texts."""
    prompt = text_of(value.get("input"))
    extras = {name: one for name, one in value.items() if name not in _OWN}
    right = value.get("acc")
    told = Told(
        task=digest(prompt),
        family=text_of(value.get("data_source")) or "verl",
        question=last_user(prompt),
        expected=text_of(value.get("gts")),
        total=as_number(value.get("score")),
        rewards=numbers_of(extras),
        is_right=bool(right) if isinstance(right, bool | int | float) else None,
    )
    return attempt_of([*messages_from(prompt, shelf), *completion_from(value.get("output"), shelf)], told)


def last_user(prompt: str) -> str:
    """The last words of the user in a prompt that is one text with the roles in it."""
    text = prompt.replace("<|im_end|>", "").replace("<|im_start|>", "")
    _, _, rest = text.rpartition("user\n")
    return rest.rpartition("assistant")[0].strip() or rest.strip()


def is_verl(value: Fields) -> bool:
    return {"input", "output", "score"} <= set(value)


VERL = LineKind(
    name="verl",
    stage="rollout",
    is_one=is_verl,
    to_attempt=verl_attempt,
    words="verl writes text only; these files contain no pictures.",
)
