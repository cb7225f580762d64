"""Every expert of every family, played through the environment into what the imitator trains on."""

import pytest

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import UserError
from saccade.gym.drawn import FAMILIES
from saccade.learner.sequences import training_sequence
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.instructions import Style
from saccade.protocols.tagged import direct_protocol, tagged_protocol
from saccade.rewards.reward import OutcomeReward
from saccade.rollout.trajectory import demonstrate
from saccade.tasks.procedural import generate
from saccade.tools.images import IMAGE_TOOLS
from saccade.types import Answer, Example, ExpertTurn, ToolCall, Trajectory

MODELS = ("qwen3_vl", "qwen2_5_vl", "internvl")
"""The first plays every family; the others play one with a picture and one with frames, and the rest by ``--full``."""

PLAYED = ("visual_search", "video_event")

every_family = pytest.mark.parametrize(
    ("model", "family"),
    [
        pytest.param(model, family, marks=() if model == MODELS[0] or family in PLAYED else pytest.mark.full)
        for model in MODELS
        for family in FAMILIES
    ],
    indirect=["model"],
)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> VisionLanguageModel:
    size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
    return tiny_model(["Which texture has the red plate?"] * 9, MediaStore(), family=request.param, size=size)


def environment(model: VisionLanguageModel, style: Style = "full", *, max_turns: int = 6) -> VisualReasoningEnv:
    protocol = tagged_protocol(style=style, max_turns=max_turns)
    return VisualReasoningEnv(
        protocol=protocol,
        tools=IMAGE_TOOLS,
        media=model.media,
        view=model.view,
        max_turns=max_turns,
        shows_pixels=False,
    )


def silent(model: VisionLanguageModel, style: Style) -> VisualReasoningEnv:
    protocol = direct_protocol(style=style)
    return VisualReasoningEnv(
        protocol=protocol, tools=(), media=model.media, view=model.view, max_turns=1, shows_pixels=False
    )


def check_tokens(trajectory: Trajectory, model: VisionLanguageModel) -> None:
    """Actions are the expert's words with the end of the turn, all else is masked, placeholders match the images."""
    roles = [segment.role for segment in trajectory.segments]
    assert roles == ["prompt", *["action", "observation"] * (len(trajectory.turns) - 1), "action"]
    actions = [segment for segment in trajectory.segments if segment.role == "action"]
    for segment, turn in zip(actions, trajectory.turns, strict=True):
        assert segment.ids == (*model.chat.encode(turn.text), model.eos_id)
    sequence = training_sequence(trajectory)
    trained = [token for token, is_action in zip(sequence.ids, sequence.is_action) if is_action]
    assert trained == [token for segment in actions for token in segment.ids]
    assert not set(trained) & set(model.forbidden_ids.tolist())
    assert sequence.is_action[-1]
    assert sequence.ids[-1] == model.eos_id
    placeholders = sum(model.view.token_count(image) for image in sequence.images)
    assert sequence.ids.count(model.image_token_id) == placeholders


@pytest.mark.parametrize("style", ["brief", "full"])
@every_family
def test_an_experts_demonstration_keeps_the_format_and_is_right(
    model: VisionLanguageModel, family: str, style: Style
) -> None:
    env = environment(model, style)
    for index, difficulty in enumerate((0.0, 0.5, 1.0)):
        example = generate(family, split="train", index=index, seed=0, media=model.media, difficulty=difficulty)
        trajectory = demonstrate(example, env=env, chat=model.chat)
        assert trajectory.status == "answered"
        assert all(turn.is_well_formed for turn in trajectory.turns)
        assert all(turn.result is not None and turn.result.is_ok for turn in trajectory.turns[:-1])
        assert OutcomeReward()(example.task, trajectory).values == {"accuracy": 1.0, "format": 1.0}
        check_tokens(trajectory, model)


@pytest.mark.parametrize("style", ["brief", "full"])
@every_family
def test_an_experts_answer_alone_is_a_demonstration_without_tools(
    model: VisionLanguageModel, family: str, style: Style
) -> None:
    shown = generate(family, split="train", index=0, seed=0, media=model.media)
    example = Example(task=shown.task, turns=shown.turns[-1:])
    trajectory = demonstrate(example, env=silent(model, style), chat=model.chat)
    assert trajectory.answer == shown.task.answer
    assert trajectory.images == shown.task.images
    check_tokens(trajectory, model)


LOOK = ExpertTurn(thought="", action=ToolCall(name="crop", arguments={"bbox_2d": [0, 0, 64, 64]}))
ANSWER = ExpertTurn(thought="", action=Answer(text="rows"))
REFUSED: dict[str, tuple[ExpertTurn, ...]] = {
    "ends without an answer": (),
    "goes on after the episode has ended": (ANSWER, ANSWER),
    r"turn 2 of .* was refused": (LOOK, LOOK, ANSWER),
    r"turn 1 of .* was refused: Error: .*box": (
        ExpertTurn(thought="", action=ToolCall(name="crop", arguments={"bbox_2d": [9, 9, 9, 9]})),
        ANSWER,
    ),
    "calls 'telescope', which the environment does not offer": (
        ExpertTurn(thought="", action=ToolCall(name="telescope", arguments={})),
        ANSWER,
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_an_expert_that_breaks_the_rules_is_an_error_that_names_its_task(model: VisionLanguageModel, why: str) -> None:
    task = generate("visual_search", split="train", index=0, seed=0, media=model.media).task
    turns = REFUSED[why]
    with pytest.raises(UserError, match=why):
        demonstrate(Example(task=task, turns=turns), env=environment(model, max_turns=2), chat=model.chat)
