"""Rollouts beside learning: really at the same time, with the bytes of taking turns, killed and resumed too."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from dying_run import Dying, Killed

from saccade.algorithms.algorithm import Algorithm, Loss, PolicyTokens
from saccade.algorithms.policy_gradient import grpo
from saccade.config.settings import apply_overrides, check_settings
from saccade.engines.engine import Engine, EngineContext
from saccade.engines.local import LocalEngine, local_engine
from saccade.errors import UserError
from saccade.learner.optimizer import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.metrics import read_metrics, without_times
from saccade.runs.progress import Progress
from saccade.tasks.curriculum import InOrder, TaskSampler
from saccade.testing.tasks import tiny_example
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.train.plan import EpisodeSpec, Plan, RLStage, Stream
from saccade.train.run import run_plan
from saccade.train.stage_settings import RLSettings
from saccade.types import Score, Task, Term, Trajectory

pytestmark = pytest.mark.usefixtures("warm_engines")

EPISODES = EpisodeSpec(
    protocol=tagged_protocol(style="brief"),
    tools=(tool_from(crop),),
    rollout=RolloutSettings(max_turn_tokens=8, max_tokens=400),
    max_turns=2,
)
MEET_WITHIN_S = 600.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    rl: RLSettings = RLSettings(
        steps=4,
        tasks_per_step=2,
        group_size=2,
        staleness=1,
        optimizer=OptimizerSettings(learning_rate=0.02, micro_batch_tokens=2000),
        checkpoint_every=1,
    )


def by_sample(task: Task, trajectory: Trajectory) -> Score:
    """Never equal inside a group, so that every step learns."""
    return Score(terms=(Term("sample", float(trajectory.sample)),))


def run(
    out: Path,
    *overrides: str,
    die_at: int = 0,
    resume: bool = False,
    reward: Callable[[Task, Trajectory], Score] = by_sample,
    algorithm: Algorithm | None = None,
    engine: Callable[[EngineContext], Engine] = local_engine,
    family: TinyFamily = "qwen3_vl",
) -> None:
    media = MediaStore()
    plan = plan_of(media, *overrides, die_at=die_at, reward=reward, algorithm=algorithm, engine=engine, family=family)
    run_plan(plan, out=out, media=media, seed=7, resume=resume, progress=Progress("quiet"))


def plan_of(
    media: MediaStore,
    *overrides: str,
    die_at: int = 0,
    reward: Callable[[Task, Trajectory], Score] = by_sample,
    algorithm: Algorithm | None = None,
    engine: Callable[[EngineContext], Engine] = local_engine,
    family: TinyFamily = "qwen3_vl",
) -> Plan:
    settings = apply_overrides(Settings(), overrides)
    check_settings(settings.rl)

    def build_model() -> VisionLanguageModel:
        size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
        texts = ["Which colour has the square? I look."] * 9
        return tiny_model(texts, media, family=family, size=size, vocab_size=320, seed=4)

    def questions() -> TaskSampler:
        return Dying(InOrder(lambda index: tiny_example(media, index).task, streams=("main",)), die_at)

    stage = RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=EPISODES),),
        questions=questions,
        reward=reward,
        algorithm=algorithm,
        settings=settings.rl,
    )
    return Plan(title="Overlap", settings=settings, build_model=build_model, stages=(stage,), engine=engine)


def outcome(out: Path) -> dict[str, object]:
    """What a run leaves behind that depends on no clock."""
    patterns = ("trajectories/*/*.jsonl", "media/*.png", "checkpoints/**/*")
    found = [path for pattern in patterns for path in out.glob(pattern) if path.is_file()]
    files = {str(path.relative_to(out)): path.read_bytes() for path in found}
    return {**files, "metrics": without_times(out / "metrics.jsonl")}


def metric(out: Path, name: str) -> list[float | None]:
    return [values.get(name) for _, values in read_metrics(out / "metrics.jsonl")]


@pytest.fixture(scope="module")
def in_turn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("in_turn") / "run"
    run(out)
    return out


def test_rollouts_beside_learning_leave_the_bytes_of_taking_turns(in_turn: Path, tmp_path: Path) -> None:
    run(tmp_path / "beside", "rl.overlap=true")
    assert outcome(tmp_path / "beside") == outcome(in_turn)
    assert metric(tmp_path / "beside", "time/rollout_wait_s") != [None] * 4


def test_an_overlapping_run_that_died_in_a_rollout_ends_with_the_same_bytes(in_turn: Path, tmp_path: Path) -> None:
    died = tmp_path / "died"
    with pytest.raises(Killed):
        # The first step draws two batches, the second, whose rollout is beside learning, the third.
        run(died, "rl.overlap=true", die_at=3)
    run(died, "rl.overlap=true", resume=True)
    assert outcome(died) == outcome(in_turn)


def test_rollout_and_learning_really_are_at_work_at_the_same_time(tmp_path: Path) -> None:
    # Neither goes on before the other has come: in turn, they would wait for each other in vain.
    meeting = threading.Barrier(2, timeout=MEET_WITHIN_S)
    met: list[str] = []
    plain = grpo()

    def meet(who: str) -> None:
        if who not in met:
            met.append(who)
            meeting.wait()

    def reward(task: Task, trajectory: Trajectory) -> Score:
        if threading.current_thread().name == "rollout":
            meet("rollout")
        return by_sample(task, trajectory)

    def stale_loss(tokens: PolicyTokens, /) -> Loss:
        # The first stale batch is that of the second step, the first with a rollout beside it.
        meet("learner")
        assert plain.stale_loss is not None
        return plain.stale_loss(tokens)

    run(
        tmp_path / "run",
        "rl.overlap=true",
        "rl.steps=3",
        reward=reward,
        algorithm=replace(plain, stale_loss=stale_loss),
    )
    assert sorted(met) == ["learner", "rollout"]


def test_mismatch_and_staleness_are_reported_apart_and_stale_batches_are_corrected(in_turn: Path) -> None:
    assert metric(in_turn, "rollout/staleness") == [0.0, 1.0, 1.0, 1.0]
    # At the same weights engine and learner differ by rounding; an older policy by what was learned since.
    fresh, *stale = metric(in_turn, "mismatch_abs")
    assert fresh is not None
    assert fresh < 1e-4
    assert stale == [None] * 3
    none, *lagging = metric(in_turn, "sampler_abs")
    assert none is None
    assert all(value is not None and value > 1e-3 for value in lagging)
    assert metric(in_turn, "importance_weight")[0] is None
    assert all(value is not None and 0 < value <= 1 for value in metric(in_turn, "effective_samples")[1:])


def test_overlap_without_a_lag_is_refused_in_words() -> None:
    with pytest.raises(UserError, match="overlap=true has nothing to sample while a batch is learned"):
        check_settings(RLSettings(steps=1, overlap=True))


def test_overlap_with_an_engine_that_shares_the_learner_s_weights_is_refused_before_any_work(tmp_path: Path) -> None:
    def shared(context: EngineContext) -> Engine:
        return LocalEngine(context.model)

    with pytest.raises(UserError, match="its engine LocalEngine does not say that its weights are its own"):
        run(tmp_path / "run", "rl.overlap=true", engine=shared)
    assert not (tmp_path / "run").exists()
