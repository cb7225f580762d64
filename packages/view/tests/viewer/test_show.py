"""``saccade show`` on a small run: why a trajectory got its reward."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from places import ROOT
from saccade.algorithms.policy_gradient import grpo
from saccade.cli import run_command
from saccade.learner.optimizer import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import direct_protocol
from saccade.rewards.reward import GroupScores, OutcomeReward
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.tasks.curriculum import Shuffled
from saccade.testing.tasks import tiny_example
from saccade.train.plan import EpisodeSpec, Evaluate, Plan, RLStage, Stream
from saccade.train.run import run_plan
from saccade.train.stage_settings import RLSettings
from saccade.types import Json, Score, Task, Term, Trajectory

EPISODES = EpisodeSpec(
    protocol=direct_protocol(style="brief"),
    tools=(),
    rollout=RolloutSettings(max_turn_tokens=8, max_tokens=400),
    max_turns=1,
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    rl: RLSettings = RLSettings(
        steps=2,
        tasks_per_step=2,
        group_size=4,
        optimizer=OptimizerSettings(learning_rate=1e-3, micro_batch_tokens=400),
    )


class Judged:
    """0.25 a sample; of the second the judge said nothing, so the lowest stands in, and the last has no verdict."""

    async def score_groups(
        self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /
    ) -> GroupScores:
        await asyncio.sleep(0)
        return GroupScores(scores={name: [self.score(one) for one in of] for name, of in groups.items()})

    @staticmethod
    def score(trajectory: Trajectory) -> Score | None:
        if trajectory.sample == 3:
            return None
        agrees = Term("agrees", 0.25 * trajectory.sample, 2.0)
        if trajectory.sample == 1:
            agrees = Term("agrees", 0.0, 2.0, filled_from="no verdict: the lowest of its siblings")
        return Score(
            terms=(Term("format", 1.0, 0.1), agrees),
            is_right=trajectory.sample == 2,
            notes={"judge_said": float(trajectory.sample)},
        )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    media = MediaStore()
    tasks = [tiny_example(media, index).task for index in range(2)]

    def build_model() -> VisionLanguageModel:
        size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
        return tiny_model(["Which colour has the square?"] * 9, media, size=size, vocab_size=320, seed=4)

    stage = RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=EPISODES),),
        questions=lambda: Shuffled(tasks, seed=2),
        reward=Judged(),
        algorithm=replace(grpo(), shape_reward=lambda trajectory: -0.25),
        settings=Settings().rl,
    )
    after = Evaluate(name="after", tasks=lambda: tasks, episodes=EPISODES, reward=OutcomeReward())
    out = tmp_path_factory.mktemp("show") / "run"
    plan = Plan(title="Show", settings=Settings(), build_model=build_model, stages=(stage, after))
    run_plan(plan, out=out, media=media, seed=7, progress=Progress("quiet"))
    return out


def shown(capsys: pytest.CaptureFixture[str], run: Path, *arguments: object, width: int | None = 80) -> str:
    assert run_command(["show", str(run), *map(str, arguments)]) == 0
    text = capsys.readouterr().out
    assert width is None or max(map(len, text.splitlines())) <= width
    return text


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert run_command(["show", *map(str, arguments)]) == 2
    return capsys.readouterr().err


def test_a_trajectory_is_explained_term_by_term(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, run, "--step", 1, "--id", "tiny/000000")
    assert text.startswith("rl, step 1: 8 trajectories of 2 questions, mean reward ")
    filled = text.split("── ")[2]
    assert filled.startswith("tiny/000000 · main · sample 1 ─")
    table = filled[filled.index("reward ") : filled.index("right ")]
    assert [" ".join(line.split()) for line in table.splitlines()] == [
        "reward term value weight adds",
        "format 1 0.1 0.1",
        "agrees 0 2 0",
        "filled in, no verdict: the lowest of its siblings",
        "shaping -0.25 1 -0.25",
        "added by the algorithm",
        "total -0.15",
    ]
    rest = filled[filled.index("right ") :]
    assert "notes      judge said 1\n" in rest
    assert "mean 0.1833, std 0.5774 over 3 of 4 with a reward; this one is 0.3333 below the mean" in " ".join(
        rest.split()
    )


def test_the_advantage_is_the_one_that_it_was_trained_with(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = list(read_records(run / "trajectories" / "rl" / "step-000001.jsonl"))
    # Rewards of 0.1, 0.1 and 1.1 before a shaping that is the same for all: distances of 1/3 and 2/3, std 0.5774.
    expected = [(-0.57735,), (-0.57735,), (1.1547,), None] * 2
    assert [one.advantages and pytest.approx(one.advantages, abs=1e-4) for one in records] == expected
    best = shown(capsys, run, "--step", 1, "--id", "tiny/000000").split("── ")[3]
    assert "advantage  1.155\n" in best
    assert "right      yes\n" in best


def test_a_program_reads_the_same_as_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = json.loads(shown(capsys, run, "--step", 1, "--id", "tiny/000000", "--json", width=None))
    assert (said["stage"], said["step"], len(said["trajectories"])) == ("rl", 1, 4)
    filled, best, lost = said["trajectories"][1:]
    assert [(term["name"], term["adds"]) for term in filled["terms"]] == [
        ("format", 0.1),
        ("agrees", 0.0),
        ("shaping", -0.25),
    ]
    assert (best["right"], best["advantages"]) == (True, [pytest.approx(1.1547, abs=1e-4)])
    assert best["group_rewards"] == pytest.approx([-0.15, -0.15, 0.85])
    assert (lost["reward"], lost["advantages"], lost["failure"]) == (None, None, "the reward gave no verdict")


def test_what_failed_says_why_and_has_no_reward(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost = shown(capsys, run, "--id", "tiny/000001").split("── ")[4]
    assert "status     failed: the reward gave no verdict\n" in lost
    assert "reward     none: what the machine failed is never scored and teaches nothing\n" in lost
    assert "advantage  none: it was left out of training" in lost


def test_the_worst_of_the_last_step_come_first_and_failures_are_counted(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, run, "--worst", 3)
    assert text.startswith("rl, step 2: 8 trajectories of 2 questions, mean reward ")
    assert "\n2 of them failed and have no reward\nthe 3 with the lowest reward:\n" in text
    assert [line.split(" · ")[2][:8] for line in text.splitlines() if line.startswith("── ")] == [
        "sample 0",
        "sample 1",
        "sample 0",
    ]


def test_the_best_of_a_step_are_those_with_the_highest_rewards(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, run, "--best", 2)
    assert "\nthe 2 with the highest reward:\n" in text
    assert text.count("\n── ") == 2
    best, worst = (
        json.loads(shown(capsys, run, way, 1, "--json", width=None))["trajectories"] for way in ("--best", "--worst")
    )
    assert best[0]["reward"] > worst[0]["reward"]


def test_evaluations_are_explained_without_an_advantage(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, run, "--stage", "after")
    assert text.startswith("after: 2 trajectories of 2 questions, mean reward 0\nthe 2 with the lowest reward:\n")
    assert "right      no\ngroup      alone: the only trajectory of its question\n" in text
    assert "advantage" not in text


def test_of_a_run_that_only_measured_the_evaluation_is_shown(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(run, tmp_path / "measured")
    shutil.rmtree(tmp_path / "measured" / "trajectories")
    assert shown(capsys, tmp_path / "measured").startswith("after: 2 trajectories of 2 questions")


def test_it_waits_for_nothing_heavy(run: Path) -> None:
    code = (
        "import sys\n"
        "from saccade.cli import run_command\n"
        f"assert run_command(['show', {str(run)!r}]) == 0\n"
        "heavy = {'torch', 'transformers', 'gymnasium'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stderr, done.returncode) == ("", 0)


def test_what_the_run_does_not_have_is_said_with_what_it_has(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no trajectories of step 9; there are: rl, steps 1 to 2; after\n" in refused(capsys, run, "--step", 9)
    assert "evaluation 'rr'; there are: rl, steps 1 to 2; after\n" in refused(capsys, run, "--stage", "rr")
    message = refused(capsys, run, "--step", 1, "--id", "tiny/00000")
    assert "none of the 2 questions in rl, step 1 is 'tiny/00000'; there is: tiny/00000" in message
    assert "holds no run: there is no run.json" in refused(capsys, tmp_path / "nothing")


def test_a_run_of_older_records_is_refused_and_its_report_says_what_it_leaves_out(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old"
    shutil.copytree(run, old)
    for file in old.glob("*/**/*.jsonl"):
        file.write_text(file.read_text().replace('"version": 2', '"version": 1', 1))
    assert "is of record version 1, and this Saccade reads version 2" in refused(capsys, old)
    assert run_command(["report", str(old)]) == 0
    assert "is of record version 1, and this Saccade reads version 2" in (old / "report.html").read_text()


def test_the_pages_python_reads_the_same_numbers(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "why_this_reward.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "demo").symlink_to(run)
    monkeypatch.chdir(tmp_path)
    exec(compile(code.replace("step-000012", "step-000001"), "why_this_reward.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    first = next(line for line in lines if line.startswith("tiny/000000"))
    assert first.startswith("tiny/000000 -0.15 {'format': 0.1, 'agrees': 0.0, 'shaping': -0.25} (-0.57")
