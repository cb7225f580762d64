"""Pictures that are too large for a run are found before any work, with the setting to change."""

import logging
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from PIL import Image

from saccade.algorithms.policy_gradient import grpo
from saccade.errors import UserError
from saccade.learner.optimizer import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import DEFAULT_MAX_PIXELS, LoadSettings, load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols import LinguisticTool, LinguisticToolbox, toolchain_protocol
from saccade.protocols.tagged import direct_protocol
from saccade.rewards.reward import OutcomeReward
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.progress import Progress
from saccade.tasks.curriculum import Band, ByPassRate, InOrder, Mixture, Share, Shuffled, known_tasks
from saccade.train.artefacts import Derive, Derived
from saccade.train.plan import EpisodeSpec, Evaluate, Plan, RLStage, Stream
from saccade.train.run import run_plan
from saccade.train.stage_settings import RLSettings
from saccade.types import Task

SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48, view_px=1600)
MEDIA = MediaStore()
EPISODES = EpisodeSpec(
    protocol=direct_protocol(style="brief"),
    tools=(),
    rollout=RolloutSettings(max_turn_tokens=4, max_tokens=2000),
    max_turns=1,
)


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """A recipe without settings."""


def task(name: str, width: int, height: int) -> Task:
    image = MEDIA.add(Image.new("RGB", (width, height), name))
    return Task(id=name, family="f", question="Which colour?", answer=name, answer_kind="exact", images=(image,))


SMALL, LARGE = task("red", 64, 64), task("blue", 1600, 1200)


def large_model() -> VisionLanguageModel:
    return tiny_model(["Which colour?"] * 9, MEDIA, size=SIZE, vocab_size=300, seed=4)


@cache
def build_model() -> VisionLanguageModel:
    """Small pictures stay small, as with a published image processor."""
    with TemporaryDirectory() as directory:
        large_model().save(Path(directory))
        return load_model(Path(directory), MEDIA, LoadSettings(min_pixels=64 * 64, max_pixels=480 * 480))


def run(out: Path, episodes: EpisodeSpec, *, micro_batch_tokens: int = 4096) -> None:
    settings = RLSettings(
        steps=1,
        tasks_per_step=2,
        group_size=2,
        optimizer=OptimizerSettings(micro_batch_tokens=micro_batch_tokens),
    )
    stages = (
        Evaluate(name="before", tasks=lambda: [SMALL], episodes=episodes, reward=OutcomeReward()),
        RLStage(
            name="rl",
            streams=(Stream(name="main", episodes=episodes),),
            questions=lambda: Shuffled([SMALL, LARGE], seed=0),
            reward=OutcomeReward(),
            algorithm=grpo(),
            settings=settings,
        ),
    )
    plan = Plan(title="t", settings=Nothing(), build_model=build_model, stages=stages)
    run_plan(plan, out=out, media=MEDIA, seed=0, progress=Progress("quiet"))


def tokens(width: int, height: int) -> int:
    return build_model().view.token_count(MEDIA.add(Image.new("RGB", (width, height))))


def test_a_question_that_leaves_no_room_to_answer_stops_the_run_before_its_first_evaluation(tmp_path: Path) -> None:
    crowded = replace(EPISODES, rollout=RolloutSettings(max_turn_tokens=4, max_tokens=300))
    with pytest.raises(UserError) as caught:
        run(tmp_path / "run", crowded)
    said = str(caught.value)
    assert said.startswith(
        "stage 'rl': about 1 of 2 questions do not fit rollout.max_tokens=300. The prompt of blue takes"
    )
    assert f"{tokens(1600, 1200)} of them for a picture of 1600 x 1200 px: lower model.max_pixels, or raise" in said
    assert not (tmp_path / "run").exists()


def test_a_picture_larger_than_a_micro_batch_stops_the_run_before_its_first_evaluation(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        run(tmp_path / "run", EPISODES, micro_batch_tokens=200)
    assert str(caught.value) == (
        "stage 'rl': 1 of 2 pictures have more tokens than optimizer.micro_batch_tokens=200. The largest (1600 x 1200 "
        f"px, of blue) has {tokens(1600, 1200)}: lower model.max_pixels, or raise optimizer.micro_batch_tokens to "
        f"{tokens(1600, 1200)} or more"
    )
    assert not (tmp_path / "run").exists()


def test_a_prompt_that_leaves_less_than_a_turn_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tight = replace(EPISODES, rollout=RolloutSettings(max_turn_tokens=2000, max_tokens=2001))
    with caplog.at_level(logging.WARNING), pytest.raises(UserError, match="micro_batch_tokens"):
        run(tmp_path / "run", tight, micro_batch_tokens=200)
    assert "leaves less than rollout.max_turn_tokens=2000 to answer" in caplog.records[0].getMessage()


def test_sources_tell_what_they_will_ask_where_they_know() -> None:
    fixed = Shuffled([SMALL, LARGE], seed=0)
    endless = InOrder(lambda _: SMALL)
    assert known_tasks(ByPassRate(fixed, Band())) == [SMALL, LARGE]
    assert known_tasks(endless) == ()
    mixed = Mixture({"a": Share(questions=fixed, share=1), "b": Share(questions=endless, share=1)})
    assert known_tasks(mixed) == [SMALL, LARGE]


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        (LoadSettings(), DEFAULT_MAX_PIXELS),
        (LoadSettings(max_pixels="checkpoint"), 1600 * 1600),
        (LoadSettings(max_pixels=40_000), 40_000),
        (LoadSettings(min_pixels=2_000_000), 2_000_000),
    ],
)
def test_views_are_bounded_where_the_checkpoint_allows_any_size(
    tmp_path: Path, settings: LoadSettings, most: int
) -> None:
    large_model().save(tmp_path)
    assert load_model(tmp_path, MEDIA, settings).image_processor.size["longest_edge"] == most


def test_prompts_that_wait_for_an_earlier_stage_are_checked_when_theirs_begins(tmp_path: Path) -> None:
    """Before, a run whose toolbox a stage has yet to make was refused at its start."""
    box = LinguisticToolbox((LinguisticTool("look", "Look."),))

    def started(name: str, max_tokens: int) -> None:
        made = Derived("tools", LinguisticToolbox.from_json)
        episodes = replace(
            EPISODES,
            protocol=toolchain_protocol(toolbox=made, style="brief"),
            rollout=RolloutSettings(max_turn_tokens=4, max_tokens=max_tokens),
        )
        stages = (
            Evaluate(name="before", tasks=lambda: [SMALL], episodes=EPISODES, reward=OutcomeReward()),
            Derive(name="tools", derive=lambda _: box.to_json(), into=made, source="before"),
            RLStage(
                name="rl",
                streams=(Stream(name="main", episodes=episodes),),
                questions=lambda: Shuffled([SMALL], seed=0),
                reward=OutcomeReward(),
                algorithm=grpo(),
                settings=RLSettings(steps=1, tasks_per_step=1, group_size=2),
            ),
        )
        plan = Plan(title="t", settings=Nothing(), build_model=build_model, stages=stages)
        run_plan(plan, out=tmp_path / name, media=MEDIA, seed=0, progress=Progress("quiet"))

    started("fits", 2000)
    with pytest.raises(UserError, match=r"stage 'rl': about 1 of 1 questions do not fit rollout\.max_tokens=8"):
        started("narrow", 8)
    assert [(tmp_path / name / "derived" / "tools.json").is_file() for name in ("fits", "narrow")] == [True, True]
