"""Lang2Act in a report: the toolbox as it grew, chains beside their pages, and why pages were found."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from lang2act_samples import READ, REWARD, said
from PIL import Image
from test_viewer_report import Page, page_of

from saccade.cli import run_command
from saccade.curation.linguistic_tools import CuratedTools, RefusedTool, ToolSet
from saccade.media.store import MediaStore
from saccade.protocols import ChainCall, LinguisticTool
from saccade.runs.directory import RunDirectory
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths
from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply
from saccade.testing.tiny_specialists import save_tiny
from saccade.types import Attempt, Observation, Task, ToolCall, Trajectory, Turn
from saccade.types import Page as DocumentPage
from saccade.viewer.chain_views import chain_view
from saccade.viewer.pictures import Album
from saccade.viewer.toolbox_section import toolbox_view
from saccade.viewer.why_record import read_why, searches_of

EVIL = "<script>evil()</script><img src=x onerror=evil()>"
MEDIA = MediaStore()
PAGES = tuple(MEDIA.add(Image.new("RGB", (64, 48), color)) for color in ("red", "blue", "green"))
NAMES = tuple(DocumentPage(document=f"{EVIL}.pdf", number=number) for number in (1, 2, 3))
TASK = Task(
    id="t",
    family="f",
    question=f"Which plate is red? {EVIL}",
    answer="plate 7",
    answer_kind="exact",
    images=PAGES,
    shown_pages=NAMES,
    gold_pages=NAMES[1:2],
    document=f"{EVIL}.pdf",
)


def scored(trajectory: Trajectory, task: Task = TASK) -> Attempt:
    trajectory = replace(trajectory, task_id=task.id, family=task.family)
    return Attempt(task=task, trajectory=replace(trajectory, score=asyncio.run(REWARD(task, trajectory))))


def one_set(number: int, *names: str, refused: tuple[RefusedTool, ...] = ()) -> ToolSet:
    return ToolSet(
        trajectory=f"q{number}",
        tools=tuple(LinguisticTool(name, f"To {name}.", args="Image k: x") for name in names),
        calls=tuple(ChainCall(name=name, args="Image 1: x", finding="y") for name in names),
        refused=refused,
        asked=2,
    )


CURATED = CuratedTools(
    sets=(
        one_set(1, "read"),
        one_set(2, "read", "find", refused=(RefusedTool(EVIL, "undefined"), RefusedTool("b", "undefined"))),
        ToolSet(trajectory="q3", status="cut_off", asked=3),
        one_set(4, "find", "read", "guess", refused=(RefusedTool("c", "empty"),)),
    ),
    k=2,
)


def test_a_toolbox_is_shown_as_it_grew() -> None:
    view = toolbox_view("tools", CURATED)
    assert [(row.name, row.is_in_box, row.trajectories, row.first, row.first_id) for row in view.rows] == [
        ("read", True, "3", "1 of 4", "q1"),
        ("find", True, "2", "2 of 4", "q2"),
        ("guess", False, "1", "4 of 4", "q4"),
    ]
    assert view.rows[1].first_use == 'call 2 of 2: <tool name="find" args="Image 1: x">y</tool>'
    assert [row.covered.replace("\N{NO-BREAK SPACE}", " ") for row in view.rows] == ["50 %", "83.3 %", "100 %"]
    assert view.sentences[0].replace("\N{NO-BREAK SPACE}", " ") == (
        "2 of the 3 tools that were named, which have 83.3 % of all uses. They rest on 3 of 4 right trajectories, "
        "curated one after the other in 9 requests."
    )
    assert view.sentences[1] == "Skipped, no reply came to its end: 1."
    assert "fewer than 100" in view.rests_on_few
    assert [(count, why) for count, why, _ in view.refused] == [
        ("2", "used, and nowhere defined"),
        ("1", "a use that says nothing of what it found"),
    ]
    assert view.refused[0][2].endswith(", b; first in q2")


def test_a_curation_that_named_nothing_is_shown_too() -> None:
    view = toolbox_view("tools", CuratedTools(sets=(ToolSet(trajectory="q1", status="no_reply", asked=3),), k=2))
    assert (view.rows, view.refused) == ((), ())
    assert "the curator's machine failed each time" in view.sentences[1]


@pytest.mark.parametrize(
    ("description", "error", "note"),
    [
        (READ, "", ""),
        (READ.replace("2:", "7:"), "page", "there is no image 7 among 3"),
        (READ.replace("read_cell", "zoom"), "tool not contained", ""),
        ('<tool name="compute_difference" args="7, 8">7, 8</tool>', "", "names no image; only says question or argum"),
    ],
)
def test_each_call_stands_beside_the_page_that_it_names(
    description: str, error: str, note: str, tmp_path: Path
) -> None:
    attempt = scored(said(description))
    view = chain_view(attempt.trajectory.turns[0], attempt, PAGES, Album(directory=tmp_path))
    assert view is not None
    [call] = view.calls
    assert (view.error, call.note[:43]) == (error, note)
    assert len(call.figures) == (not note)
    assert view.chosen == "image 2"


def test_only_the_first_calls_of_a_long_chain_are_drawn_and_trajectories_without_chains_have_none(
    tmp_path: Path,
) -> None:
    attempt = scored(said(READ * 50))
    album = Album(directory=tmp_path)
    view = chain_view(attempt.trajectory.turns[0], attempt, PAGES, album)
    assert view is not None
    assert (len(view.calls), view.calls_left_out) == (16, 34)
    unread = replace(attempt, trajectory=replace(attempt.trajectory, score=None))
    assert chain_view(unread.trajectory.turns[0], unread, PAGES, album) is None


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run") / "run"
    hostile = READ.replace("it says 7", f"</p>{EVIL}").replace("row 1", EVIL.replace(">", ")").replace("<", "("))
    with RunDirectory.create(root, resume=False, settings={"recipe": {"encoder": None}}) as directory:
        attempts = [scored(said()), scored(said(hostile), replace(TASK, id="u")), scored(said(READ + READ + "</tool>"))]
        path = directory.paths.evaluation("after")
        write_records(path, Position(stage="after", step=1), attempts, media=MEDIA, media_directory=root / "media")
        (directory.paths.derived / "tools.json").write_text(json.dumps(CURATED.to_json()), encoding="utf-8")
        (directory.paths.derived / "other.json").write_text('{"threshold": 1}', encoding="utf-8")
        directory.finish("finished")
    return root


def assert_harmless(page: Page) -> None:
    assert page.foreign_scripts == page.count("img") == 0
    assert not [name for _, found in page.tags for name in found if name.startswith("on")]
    assert "evil()" in page.text


def test_the_report_has_toolbox_chains_and_pages_and_nothing_in_it_runs(run: Path) -> None:
    page = page_of(run)
    assert_harmless(page)
    assert page.count("tr", class_="kept") == 2
    assert page.count("tr", class_="left-out") == 1
    assert page.count("div", class_="chain") == 3
    assert "chain not valid, format: </tool> closes nothing" in page.text
    assert "image 2: <script>evil()</script><img src=x onerror=evil()>.pdf#2, a gold page" in page.text
    assert "--why ENCODER" in page.text
    toolboxes = json.loads((run / "report.json").read_text(encoding="utf-8"))["toolboxes"]
    assert [(one["name"], one["k"], one["rests_on"]) for one in toolboxes] == [("tools", 2, 3)]


def test_a_toolbox_that_cannot_be_read_is_a_note(run: Path) -> None:
    broken = run / "derived" / "broken.json"
    broken.write_text('{"curation": {"k": 1}}', encoding="utf-8")
    page = page_of(run)
    broken.unlink()
    assert "broken.json is no curation of linguistic tools" in page.text
    assert page.count("tr", class_="kept") == 2


def test_an_encoder_says_why_the_pages_were_found(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder = save_tiny("colqwen2", tmp_path / "encoder")
    assert run_command(["report", str(run), "--why", "run"]) == 2
    assert "name no encoder of pages" in capsys.readouterr().err
    assert run_command(["report", str(run), "--why", str(encoder)]) == 0
    assert "Explained: the pages of 1 questions" in capsys.readouterr().out
    page = page_of(run)
    assert_harmless(page)
    assert page.count("div", class_="found") == 3
    assert page.count("rect", class_="heat") > 0
    record = read_why(RunPaths(root=run))
    assert record is not None
    assert record.encoder.startswith("colqwen2:")
    assert {image for _, image in record.matches} == {image.hash for image in PAGES}
    assert {question for question, _ in record.matches} == {TASK.question}
    (run / "why.json").write_text('{"version": 1, "encoder": "e", "questions": [{"question": 1}]}', encoding="utf-8")
    assert "why.json cannot be read" in page_of(run).text
    (run / "why.json").unlink()


def test_a_judges_stars_stay_with_the_run_and_a_judge_out_of_form_is_no_verdict(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert run_command(["report", str(run), "--stars", "text"]) == 2
    assert "needs a judge" in capsys.readouterr().err

    def judge(received: Received) -> Served:
        is_hostile = "evil()</p>" in json.dumps(received.body) or "‹/p›" in json.dumps(
            received.body, ensure_ascii=False
        )
        return chat_reply("all five" if is_hostile else "COHERENCE: 4\nFAITHFULNESS: 3\nAGREEMENT: 5")

    for stars, pictures in (("text", 0), ("pages", 3)):
        with ChatServer(judge) as server:
            command = ["report", str(run), "--judge", server.url, "--judge-model", "big", "--stars", stars]
            assert run_command(command) == 0
            assert "Judged: 2 responses have stars" in capsys.readouterr().out
            assert {json.dumps(one.body).count("data:image") for one in server.received} == {pictures}
        values = json.loads((run / "report.json").read_text(encoding="utf-8"))["stars"]["after"]
        assert values == {
            "coherence": 4.0,
            "faithfulness": 3.0,
            "agreement": 5.0,
            "judged": 2,
            "no_verdict": 1,
            "attacks": 0,
        }
    text = page_of(run).text
    assert "stars: coherence 4.00, faithfulness 3.00, agreement 5.00 of 5, by big at http" in text
    assert "2 judged, 1 without a verdict" in text
    (run / "stars.json").write_text((run / "stars.json").read_text().replace("3.0", "0.0"), encoding="utf-8")
    assert "stars.json cannot be read: [4.0, 0.0, 5.0] is no verdict in stars" in page_of(run).text
    (run / "stars.json").unlink()


def test_searches_of_a_trajectory_are_its_questions_and_its_calls() -> None:
    assert searches_of(scored(said())) == [(TASK.question, PAGES)]
    assert searches_of(scored(said(), replace(TASK, shown_pages=()))) == []
    call = ToolCall(name="search_pages", arguments={"query": "red plates"})
    found = Turn(
        index=0,
        text="",
        thought="",
        action=call,
        is_well_formed=True,
        observation=Observation(text="", images=PAGES[:1]),
    )
    alone = replace(TASK, images=(), shown_pages=())
    searching = replace(said(), turns=(found, replace(found, observation=Observation(text="nothing new")), found))
    assert searches_of(Attempt(task=alone, trajectory=searching)) == [("red plates", PAGES[:1])] * 2
