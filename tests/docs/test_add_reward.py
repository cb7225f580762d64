"""The page "Add a reward": its three rewards keep the contract and pay what the page says."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from places import ROOT
from saccade.cli import run_command
from saccade.errors import MachineError
from saccade.models.checkpoint import base_checkpoint
from saccade.rewards import AnyReward, Score, Term, score_question
from saccade.runs.records import read_records
from saccade.testing import ScriptedTeacher
from saccade.types import Answer, Group, Message, Task, Trajectory, Turn

PAGE = (ROOT / "docs" / "add" / "reward.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
TASK = Task(id="t", family="f", question="Which colour?", answer="red", answer_kind="exact", images=())


@pytest.fixture(scope="module")
def my_rewards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The page's file as a module; its last block, the conformance checks, runs on import."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "my_rewards.py").write_text("\n\n".join(BLOCKS))
    sys.path.insert(0, str(folder))
    try:
        yield __import__("my_rewards")
    finally:
        sys.path.remove(str(folder))
        del sys.modules["my_rewards"]


def said(answer: str, *, thought: str = "so", sample: int = 0) -> Trajectory:
    text = f"<think>{thought}</think><answer>{answer}</answer>"
    turn = Turn(index=0, text=text, thought=thought, action=Answer(text=answer), is_well_formed=True)
    return Trajectory(
        task_id=TASK.id,
        family=TASK.family,
        stream="main",
        sample=sample,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="answered",
    )


def scores(reward: AnyReward, *trajectories: Trajectory) -> list[Score | None]:
    ((group,), _) = score_question([Group(task=TASK, stream="main", trajectories=trajectories)], reward)
    return [one.score for one in group.trajectories]


def test_words_cost_a_little(my_rewards: ModuleType) -> None:
    [short, long] = scores(my_rewards.brief, said("red"), said("red", thought="so " * 99))
    assert short == Score(terms=(Term("accuracy", 1.0), Term("length", 1 / 200, -0.2)), is_right=True)
    assert long is not None
    assert long.total == 1.0 - 0.2 * 100 / 200


def test_the_fewer_are_right_the_more_it_pays(my_rewards: ModuleType) -> None:
    found = scores(my_rewards.Rare(), said("red"), said("blue"), said("blue"), said("green"))
    assert [one and one.total for one in found] == [1.0 + 0.5 * 0.75, 0.0, 0.0, 0.0]


def test_a_judge_that_says_something_else_or_is_down_leaves_the_trajectory_out(my_rewards: ModuleType) -> None:
    def reply(messages: list[Message]) -> str:
        text = str(messages[0].parts[0])
        if "| down" in text:
            raise MachineError("the judge is down")
        return "Yes" if "| so" in text else "perhaps"

    reward = my_rewards.Judged(judge=ScriptedTeacher(reply=reply))
    found = scores(reward, said("red"), said("red", thought="well"), said("red", thought="down"))
    expected = Score(terms=(Term("accuracy", 1.0), Term("to_the_point", 1.0, 0.5)), is_right=True)
    assert found == [expected, None, None]


@pytest.mark.parametrize(("name", "terms"), [("brief", ["accuracy", "length"]), ("rare", ["accuracy", "rare"])])
def test_saccade_eval_measures_with_it_and_does_not_go_on_with_another(
    name: str, terms: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_rewards.py").write_text("\n\n".join([*BLOCKS[:3], "rare = Rare()"]))
    monkeypatch.chdir(tmp_path)
    command = ["eval", "--model", str(base_checkpoint()), "--family", "counting", "-n", "2", "--out", "run", "--quiet"]
    command += ["--reward", f"my_rewards.py:{name}", "--set", "without_tools=false"]
    assert run_command(command) == 0
    [file] = (tmp_path / "run" / "evaluations").glob("*.jsonl")
    scores = [one.trajectory.score for one in read_records(file)]
    assert [score and [term.name for term in score.terms] for score in scores] == [terms, terms]
    (tmp_path / "my_rewards.py").write_text((tmp_path / "my_rewards.py").read_text().replace("0.5)", "0.6)"))
    assert run_command([*command, "--resume"]) == 2
    assert "reward_sha256" in capsys.readouterr().err
