"""Turns that a model ends with one token or another: what was said is learned, and what follows is the template's."""

from dataclasses import replace

import pytest
import torch

from saccade.engines.local import LocalEngine
from saccade.engines.sampling import Drawn
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.learner.sequences import training_sequences
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.batch import rollout_batch
from saccade.rollout.episodes import RolloutSettings
from saccade.rollout.trajectory import demonstrate
from saccade.tasks.procedural import generate
from saccade.testing.family_case import plain_logits
from saccade.tools.images import IMAGE_TOOLS
from saccade.types import Trajectory

SAID = "<think>hm</think>\nword"
GLM = ("<|user|>", "<|observation|>", "<|endoftext|>")


def small(media: MediaStore, family: str) -> VisionLanguageModel:
    model = tiny_model(["What is written on the red plate? You see a crop. Look"] * 3, media, family=family)
    if family == "qwen3_vl":
        model.chat = replace(model.chat, other_ends={"<|endoftext|>": model.tokenizer.pad_token_id})
        model.end_ids = model.chat.end_ids
    return model


def replaying(*turns: tuple[int, ...]):
    """Draws these tokens, whatever the model would say."""
    left = [token for turn in turns for token in turn]

    def draw(logits, samplings, uniforms):
        token = left.pop(0)
        return [Drawn(token, float(logits[0].log_softmax(-1)[token]))]

    return draw


def played(model: VisionLanguageModel, end: str, requests_for, looking) -> Trajectory:
    """A turn with this end, and another that answers."""
    chat = model.chat
    turns = [(*chat.encode(SAID), chat.ends[end]), (*chat.encode("<answer>red</answer>"), chat.eos_id)]
    engine = LocalEngine(model, draw=replaying(*turns))
    [found] = rollout_batch(
        requests_for(["a"]),
        engine=engine,
        chat=chat,
        make_env=looking(stop=()),
        settings=RolloutSettings(max_turn_tokens=40, max_tokens=400),
    )
    assert found.status == "answered", found.failure
    assert [one.ids for one in found.segments if one.role == "action"] == turns
    return found


def by_template(model: VisionLanguageModel, found: Trajectory) -> tuple[int, ...]:
    """What the checkpoint's own template gives a model to see before its second turn."""
    [picture], asked = found.contexts[0][0].images, "What is written on plate a?"
    seen = found.turns[0].observation
    messages = [
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": asked}]},
        {"role": "assistant", "content": SAID},
        model.chat.observation_message(seen.text, len(seen.images)),
    ]
    text = model.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return model.chat.tokens_of(text, (picture, *seen.images)).ids


@pytest.mark.parametrize(
    ("family", "end"),
    [
        *(("glm46v", end) for end in GLM),
        *(("glm4v", end) for end in GLM),
        *(("qwen3_vl", end) for end in ("<|im_end|>", "<|endoftext|>")),
    ],
)
def test_the_said_end_is_learned_and_the_next_turn_follows_the_templates(
    media, requests_for, looking, family: str, end: str
) -> None:
    model = small(media, family)
    found = played(model, end, requests_for, looking)
    *before, last = found.contexts
    assert tuple(token for one in last[:-1] for token in one.ids) == by_template(model, found)
    own = {"glm46v": "<|observation|>", "glm4v": "<|user|>", "qwen3_vl": "<|im_end|>"}[family]
    # Where the end is the template's own, the turn goes on from what is kept; else with what would have been said.
    assert len(before) == (end != own)
    learned = [
        token
        for one in training_sequences(found)
        for token, chosen in zip(one.ids, one.is_action, strict=True)
        if chosen
    ]
    assert learned == [token for one in found.segments if one.role == "action" for token in one.ids]
    assert model.chat.ends[end] in learned
    for context in found.contexts:
        ids = [token for one in context for token in one.ids]
        with torch.no_grad():
            logprobs = plain_logits(model, ids, [image for one in context for image in one.images]).log_softmax(-1)
        start = len(ids) - len(context[-1].ids)
        for place, logprob in enumerate(context[-1].logprobs, start=start):
            # The one that Qwen is kept from saying was put into its mouth.
            assert logprob == pytest.approx(float(logprobs[place - 1, ids[place]]), abs=1e-4)


def test_each_end_ends_a_turn_and_is_no_part_of_its_text(media, requests_for, looking) -> None:
    model = small(media, "glm46v")
    for end in GLM:
        found = played(model, end, requests_for, looking)
        assert [turn.text for turn in found.turns] == [SAID, "<answer>red</answer>"]
    assert not model.end_ids & set(model.forbidden_ids.tolist())


def test_an_expert_of_glm_ends_a_call_with_the_head_of_what_it_waits_for() -> None:
    model = tiny_model(["Which texture has the red plate?"] * 9, MediaStore(), family="glm46v")
    env = VisualReasoningEnv(
        protocol=tagged_protocol(max_turns=3), tools=IMAGE_TOOLS, media=model.media, view=model.view, max_turns=3
    )
    example = generate("visual_search", split="train", index=0, seed=0, media=model.media)
    shown = demonstrate(example, env=env, chat=model.chat)
    *calls, answer = [one.ids[-1] for one in shown.segments if one.role == "action"]
    assert calls
    assert set(calls) == {model.chat.ends["<|observation|>"]}
    assert answer == model.chat.ends["<|user|>"]
    assert len(shown.contexts) == 1
