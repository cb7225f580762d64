"""What is asked, said and counted in a benchmark, before any framework runs."""

from dataclasses import replace

import numpy as np
import pytest
from bench_small import SMALL
from transformers import PreTrainedTokenizerFast

from saccade.bench.measuring import StepWork, fingerprint
from saccade.bench.script import Script
from saccade.bench.workload import WORKLOADS, image_tokens, with_image
from saccade.errors import UserError
from saccade.protocols.tagged import tagged_protocol
from saccade.types import Answer, ToolCall


def test_the_unique_work_of_single_is_that_of_the_table() -> None:
    assert WORKLOADS["single"].unique_work == StepWork(
        images_preprocessed=4,
        images_encoded_rollout=4,
        images_encoded_training=4,
        tokens_prefilled=404,
        tokens_decoded=32 * 63,
        tokens_trained=2452,
    )


def test_the_unique_work_of_multi_is_that_of_the_table() -> None:
    work = WORKLOADS["multi"].unique_work
    assert (work.images_preprocessed, work.images_encoded_rollout, work.images_encoded_training) == (68, 68, 68)
    assert work.tokens_prefilled == 4 * 596 + 64 * 69
    assert work.tokens_trained == 4 * 596 + 32 * (3 * 64 + 2 * 68)


def test_an_image_of_224_pixels_has_64_tokens() -> None:
    assert (image_tokens(224), image_tokens(112)) == (64, 16)


def test_every_turn_has_exactly_its_tokens_and_reads_back(tokenizer: PreTrainedTokenizerFast) -> None:
    script = Script.of(SMALL, tokenizer)
    protocol = tagged_protocol()
    for sample in range(SMALL.group_size):
        turns = [script.turn(0, 1, sample, turn) for turn in range(2)]
        assert [len(ids) for ids in turns] == [50, 50]
        assert all(ids[-1] == tokenizer.eos_token_id for ids in turns)
        call, answer = (protocol.parse(tokenizer.decode(ids[:-1])).action for ids in turns)
        left, top = SMALL.corner(0, 1, sample, 0)
        assert call == ToolCall(name="crop", arguments={"left": left, "top": top, "side": 56})
        assert answer == Answer(text="yes")


def test_texts_bring_a_prompt_to_its_length(tokenizer: PreTrainedTokenizerFast) -> None:
    script = Script.of(SMALL, tokenizer)
    message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": script.question}]}
    ids = tokenizer.apply_chat_template([message], tokenize=True, add_generation_prompt=True, return_dict=False)
    assert len(ids) - 1 + image_tokens(112) == SMALL.prompt_tokens


def test_no_two_trajectories_say_the_same(tokenizer: PreTrainedTokenizerFast) -> None:
    script = Script.of(SMALL, tokenizer)
    said = {script.turns(step, prompt, sample) for step in range(2) for prompt in range(2) for sample in range(3)}
    assert len(said) == 12


def test_no_two_crops_of_a_question_are_the_same() -> None:
    multi = WORKLOADS["multi"]
    corners = {multi.corner(3, 1, sample, turn) for sample in range(8) for turn in range(2)}
    assert len(corners) == 16
    assert all(0 <= edge <= 112 for corner in corners for edge in corner)


def test_every_step_has_pictures_of_its_own() -> None:
    assert np.array(SMALL.picture(0, 0)).shape == (112, 112, 3)
    assert SMALL.picture(0, 0).tobytes() == SMALL.picture(0, 0).tobytes()
    assert SMALL.picture(0, 0).tobytes() != SMALL.picture(1, 0).tobytes()


def test_larger_images_make_longer_prompts() -> None:
    larger = with_image(WORKLOADS["multi"], 448)
    assert (larger.prompt_tokens, larger.observation_tokens) == (596 + 192, 68 + 48)


def test_the_fingerprint_knows_no_order_but_every_token() -> None:
    one, two = ([1, 2], [False, True]), ([1, 3], [False, True])
    assert fingerprint([one, two]) == fingerprint([two, one])
    assert fingerprint([one]) != fingerprint([two])
    assert fingerprint([one]) != fingerprint([([1, 2], [True, True])])


def test_lengths_that_cannot_be_met_are_refused(tokenizer: PreTrainedTokenizerFast) -> None:
    with pytest.raises(UserError, match="prompt_tokens=20 is too short"):
        Script.of(replace(SMALL, prompt_tokens=20), tokenizer)
    with pytest.raises(UserError, match="turn_tokens=10 is too short"):
        Script.of(replace(SMALL, turn_tokens=10), tokenizer).turn(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group_size": 1}, "group_size=1"),
        ({"turns": 0}, "turns=0"),
        ({"crop_px": 112}, "crop_px=112 must be below image_px=112"),
    ],
)
def test_workloads_that_cannot_be_built_are_refused(change: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        replace(SMALL, **change).check()
