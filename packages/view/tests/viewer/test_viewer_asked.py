"""What a report says of how it was asked: comparisons, what is held out, errors with tools and the tool mix."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from viewer_fake_run import SETTINGS, guessing_attempt, looking_attempt, search_task

from saccade.cli import run_command
from saccade.evaluation.summary import summarise
from saccade.media.store import MediaStore
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.asking import AskedIn, ToolRecord, Way, open_asked
from saccade.runs.directory import RunDirectory
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths
from saccade.runs.trained_on import Novelty
from saccade.testing.chat_server import ChatServer, chat_reply
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.types import Attempt, ToolCall, Turn
from saccade.viewer.evidence import Evaluation, collect
from saccade.viewer.story import comparisons_of, novelty_sentences
from saccade.viewer.tool_section import tool_usages

NEW = Novelty(questions=4, trained_on=0, on_trained_pictures=0, is_history_known=True)
WORDS = Way(
    protocol="textual",
    is_known=True,
    style="brief",
    box_form="lenient",
    tools=(),
    max_turns=1,
    states_turns=False,
    rollout=RolloutSettings(),
    system="words",
)
BOXES = replace(WORDS, protocol="grounded", system="boxes")
CROPS = replace(WORDS, protocol="tagged", max_turns=3, tools=(ToolRecord(spec=tool_from(crop).spec, origin={}),))


def evaluation(name: str, attempts: Sequence[Attempt], *, version: int, asked: AskedIn | None) -> Evaluation:
    of_version = [replace(one, trajectory=replace(one.trajectory, policy_version=version)) for one in attempts]
    summary = summarise(name, [(one.task, one.trajectory) for one in of_version])
    return Evaluation(name=name, summary=summary, attempts=tuple(of_version), asked=asked)


def test_after_is_compared_with_before_boxes_with_words_and_views_with_none() -> None:
    media = MediaStore()
    tasks = [search_task(media, index) for index in range(4)]
    wrong = [guessing_attempt(task, "nothing") for task in tasks]
    words, boxes = AskedIn(way=WORDS, novelty=NEW), AskedIn(way=BOXES, novelty=NEW)
    seen = {when: replace(words, views=("crops",), first_pass=f"{when}_grounded") for when in ("before", "after")}
    made = [
        evaluation("start", wrong, version=0, asked=words),
        *(
            evaluation(f"{when}_{kind}", wrong, version=version, asked=asked)
            for version, when in ((5, "before"), (9, "after"))
            for kind, asked in (("textual", words), ("grounded", boxes), ("crops", seen[when]))
        ),
    ]
    assert [(one.what, one.after, one.before) for one in comparisons_of(made)] == [
        ("training", "before_textual", "start"),
        ("asking", "before_grounded", "before_textual"),
        ("asking", "before_crops", "before_textual"),
        ("training", "after_textual", "before_textual"),
        ("training", "after_textual", "start"),
        ("training", "after_grounded", "before_grounded"),
        ("asking", "after_grounded", "after_textual"),
        ("training", "after_crops", "before_crops"),
        ("asking", "after_crops", "after_textual"),
    ]


def test_a_report_says_held_out_only_where_it_is_known() -> None:
    media = MediaStore()
    attempts = [guessing_attempt(search_task(media, 0), "nothing")]
    seen = replace(NEW, trained_on=1, on_trained_pictures=2)
    asked = [
        evaluation("new", attempts, version=0, asked=AskedIn(way=WORDS, novelty=NEW)),
        evaluation("seen", attempts, version=0, asked=AskedIn(way=WORDS, novelty=seen)),
        evaluation("open", attempts, version=0, asked=AskedIn(way=WORDS, novelty=replace(NEW, is_history_known=False))),
        evaluation("old", attempts, version=0, asked=None),
    ]
    assert novelty_sentences(asked) == [
        "new: held out: neither the questions nor their pictures were trained on.",
        "seen: not held out: of the questions 1 of 4 were trained on and 2 more show pictures that were.",
        "open: what the first checkpoint was trained on is not known; none of it in this run.",
        "old: this run did not record whether the model was trained on the questions.",
    ]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Four questions with a crop: one right, one wrong, one without a call, one with a call that is refused."""
    media, root = MediaStore(), tmp_path / "run"
    tasks = [search_task(media, index) for index in range(4)]
    refused = Turn(
        index=0, text="", thought="", action=ToolCall(name="crop", arguments={"box": [1, 2]}), is_well_formed=True
    )
    refused = replace(refused, observation=looking_attempt(media, tasks[3], "none").trajectory.turns[0].observation)
    last = guessing_attempt(tasks[3], "none")
    attempts = [
        looking_attempt(media, tasks[0], tasks[0].answer),
        looking_attempt(media, tasks[1], "checks" if tasks[1].answer != "checks" else "rows"),
        guessing_attempt(tasks[2], "none"),
        replace(last, trajectory=replace(last.trajectory, turns=(refused, *last.trajectory.turns))),
    ]
    with RunDirectory.create(root, resume=False, settings=SETTINGS, title="tools") as opened:
        file = open_asked(opened.paths.asked, remarks=("It is asked so.",), streams={})
        file.evaluated("with_tools", AskedIn(way=CROPS, novelty=replace(NEW, trained_on=2)))
        position = Position(stage="with_tools", step=1)
        write_records(
            opened.paths.evaluation("with_tools"),
            position,
            attempts,
            media=media,
            media_directory=opened.paths.media,
        )
        opened.finish("finished")
    return root


def test_the_page_shows_errors_and_the_tool_mix_and_no_held_out_for_what_was_trained_on(run: Path) -> None:
    assert run_command(["report", str(run)]) == 0
    [tools] = json.loads((run / "report.json").read_text())["tools"]
    assert (tools["errors"]["wrong"], tools["errors"]["of_wrong"]) == (3, {"E1": 0, "E2": 1, "E3": 0, "E5": 0})
    assert tools["mix"]["families"]["visual_search"]["calls"] == {"crop": 2, "refused": 1}
    page = (run / "report.html").read_text()
    for said in (
        "not judged",
        "crop 2 (66.7",
        "refused 1 (33.3",
        "It is asked so.",
        "asked: tagged with crop, 3 turns",
    ):
        assert said in page
    assert "2 of 4 were trained on" in page
    assert "held-out" not in page


def test_a_judge_is_given_to_the_report_and_its_verdicts_stay(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with ChatServer(lambda _: chat_reply("REASONING")) as server:
        command = ["report", str(run), "--judge", server.url, "--judge-model", "big"]
        assert run_command(command) == 0
    assert run_command(["report", str(run)]) == 0
    [usage] = tool_usages(collect(RunPaths(root=run)))
    assert usage.errors is not None
    assert (usage.errors.of_wrong["E4"], usage.errors.of_wrong["E6"], usage.errors.judged) == (0, 1, 1)
    assert f"big at {server.url} judged 1 wrong trajectories" in (run / "report.html").read_text()
    path = run / "evaluations" / "with_tools.jsonl"
    path.write_bytes(path.read_bytes() + b"\n")
    assert tool_usages(collect(RunPaths(root=run)))[0].judge is None, "verdicts on other trajectories are none"
