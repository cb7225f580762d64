"""Lines that a run's command ends with."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from saccade.cli import closing_lines
from saccade.cli.closing_lines import tell
from saccade.evaluation.statistics import share_right
from saccade.evaluation.summary import StageSummary
from saccade.rewards import OutcomeReward
from saccade.rollout import RolloutSettings
from saccade.tools import IMAGE_TOOLS
from saccade.train import EpisodeSpec, Evaluate, Plan

SUMMARY = StageSummary(
    name="after_rl",
    overall=share_right([True, False]),
    families={},
    tool_rate=0.0,
    turns_mean=1.0,
    format_rate=1.0,
    reward_mean=0.5,
)


def told(out: Path, capsys: pytest.CaptureFixture[str], *, offers: bool) -> list[str]:
    episodes = EpisodeSpec(tools=IMAGE_TOOLS if offers else (), rollout=RolloutSettings())
    stage = Evaluate(name="after_rl", tasks=list, episodes=episodes, reward=OutcomeReward())
    tell({"after_rl": SUMMARY}, cast(Plan, SimpleNamespace(remarks=(), stages=(stage,))), out)
    return capsys.readouterr().out.splitlines()


def test_sections_have_the_last_word_and_tools_are_spoken_of_where_some_were_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = ["rl: words agree with boxes by 0.65\N{NO-BREAK SPACE}of 1"]
    monkeypatch.setattr(closing_lines, "draw_report", lambda _: drawn)
    right, *lines = told(tmp_path, capsys, offers=False)
    assert right == "after_rl: 50.0% right (9.5% to 90.5%, 2 tasks)"
    assert lines == ["rl: words agree with boxes by 0.65 of 1", f"Report: {tmp_path / 'report.html'}"]
    assert told(tmp_path, capsys, offers=True)[0] == f"{right}, tool used in 0%"
    monkeypatch.setattr(closing_lines, "draw_report", lambda _: None)
    assert told(tmp_path, capsys, offers=False) == [right]
