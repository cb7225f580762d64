"""Packs: the sequences of a micro-batch in one row of tokens, without padding, each shared prompt once."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from saccade.learner.sequences import TrainingSequence, same_prompt
from saccade.models.attention import Layout, tree
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef


@dataclass(frozen=True, kw_only=True, slots=True)
class Pack:
    """Input of one forward, on the CPU. Groups lie one after another: the prompt, then what follows it in each."""

    ids: Int[Tensor, "tokens"]
    positions: Int[Tensor, "3 tokens"]
    """Rotary positions."""
    images: tuple[ImageRef, ...]
    """Images in the order of their placeholders; the same image may come again."""
    layout: Layout
    predicting: Int[Tensor, "actions"]
    """For each action token of all sequences, in their order, the place in the pack whose state predicts it."""
    targets: Int[Tensor, "actions"]
    """Ids of the action tokens, in the same order."""


def pack(model: VisionLanguageModel, sequences: Sequence[TrainingSequence]) -> Pack:
    """Packs sequences; ids after a sequence's last action token, and the token itself, need no forward and are left."""
    ids: list[int] = []
    positions: list[Tensor] = []
    images: list[ImageRef] = []
    layout = []
    predicting: list[Tensor] = [torch.empty(0)] * len(sequences)
    for group in same_prompt(sequences):
        first = sequences[group[0]]
        start, prompt = len(ids), first.prompt_tokens
        places, end = model.positions_from(first.ids[:prompt], first.images[: first.prompt_images], start=0)
        ids += first.ids[:prompt]
        positions.append(places)
        images += first.images[: first.prompt_images]
        lengths = []
        # Neighbours of equal length attend in one call.
        for index in sorted(group, key=lambda index: sequences[index].forwarded_count):
            sequence = sequences[index]
            predicting[index] = _predicting(sequence, prompt_at=start, rest_at=len(ids))
            rest = sequence.ids[prompt : sequence.forwarded_count]
            if not rest:
                continue
            seen = _images_in(model, rest, sequence.images[sequence.prompt_images :])
            places, _ = model.positions_from(rest, seen, start=end)
            ids += rest
            positions.append(places)
            images += seen
            lengths.append(len(rest))
        layout.append(tree(start, prompt, lengths) if len(lengths) > 1 else tree(start, prompt + sum(lengths), ()))
    return Pack(
        ids=torch.tensor(ids),
        positions=torch.cat(positions, dim=1),
        images=tuple(images),
        layout=tuple(layout),
        predicting=torch.cat(predicting),
        targets=torch.tensor([i for one in sequences for i, is_action in zip(one.ids, one.is_action) if is_action]),
    )


def _predicting(sequence: TrainingSequence, *, prompt_at: int, rest_at: int) -> Int[Tensor, "actions"]:
    before = torch.tensor(sequence.is_action, dtype=torch.bool).nonzero()[:, 0] - 1
    prompt = sequence.prompt_tokens
    return torch.where(before < prompt, before + prompt_at, before - prompt + rest_at)


def _images_in(model: VisionLanguageModel, ids: Sequence[int], images: Sequence[ImageRef]) -> Sequence[ImageRef]:
    """The leading images whose placeholders lie in ``ids``."""
    missing = ids.count(model.image_token_id)
    count = 0
    while missing > 0:
        missing -= model.view.token_count(images[count])
        count += 1
    return images[:count]
