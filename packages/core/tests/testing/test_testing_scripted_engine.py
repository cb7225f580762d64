import asyncio

import pytest

from saccade.engines.engine import Completion, Engine, Sampling
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import SaccadeError
from saccade.media.store import MediaStore
from saccade.rollout.batch import rollout_batch
from saccade.rollout.episodes import RolloutRequest, RolloutSettings
from saccade.testing import TINY_VIEW, ScriptedEngine, letter_chat, tiny_example
from saccade.testing.scripted import Script
from saccade.types import Message, Observation

CHAT = letter_chat(TINY_VIEW)
LOOK = '<think>look</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 250, 250]}}</tool_call>'
ANSWER = "<think>so</think><answer>red</answer>"


def say_once(script: Script, sampling: Sampling, label: str = "a") -> Completion:
    async def ask() -> Completion:
        async with ScriptedEngine(script=script, chat=CHAT).sequences([label]) as slots:
            return await slots[0].sample((1, 2), (), sampling)

    return asyncio.run(ask())


def test_a_turn_ends_with_its_first_stop_string() -> None:
    done = say_once([["ab</x>c</y>"]], Sampling(seed=0, stop=("</y>", "</x>")))
    assert done == Completion(ids=CHAT.encode("ab</x>"), logprobs=(-0.5,) * 6, finish="stop")


def test_a_turn_without_a_stop_string_ends_with_the_end_of_turn_token() -> None:
    done = say_once([["ab"]], Sampling(seed=0, stop=("</y>",)))
    assert done == Completion(ids=(97, 98, CHAT.eos_id), logprobs=(-0.5,) * 3, finish="eos")
    assert CHAT.decode(done.ids) == "ab"


def test_a_turn_over_the_token_limit_is_cut() -> None:
    assert say_once([["abc</y>"]], Sampling(seed=0, stop=("</y>",), max_tokens=5)) == Completion(
        ids=CHAT.encode("abc</"), logprobs=(-0.5,) * 5, finish="length"
    )
    assert say_once([["ab"]], Sampling(seed=0, max_tokens=2)).finish == "length"
    assert say_once([["abc</y>"]], Sampling(seed=0, stop=("</y>",), max_tokens=7)).finish == "stop"


def test_a_script_may_be_a_function_of_label_and_turn() -> None:
    assert CHAT.decode(say_once(lambda label, turn: f"{label}{turn}", Sampling(seed=0), label="z").ids) == "z0"


def test_a_script_that_is_too_short_says_so() -> None:
    with pytest.raises(SaccadeError, match="no turn 1 for slot 1"):
        say_once([], Sampling(seed=0))
    with pytest.raises(SaccadeError, match="no turn 1 for slot 1"):
        say_once([[]], Sampling(seed=0))


def test_a_sequence_refuses_ids_that_do_not_go_on_from_what_it_has_seen() -> None:
    async def ask() -> None:
        async with ScriptedEngine(script=[["a", "b"]], chat=CHAT).sequences(["x"]) as (slot,):
            done = await slot.sample((1, 2), (), Sampling(seed=0))
            with pytest.raises(SaccadeError, match="does not begin with what it has seen"):
                await slot.sample((1, 2, *done.ids[:-1], 7), (), Sampling(seed=0))
            await slot.sample((1, 2, *done.ids, 7), (), Sampling(seed=0))
            slot.close()
            slot.close()
            with pytest.raises(SaccadeError, match="was closed"):
                await slot.sample((1, 2), (), Sampling(seed=0))

    asyncio.run(ask())


def test_scores_are_the_same_log_probability_for_every_token() -> None:
    engine: Engine = ScriptedEngine(script=[], chat=CHAT, policy_version=3)
    assert engine.policy_version == 3
    assert asyncio.run(engine.score((1, 2, 3, 4), (), 1)) == (-0.5, -0.5, -0.5)


def test_the_letter_chat_renders_every_character_as_one_token_and_images_as_the_view_says() -> None:
    image = tiny_example(MediaStore()).task.images[0]
    prompt = CHAT.prompt([Message(role="user", parts=(image, "Hi?"))])
    assert prompt.images == (image,)
    pads = (CHAT.image_token_id,) * TINY_VIEW.token_count(image)
    assert CHAT.tokenizer.decode(list(prompt.ids)) == (
        "<|im_start|>user\n<|vision_start|>"
        + "<|image_pad|>" * len(pads)
        + "<|vision_end|>Hi?<|im_end|>\n<|im_start|>assistant\n"
    )
    suffix = CHAT.observation(Observation(text="ok"), ends_with_eos=False)
    assert (
        CHAT.tokenizer.decode(list(suffix.ids)) == "<|im_end|>\n<|im_start|>tool\nok<|im_end|>\n<|im_start|>assistant\n"
    )


def test_what_the_engine_said_reaches_the_trajectory_untouched() -> None:
    media = MediaStore()
    task = tiny_example(media).task
    engine = ScriptedEngine(script=[[LOOK, ANSWER], ["red", ANSWER]], chat=CHAT)
    trajectories = rollout_batch(
        [RolloutRequest(task=task, stream="main", sample=sample, seed=sample) for sample in range(2)],
        engine=engine,
        chat=CHAT,
        make_env=lambda: VisualReasoningEnv(media=media, view=TINY_VIEW, max_turns=3, shows_pixels=False),
        settings=RolloutSettings(max_turn_tokens=200, max_tokens=8000),
    )
    for trajectory, label in zip(trajectories, ("tiny/000000/main/0", "tiny/000000/main/1")):
        asked = [one for one in engine.asked if one.label == label]
        actions = [segment for segment in trajectory.segments if segment.role == "action"]
        assert [one.turn for one in asked] == [0, 1]
        assert [(a.ids, a.logprobs) for a in actions] == [(o.completion.ids, o.completion.logprobs) for o in asked]
        assert (*asked[-1].ids, *asked[-1].completion.ids) == trajectory.ids
        assert asked[-1].images == trajectory.images
    assert [turn.text for turn in trajectories[0].turns] == [LOOK, ANSWER]
    assert [turn.text for turn in trajectories[1].turns] == ["red", ANSWER]
    assert [trajectory.status for trajectory in trajectories] == ["answered", "answered"]
    assert len(trajectories[0].images) == 2
