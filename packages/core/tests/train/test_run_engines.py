"""A run whose engine is another: the same bytes from a process of its own, killed in the middle."""

import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.config.context import RecipeContext
from saccade.engines.engine import Engine, EngineContext
from saccade.engines.local import local_engine
from saccade.engines.process import ProcessEngine, ProcessSlot
from saccade.miniature.demo import demo
from saccade.runs.metrics import without_times
from saccade.train.plan import RLStage
from saccade.train.run import run_plan
from saccade.types import Score, Task, Term, Trajectory

pytestmark = pytest.mark.usefixtures("warm_engines")

SMALL = (
    "sft.steps=3",
    "sft.batch_size=4",
    "rl.steps=3",
    "rl.tasks_per_step=3",
    "rl.group_size=2",
    "rl.warmup_steps=0",
    "rl.checkpoint_every=1",
    "rl.evaluate_every=2",
    "evaluation_tasks=4",
    "curve_tasks=2",
    "no_tool_tasks=1",
)


class KilledEngine(ProcessEngine):
    """Dies in its third batch: the second step of reinforcement, after weights were sent."""

    batches = 0

    @asynccontextmanager
    async def sequences(self, labels: Sequence[str]) -> AsyncIterator[Sequence[ProcessSlot]]:
        async with super().sequences(labels) as slots:
            self.batches += 1
            if self.batches == 3:
                os.kill(self.process_id, signal.SIGKILL)
            yield slots


def length(task: Task, trajectory: Trajectory) -> Score:
    """Differs inside a group even of a model that has learned next to nothing."""
    return Score(terms=(Term("tokens", float(sum(trajectory.action_mask))),))


def outcome(out: Path, engine: Callable[[EngineContext], Engine]) -> dict[str, object]:
    """What the run leaves behind that depends on no clock."""
    context = RecipeContext(overrides=SMALL)
    plan = demo(context)
    stages = tuple(replace(stage, reward=length) if isinstance(stage, RLStage) else stage for stage in plan.stages)
    run_plan(replace(plan, stages=stages, engine=engine), out=out, media=context.media, seed=0)
    files = [*out.glob("trajectories/*/*.jsonl"), *out.glob("evaluations/*.jsonl")]
    return {
        "metrics": without_times(out / "metrics.jsonl"),
        **{str(path.relative_to(out)): path.read_text() for path in files},
    }


def test_an_engine_in_its_own_process_that_dies_leaves_the_bytes_of_a_local_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    killed = outcome(tmp_path / "killed", KilledEngine)
    assert "SIGKILL, possibly because memory ran out; the batch of 6 trajectories is played again" in caplog.text
    assert "changed no weight" not in caplog.text
    assert killed == outcome(tmp_path / "local", local_engine)
    assert len([name for name in killed if name.startswith("trajectories/rl")]) == 3
