"""Checks of a model family's runs: the engine and the learner against one plain forward of each sequence alone."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from saccade.algorithms.losses import negative_log_likelihood
from saccade.engines.engine import Completion, Sampling, SequenceSlot
from saccade.engines.local import LocalEngine
from saccade.engines.vllm.pixels import is_sent
from saccade.learner.forwards import NativeForward, packed_states
from saccade.learner.logprobs import action_tokens
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.engine_check import Said, gap_of
from saccade.testing.family_case import FallsBackError, FamilyCase, plain_logprobs
from saccade.testing.family_inputs import BOUND
from saccade.types import ImageRef, Message, Observation
from saccade.waiting import run_to_end

_ROWS, _TURNS, _TOKENS = 3, 3, 8
_GRADIENT_BOUND = 1e-4
"""Of the norm of the gradient."""


def engine(case: FamilyCase) -> str:
    """A group of several turns, two pictures in its prompt and one in each observation, by keys and values kept."""
    model, local = case.model, LocalEngine(case.model)

    async def group() -> list[Said]:
        async with local.sequences([f"row/{seed}" for seed in range(_ROWS)]) as slots:
            return await asyncio.gather(*(_said(slot, model, case.shown, seed) for seed, slot in enumerate(slots)))

    played = run_to_end(group())
    gap = max(gap_of(model, said, 1.0) for said in played)
    assert gap < BOUND, f"{gap:.1e} nats from one plain forward"
    assert len({said.ids for said in played}) > 1, "rows with different seeds have the same tokens"
    continued, expected = local.work.turns_continued, _ROWS * (_TURNS - 1)
    assert continued == expected, f"{continued} of {expected} turns went on from what was kept"
    return f"{gap:.1e} nats over {sum(len(turn.ids) for said in played for _, turn in said.turns)} tokens"


async def _said(slot: SequenceSlot, model: VisionLanguageModel, images: Sequence[ImageRef], seed: int) -> Said:
    chat, turns = model.chat, list[tuple[int, Completion]]()
    asked = chat.prompt([Message(role="user", parts=(images[0], "Which?", images[1], "What is written there?"))])
    ids, shown = list(asked.ids), list(asked.images)
    for turn in range(_TURNS):
        done = await slot.sample(ids, shown, Sampling(seed=seed, max_tokens=_TOKENS))
        turns.append((len(ids), done))
        ids += done.ids
        if turn + 1 < _TURNS:
            look = Observation(text="Here", images=(images[2 - turn],))
            seen = chat.observation(look, ends_with_eos=done.ids[-1] == chat.seen_end)
            ids, shown = [*ids, *seen.ids], [*shown, *seen.images]
    slot.close()
    return Said(ids=tuple(ids), images=tuple(shown), turns=tuple(turns))


@torch.no_grad()
def packs(case: FamilyCase) -> str:
    """Sequences in one pack, each prompt once, have the log-probabilities that each has alone."""
    sequences = case.sequences()
    ours = action_tokens(case.model, sequences, temperature=1.0).logprobs
    gap = float((ours - torch.cat([plain_logprobs(case.model, one) for one in sequences])).abs().max())
    assert gap < BOUND, f"{gap:.1e} nats from each sequence alone"
    return f"{gap:.1e} nats over {len(ours)} tokens"


@torch.no_grad()
def neighbours(case: FamilyCase) -> str:
    """What another row of a pack says changes nothing."""
    first, *others = case.sequences()
    spoken = first.is_action.index(True)
    other = case.model.eos_id
    changed = replace(first, ids=(*first.ids[:spoken], other, *first.ids[spoken + 1 :]))
    before, after = (
        action_tokens(case.model, [one, *others], temperature=1.0).logprobs[first.action_count :]
        for one in (first, changed)
    )
    gap = float((before - after).abs().max())
    assert gap < BOUND / 10, f"a token of another row moves log-probabilities by {gap:.1e} nats"
    return f"{gap:.1e} nats"


def gradients(case: FamilyCase) -> str:
    """The gradient of a pack is the sum of those of its sequences alone."""
    model, sequences = case.model, case.sequences()
    try:
        negative_log_likelihood(action_tokens(model, sequences, temperature=1.0)).value.backward()  # type: ignore[no-untyped-call]
        ours = _gradient(model)
        for one in sequences:
            (-one.token_weight * plain_logprobs(model, one).sum()).backward()  # type: ignore[no-untyped-call]
        expected = _gradient(model)
    finally:
        model.hf.zero_grad()
    gap = float((ours - expected).norm() / expected.norm())
    assert gap < _GRADIENT_BOUND, f"{gap:.1e} of its norm from the sum of single rows"
    return f"{gap:.1e} of its norm"


def _gradient(model: VisionLanguageModel) -> Tensor:
    """Of all weights, as one vector; it begins anew after."""
    found = torch.cat(
        [torch.zeros_like(p).flatten() if p.grad is None else p.grad.flatten() for p in model.hf.parameters()]
    )
    model.hf.zero_grad()
    return found


def kernels(case: FamilyCase) -> str:
    """Whether the native kernels know the language model's layers."""
    if not isinstance(packed_states(case.model), NativeForward):
        layer = next(case.model.language_model.layers.children())
        raise FallsBackError(f"transformers' modules do the work ({type(layer).__name__})")
    return "in use"


def served(case: FamilyCase) -> str:
    """Whether pictures can be sent to vLLM's servers."""
    if not is_sent(case.model):
        raise FallsBackError("the engine in this process samples; pictures of this family are not sent to vLLM")
    return "pictures can be sent"
