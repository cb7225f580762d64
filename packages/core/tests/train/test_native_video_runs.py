"""Runs whose questions are videos by the model's own tokens: the same bytes when killed, and where they are refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from dying_run import Dying, Killed
from PIL import Image
from test_overlap import EPISODES, Settings, by_sample, outcome

from saccade.engines.engine import Engine, EngineContext
from saccade.engines.local import LocalEngine, local_engine
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.tasks.curriculum import InOrder, TaskSampler
from saccade.train.plan import Plan, RLStage, Stream
from saccade.train.run import run_plan
from saccade.types import Task

pytestmark = pytest.mark.usefixtures("warm_engines")

LATER = "When does the square change its colour? "


def run(
    out: Path,
    *,
    die_at: int = 0,
    resume: bool = False,
    engine: Callable[[EngineContext], Engine] = local_engine,
    joined_frames: int = 2,
) -> None:
    media = MediaStore()

    def question(index: int) -> Task:
        frames = [Image.new("RGB", (40, 30), (40 * index % 256, 70 * frame % 256, 0)) for frame in range(3)]
        return Task(
            id=f"video-{index}",
            family="own",
            question=LATER,
            answer="1",
            answer_kind="exact",
            images=tuple(media.add(frame) for frame in frames),
            frame_times_s=(0.0, 1.0 + index, 2.0 + 2 * index),
        )

    def build_model() -> VisionLanguageModel:
        size = TinySize(
            hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48, joined_frames=joined_frames
        )
        return tiny_model([LATER] * 9, media, family="qwen2_5_vl", size=size, vocab_size=320, seed=4)

    def questions() -> TaskSampler:
        return Dying(InOrder(question, streams=("main",)), die_at)

    settings = Settings()
    episodes = replace(EPISODES, rollout=replace(EPISODES.rollout, native_video=True))
    stage = RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=episodes),),
        questions=questions,
        reward=by_sample,
        settings=replace(settings.rl, steps=2, staleness=0),
    )
    plan = Plan(title="Videos", settings=settings, build_model=build_model, stages=(stage,), engine=engine)
    run_plan(plan, out=out, media=media, seed=7, resume=resume, progress=Progress("quiet"))


def test_a_run_on_videos_that_is_killed_and_resumed_has_the_same_bytes(tmp_path: Path) -> None:
    alone, died = tmp_path / "alone", tmp_path / "died"
    run(alone)
    with pytest.raises(Killed):
        run(died, die_at=2)
    run(died, resume=True)
    assert outcome(died) == outcome(alone)
    shown = [one.trajectory.images[0] for path in alone.glob("trajectories/*/*.jsonl") for one in read_records(path)]
    assert {one.frames for one in shown} == {4}
    assert len({one.patch_seconds for one in shown}) == 4


def test_an_engine_that_has_positions_of_pictures_alone_is_refused_before_any_work(tmp_path: Path) -> None:
    class Server(LocalEngine):
        counts_positions = True

    def server(context: EngineContext) -> Engine:
        return Server(context.model)

    with pytest.raises(
        UserError, match=r"native_video=true: the engine Server has no positions along time .*qwen2_5_vl"
    ):
        run(tmp_path / "served", engine=server)
    with pytest.raises(UserError, match="has no video tokens"):
        run(tmp_path / "single", joined_frames=1)
