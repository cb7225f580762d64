"""Episodes of a template that leaves thoughts out of earlier turns: what is sampled, shown, trained and prefilled."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from torch import Tensor

from saccade.algorithms.algorithm import Aggregation
from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.engines.sampling import Drawn
from saccade.learner.learner import Learner
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import training_sequences, weighted
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.chat_templates import BoundedTemplate
from saccade.models.checkpoint import LoadSettings
from saccade.models.loading import load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.batch import rollout_batch
from saccade.rollout.contexts import Contexts, tell_of_old_thoughts
from saccade.rollout.episodes import EpisodeSpec, RolloutRequest, RolloutSettings
from saccade.rollout.trajectory import demonstrate
from saccade.runs.asking import ASKING
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.testing.family_case import FamilyCase
from saccade.testing.family_inputs import rendering
from saccade.testing.scripted import ScriptedEngine
from saccade.testing.tasks import tiny_example
from saccade.tools.images import IMAGE_TOOLS
from saccade.types import Attempt, Trajectory

FORGETFUL = """
{%- macro parts(content) -%}
{%- if content is string -%}{{ content }}{%- else -%}{%- for part in content -%}
{%- if part.type == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>{%- else -%}{{ part.text }}{%- endif -%}
{%- endfor -%}{%- endif -%}
{%- endmacro -%}
{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\n' -}}
{%- set said = parts(message.content) -%}
{{- said.split('</think>')[-1].lstrip('\n') if message.role == 'assistant' else said -}}
{{- '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n<think>\n' }}{%- endif -%}
"""
"""Qwen2.5-VL's form with DeepSeek-R1's rule: no earlier turn keeps its thought."""
LOOKS = 'I look there.\n</think>\n\n<tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 250, 250]}}</tool_call>'
SCRIPT = (LOOKS, LOOKS.replace("there", "here"), "It is red.</think><answer>red</answer>")
PLAYED = RolloutSettings(max_turn_tokens=400, max_tokens=8000, drops_old_thoughts=True)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> VisionLanguageModel:
    folder, media = tmp_path_factory.mktemp("forgetful"), MediaStore()
    size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
    tiny_model([*SCRIPT, "Which colour has the square?"] * 9, media, size=size).save(folder / "model")
    (folder / "forgetful.jinja").write_text(FORGETFUL)
    return load_model(folder / "model", media, LoadSettings(chat_template=folder / "forgetful.jinja", device="cpu"))


def spec(**rollout: object) -> EpisodeSpec:
    return EpisodeSpec(protocol=tagged_protocol(), tools=IMAGE_TOOLS, rollout=replace(PLAYED, **rollout))  # type: ignore[arg-type]


def requests(model: VisionLanguageModel, count: int = 1) -> list[RolloutRequest]:
    task = tiny_example(model.media).task
    return [RolloutRequest(task=task, stream="main", sample=number, seed=number) for number in range(count)]


def played(
    model: VisionLanguageModel, turns: Sequence[str] = SCRIPT, **rollout: object
) -> tuple[Trajectory, ScriptedEngine]:
    engine = ScriptedEngine(script=lambda label, turn: f"<think>\n{turns[turn]}", chat=model.chat)
    episodes = spec(**rollout)
    [one] = rollout_batch(
        requests(model),
        engine=engine,
        chat=model.chat,
        make_env=lambda: episodes.environment(model.media, model.view),
        settings=episodes.rollout,
    )
    return one, engine


def words(model: VisionLanguageModel, ids: Sequence[int]) -> str:
    return model.chat.tokenizer.decode(list(ids)).replace("<|image_pad|>", "")


def test_each_turn_is_sampled_after_what_the_template_writes_and_trained_as_it_was_sampled(
    model: VisionLanguageModel,
) -> None:
    trajectory, engine = played(model)
    assert [len(one) for one in trajectory.contexts] == [2, 2, 2]
    for number, (prompt, action) in enumerate(trajectory.contexts):
        assert (prompt.role, prompt.turn, action.role, action.turn) == ("prompt", number, "action", number)
        asked = engine.asked[number]
        assert (asked.ids, asked.completion.ids, asked.images) == (prompt.ids, action.ids, prompt.images)
        assert asked.sampling.begins_anew == (number > 0)
    # The last prompt is what the template writes of all messages: two turns without their thoughts, two observations.
    shown = [turn.observation for turn in trajectory.turns[:2]]
    call = LOOKS.partition("</think>\n\n")[2]
    last = words(model, trajectory.contexts[2][0].ids)
    assert last.count("<think>\n") == 1
    assert last.endswith("<|im_start|>assistant\n<think>\n")
    for one in shown:
        assert one is not None
        said = f"<|im_start|>assistant\n{call}<|im_end|>\n<|im_start|>user\n<tool_response>\n"
        assert f"{said}<|vision_start|><|vision_end|>{one.text}\n</tool_response><|im_end|>\n" in last
    messages = [{"role": one["role"], "content": one["content"]} for one in _as_given(model, trajectory)]
    assert last == BoundedTemplate(FORGETFUL).render({"messages": messages, "add_generation_prompt": True}).replace(
        "<|image_pad|>", ""
    )


def _as_given(model: VisionLanguageModel, trajectory: Trajectory) -> list[dict[str, object]]:
    """The messages of an episode up to its last turn, as one writes them to a template."""
    env = spec().environment(model.media, model.view)
    env.reset(options={"task": tiny_example(model.media).task})
    given: list[dict[str, object]] = [
        {
            "role": one.role,
            "content": [
                {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in one.parts
            ],
        }
        for one in env.prompt
    ]
    for turn in trajectory.turns[:-1]:
        assert turn.observation is not None
        seen = f"{turn.observation.text}\n</tool_response>"
        content = [{"type": "text", "text": "<tool_response>\n"}, {"type": "image"}, {"type": "text", "text": seen}]
        given += [{"role": "assistant", "content": turn.text}, {"role": "user", "content": content}]
    return given


def test_without_the_option_the_history_grows_as_it_was_sampled(model: VisionLanguageModel) -> None:
    trajectory, engine = played(model, drops_old_thoughts=False)
    assert [one.role for one in trajectory.segments] == [
        "prompt",
        "action",
        "observation",
        "action",
        "observation",
        "action",
    ]
    assert words(model, engine.asked[2].ids).count("<think>\n") == 3
    said = [turn.text for turn in trajectory.turns]
    assert said == [turn.text for turn in played(model)[0].turns]


def test_all_contexts_of_a_trajectory_are_trained_with_its_advantage(model: VisionLanguageModel) -> None:
    trajectory, _ = played(model)
    sequences = training_sequences(trajectory, (0.5, 0.5, 0.5))
    assert [one.continues for one in sequences] == [False, True, True]
    assert all(set(one.advantages) == {0.5} for one in sequences)
    assert all(one.action_count == len(one.ids) - one.prompt_tokens for one in sequences)
    shares = [
        one.token_weight for one in weighted(sequences, Aggregation(over="sequences")) for _ in range(one.action_count)
    ]
    assert sum(shares) == pytest.approx(1.0)


def test_a_turn_that_never_ends_its_thought_stays_whole_and_no_call_in_it_is_run(model: VisionLanguageModel) -> None:
    unended = LOOKS.replace("</think>", "")
    trajectory, engine = played(model, (unended, LOOKS, SCRIPT[2]))
    assert [turn.result is None for turn in trajectory.turns] == [True, False, True]
    # The template keeps all of the first turn: nothing that the model saw is gone, and its context goes on.
    assert [len(one) for one in trajectory.contexts] == [4, 2]
    assert words(model, engine.asked[2].ids).count("I look there.") == 1


def test_two_ends_of_a_thought_are_no_action_and_what_follows_the_last_is_what_stays(
    model: VisionLanguageModel,
) -> None:
    twice = "a</think>b</think><answer>red</answer>"
    trajectory, _ = played(model, (twice, SCRIPT[2]))
    assert [turn.is_well_formed for turn in trajectory.turns] == [False, True]
    assert trajectory.turns[0].result is None
    assert "assistant\n<answer>red</answer><|im_end|>" in words(model, trajectory.contexts[1][0].ids)


def test_an_expert_is_imitated_in_the_contexts_in_which_it_will_play(model: VisionLanguageModel) -> None:
    example = tiny_example(model.media)
    looks = (example.turns[0], replace(example.turns[0], thought="I look again."), example.turns[1])
    env = spec().environment(model.media, model.view)
    shown = demonstrate(replace(example, turns=looks), env=env, chat=model.chat, drops_old_thoughts=True)
    said = [turn.text.removeprefix("<think>").lstrip("\n") for turn in shown.turns]
    again, _ = played(model, said)
    assert len(shown.contexts) == 3
    assert [(one.role, one.turn, one.images) for one in shown.segments] == [
        (one.role, one.turn, one.images) for one in again.segments
    ]
    assert [one.ids for one in shown.segments if one.role == "prompt"] == [
        one.ids for one in again.segments if one.role == "prompt"
    ]


def test_the_engine_prefills_from_the_first_difference_on_and_the_learner_agrees(model: VisionLanguageModel) -> None:
    left = {number: [list(model.chat.encode(f"<think>\n{turn}")) for turn in SCRIPT] for number in range(2)}

    def draw(logits: Tensor, samplings: Sequence[Sampling], uniforms: Sequence[float]) -> list[Drawn]:
        drawn = []
        for row, sampling in zip(logits.log_softmax(dim=-1), samplings):
            turns = left[sampling.seed]
            token = turns[0].pop(0)
            if not turns[0]:
                turns.pop(0)
            drawn.append(Drawn(token=token, logprob=float(row[token])))
        return drawn

    engine, episodes = LocalEngine(model, draw=draw), spec()
    trajectories = rollout_batch(
        requests(model, 2),
        engine=engine,
        chat=model.chat,
        make_env=lambda: episodes.environment(model.media, model.view),
        settings=episodes.rollout,
    )
    assert [len(one.contexts) for one in trajectories] == [3, 3]
    prompts = [context[0].ids for context in trajectories[0].contexts]
    new = 0
    for before, prompt in pairwise(prompts):
        alike = next(place for place, (one, other) in enumerate(zip(before, prompt)) if one != other)
        # Everything but the opened thought.
        assert alike >= len(before) - 4
        new += len(prompt) - alike
    # Of each prompt the last 64 tokens at most, or a picture that they would cut, are forwarded beside what is new.
    assert engine.work.tokens_prefilled <= len(prompts[0]) + 2 * (new + 2 * (64 + 20))
    assert engine.work.tokens_prefilled < sum(map(len, prompts))
    sequences = [one for trajectory in trajectories for one in training_sequences(trajectory)]
    learned = Learner(model, OptimizerSettings(learning_rate=1e-3)).logprobs(sequences, temperature=1.0)
    gaps = [abs(a - b) for one, own in zip(sequences, learned) for a, b in zip(one.sampled_logprobs, own, strict=True)]
    assert len(gaps) > 100
    assert max(gaps) < 1e-4


def test_the_check_of_a_family_compares_what_such_a_template_writes(model: VisionLanguageModel, tmp_path: Path) -> None:
    model.save(tmp_path / "thinks")
    assert "old thoughts left out" in rendering(FamilyCase(tmp_path / "thinks", MediaStore()))


def test_the_start_says_what_the_template_and_the_settings_make_of_old_thoughts(
    model: VisionLanguageModel, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    plain = load_model(model.checkpoint or tmp_path, model.media)
    with caplog.at_level(logging.WARNING):
        tell_of_old_thoughts([spec()], model.chat.history)
        tell_of_old_thoughts([spec(drops_old_thoughts=False)], plain.chat.history)
        tell_of_old_thoughts([replace(spec(drops_old_thoughts=False), max_turns=1)], model.chat.history)
    assert caplog.messages == []
    with caplog.at_level(logging.WARNING):
        tell_of_old_thoughts([spec(drops_old_thoughts=False)] * 2, model.chat.history)
        tell_of_old_thoughts([spec()], plain.chat.history)
    said = (
        "the chat template leaves out what was thought in earlier turns; here it stays as it was sampled",
        "changes nothing",
    )
    assert len(caplog.messages) == 2
    assert all(one in message for one, message in zip(said, caplog.messages))


def test_a_way_of_asking_says_it_only_where_it_is_on(model: VisionLanguageModel) -> None:
    for name in ("drops_old_thoughts", "native_video"):
        records = [ASKING.to_json(replace(RolloutSettings(), **{name: on})) for on in (False, True)]
        assert [name in one for one in records] == [False, True]


def test_episodes_shown_before_the_question_have_lost_their_thoughts_too(
    model: VisionLanguageModel, tmp_path: Path
) -> None:
    shown, _ = played(model, drops_old_thoughts=False)
    asked = tiny_example(model.media).task
    task = replace(asked, id="other", question="Which colour?")
    file = tmp_path / "shown.jsonl"
    media = {"media": model.media, "media_directory": tmp_path / "media"}
    (tmp_path / "run.json").write_text("{}")
    write_records(file, Position(stage="rl", step=1), [Attempt(task=asked, trajectory=shown)], **media)  # type: ignore[arg-type]
    for drops, thoughts in ((True, 0), (False, 3)):
        env = spec(few_shot=1, few_shot_file=str(file), drops_old_thoughts=drops).environment(model.media, model.view)
        env.reset(options={"task": task})
        prompt = words(model, Contexts(model.chat, env, drops_old_thoughts=drops).prompt().ids)
        assert prompt.count("<|im_start|>assistant\n<think>\n") == thoughts + 1
        assert prompt.count("<answer>red</answer>") == 1
