"""Models whose layers attend to a pack in one call: what they learn, and where it cannot be had."""

from dataclasses import replace

import pytest
import torch
from packing_samples import gradient, groups, model_of
from torch import Tensor

from saccade.algorithms.losses import negative_log_likelihood
from saccade.errors import UserError
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.learner.logprobs import action_tokens
from saccade.learner.sequences import TrainingSequence
from saccade.miniature.tiny_model import TinyFamily
from saccade.models.packs import attends_at_once
from saccade.models.vlm import VisionLanguageModel

FAMILIES: list[TinyFamily] = ["qwen2_5_vl", "qwen3_vl", "qwen3_5", "internvl"]


def both_ways(model: VisionLanguageModel, *, pictures: bool) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Loss, log-probabilities and gradient of a pack, part by part and in one call."""
    sequences = groups(model)
    if not pictures:
        sequences = [one for one in sequences if not one.images] or [_without_pictures(model)]
    found = []
    for way in ("plain", "varlen"):
        model.pack_attention = way  # type: ignore[assignment]
        model.hf.zero_grad()
        tokens = action_tokens(model, sequences, temperature=0.8)
        loss = negative_log_likelihood(tokens).value
        loss.backward()  # type: ignore[no-untyped-call]
        found.append((loss.detach(), tokens.logprobs.detach(), gradient(model)))
    return found


def _without_pictures(model: VisionLanguageModel) -> TrainingSequence:
    one = groups(model)[0]
    ids = tuple(token for token in one.ids if token != model.image_token_id)
    kept = len(ids)
    return replace(
        one,
        ids=ids,
        images=(),
        prompt_images=0,
        prompt_tokens=3,
        is_action=(*[False] * 3, *[True] * (kept - 3)),
        sampled_logprobs=(0.0,) * (kept - 3),
        advantages=(1.0,) * (kept - 3),
    )


@pytest.mark.parametrize("pictures", [True, False], ids=["pictures", "text"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_learns_the_same_from_a_pack_in_one_call(family: TinyFamily, pictures: bool) -> None:
    [(loss, logprobs, slope), (at_once, at_once_logprobs, at_once_slope)] = both_ways(
        model_of(family, head_dim=8), pictures=pictures
    )
    torch.testing.assert_close(at_once, loss, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(at_once_logprobs, logprobs, atol=2e-6, rtol=0)
    assert float((at_once_slope - slope).norm()) < 1e-6 * float(slope.norm())


def test_what_cannot_be_had_is_said_before_the_first_step() -> None:
    asked = OptimizerSettings(pack_attention="varlen")
    with pytest.raises(UserError, match="in gemma3 the tokens of a picture see those after them"):
        Learner(model_of("gemma3", head_dim=8), asked)
    model = model_of("qwen2_5_vl", head_dim=8)
    model.batch_invariant = True
    with pytest.raises(UserError, match="batch_invariant=true attention has one order"):
        Learner(model, asked)


def test_by_itself_nothing_changes_on_a_cpu() -> None:
    model = model_of("qwen2_5_vl", head_dim=8)
    assert not attends_at_once(model, model.device, torch.float32)
