"""What calls returned of the evidence: in a scene, in ``saccade show`` and in the report."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from viewer_fake_run import guessing_attempt, looking_attempt, make_run, search_task

from saccade.cli import run_command
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.runs.runinfo import RunPaths
from saccade.testing.chat_server import ChatServer, chat_reply
from saccade.types import Attempt, Target
from saccade.viewer.explained import RecordedGroup, explanation
from saccade.viewer.report import write_report
from saccade.viewer.scene.parts import Identity
from saccade.viewer.scene.scene import scene_json, scene_of

WHERE = Identity(id="a", run="r", stage="rl", step=1)


@pytest.fixture
def looked() -> Attempt:
    """The crop has 10, 6, 4 and 12 pixels more than the target of 48 x 48 on its sides."""
    media = MediaStore()
    return looking_attempt(media, search_task(media, 0), "rows")


FIT = f"recall 100 %, precision {100 * 48 * 48 / (62 * 66):.1f} %: faithful"


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_turn_of_a_scene_says_what_its_call_returned(looked: Attempt) -> None:
    turns = scene_of(looked, WHERE).turns
    assert [plain(turn.outcome) for turn in turns] == [f"called crop · evidence: {FIT}", "answered"]


def test_the_veil_lies_around_what_was_returned(looked: Attempt) -> None:
    scene = scene_of(looked, WHERE)
    box = looked.task.targets[0].box
    x1, y1, x2, y2 = (int(side) for side in (box.x1 - 10, box.y1 - 6, box.x2 + 4, box.y2 + 12))
    assert [one.veil for one in scene.pictures] == [
        f"M0 0H256V{y1}H0ZM0 {y1}H{x1}V{y2}H0ZM{x2} {y1}H256V{y2}H{x2}ZM0 {y2}H256V256H0Z",
        "",
    ]
    assert "darken what no call returned" in json.dumps(scene_json(scene)["drawn"])


def test_without_a_call_there_is_neither() -> None:
    scene = scene_of(guessing_attempt(search_task(MediaStore(), 0), "rows"), WHERE)
    assert [turn.outcome for turn in scene.turns] == ["answered"]
    assert [one.veil for one in scene.pictures] == [""]
    assert "darken" not in json.dumps(scene_json(scene)["drawn"])


def test_show_says_it_below_each_call(looked: Attempt) -> None:
    text = explanation(looked, RecordedGroup(attempts=(looked,)), is_evaluation=True)
    assert [plain(line).strip() for line in text.splitlines() if "evidence" in line] == [f"evidence: {FIT}"]


def test_a_target_elsewhere_makes_the_same_call_unfaithful(looked: Attempt) -> None:
    elsewhere = Target(label="cup", box=Box(0, 0, 20, 20), point=Box(0, 0, 20, 20).center)
    missed = replace(looked, task=replace(looked.task, targets=(elsewhere,)))
    assert plain(scene_of(missed, WHERE).turns[0].outcome).endswith("recall 0 %, precision 0 %: not faithful")


def test_the_report_has_a_table_and_a_line_below_a_call(tmp_path: Path) -> None:
    root = make_run(tmp_path / "run", n=8)
    write_report(RunPaths(root=root))
    page = plain((root / "report.html").read_text())
    section = re.search(r'<section aria-labelledby="evidence">.*?</section>', page, re.DOTALL)
    assert section is not None
    assert re.findall(r'<th scope="row">(.*?)</th><td class="number">(.*?)</td>', section[0]) == [
        ("after rl", "8 of 8")
    ]
    assert '<p class="small">evidence: recall 100 %' in page
    values = json.loads((root / "report.json").read_text())
    assert '"faithful"' in json.dumps(values)


def test_a_judges_verdicts_on_pictures_stay_with_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    root = make_run(tmp_path / "run", n=8)
    assert run_command(["report", str(root), "--evidence"]) == 2
    assert "--evidence needs a judge" in capsys.readouterr().err
    with ChatServer(lambda _: chat_reply("YES")) as server:
        assert run_command(["report", str(root), "--judge", server.url, "--judge-model", "big", "--evidence"]) == 0
        assert {json.dumps(one.body).count("data:image") for one in server.received} == {1}
    assert "Judged: 8 calls that gave a picture" in capsys.readouterr().out
    values = json.loads((root / "report.json").read_text())["judged_evidence"]["after_rl"]
    assert (values["faithful"]["mean"], values["faithful"]["n"], values["no_verdict"]) == (1.0, 8, 0)
    assert "evidence by big at http" in (root / "report.html").read_text()
    kept = root / "evidence.json"
    kept.write_text(kept.read_text().replace("true", '"yes"', 1))
    write_report(RunPaths(root=root))
    assert "evidence.json cannot be read" in (root / "report.html").read_text()
