"""What all prompts of a batch begin with, such as instructions and the words for tools: a pack forwards it once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from saccade.models.vlm import VisionLanguageModel

if TYPE_CHECKING:
    from saccade.learner.sequences import TrainingSequence

SHORTEST = 64
"""Tokens from which on they are worth an attention of their own."""


def common_start(model: VisionLanguageModel, sequences: "Sequence[TrainingSequence]") -> int:
    """How many leading tokens the prompts of these sequences have in common, before any picture; 0 where few or none.

    A prompt keeps at least its last token. Nothing is shared where layers carry a state along, where sums have one
    order by ``model.batch_invariant``, and where experts are replayed for every token.
    """
    if model.recurrent_layers or model.batch_invariant or any(one.routed_experts for one in sequences):
        return 0
    prompts = {one.prompt_key: one.ids[: one.prompt_tokens] for one in sequences}
    if len(prompts) < 2:
        return 0
    # What the smallest and the largest begin with, all between them do.
    first, last = min(prompts.values()), max(prompts.values())
    longest = min(map(len, prompts.values())) - 1
    length = next(
        (at for at, (one, other) in enumerate(zip(first, last)) if one != other or one == model.image_token_id), longest
    )
    length = min(length, longest)
    return length if length >= SHORTEST else 0
