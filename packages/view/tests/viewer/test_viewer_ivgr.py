"""The report of a run in two streams, from records made by the real writers; numbers counted by hand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest
from viewer_fake_run import make_run, search_task

from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.runs.directory import RunDirectory
from saccade.runs.metrics import MetricsWriter
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths
from saccade.types import Answer, Attempt, BoxMention, Json, Score, Task, Term, Trajectory, Turn
from saccade.viewer.examples import example_view
from saccade.viewer.pictures import Album
from saccade.viewer.report import write_report
from saccade.viewer.two_streams import read_two_streams

STEPS = 8
MEDIA = MediaStore()
FAR = Box(0, 0, 8, 8)


def attempt(
    task: Task,
    stream: str,
    parts: Mapping[str, float],
    notes: Mapping[str, float] | None = None,
    *,
    boxes: Sequence[BoxMention] = (),
) -> Attempt:
    answer = task.answer if parts.get("accuracy") else "nothing"
    turn = Turn(
        index=0,
        text=f"<think>so</think><answer>{answer}</answer>",
        thought="so",
        action=Answer(text=answer),
        is_well_formed=True,
        boxes=tuple(boxes),
    )
    trajectory = Trajectory(
        task_id=task.id,
        family=task.family,
        stream=stream,
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="answered",
        score=Score(
            terms=tuple(Term(name, value) for name, value in parts.items()),
            is_right=bool(parts.get("accuracy")),
            notes=notes or {},
        ),
    )
    return Attempt(task=task, trajectory=trajectory)


def boxed(task: Task, box: Box, *, right: bool, stream: str = "grounded") -> Attempt:
    mention = BoxMention(text="1,2,3,4", box=box)
    return attempt(task, stream, {"accuracy": float(right), "box": 0.4}, boxes=[mention])


def plain(task: Task, consistency: float | None, *, right: bool, stream: str = "textual", **notes: float) -> Attempt:
    agreement = {} if consistency is None else {"consistency": consistency}
    return attempt(task, stream, {"accuracy": float(right), **agreement}, notes)


def step_of(step: int) -> list[Attempt]:
    """Two questions, grounded and textual; the second one's boxes fit from step 7 on."""
    first, second = search_task(MEDIA, 0), search_task(MEDIA, 1)
    fits = second.targets[0].box if step > 6 else FAR
    judged = {"reference": 1.0, "from_archive": float(step > 4), "judge_attack": 0.0}
    return [
        boxed(first, FAR, right=False),
        boxed(second, fits, right=True),
        plain(first, 1.0, right=True, no_verdict=0.0, **judged),
        plain(first, 0.3, right=False, no_verdict=0.0, **judged),
        plain(first, None, right=True, no_verdict=float(step == 3), **judged),
        plain(second, None, right=True, reference=0.0),
    ]


def write_steps(
    root: Path, steps: Mapping[int, Sequence[Attempt]], evaluations: Mapping[str, Sequence[Attempt]]
) -> Path:
    with RunDirectory.create(root, resume=False, settings={}) as run:
        with MetricsWriter.open(run.paths.metrics, stages=("rl", *evaluations)) as metrics:
            for step, attempts in steps.items():
                position = Position(stage="rl", step=step)
                metrics.write(position, {"reward/mean": 1.0})
                write_records(
                    run.paths.trajectories(position), position, attempts, media=MEDIA, media_directory=run.paths.media
                )
            for name, attempts in evaluations.items():
                position = Position(stage=name, step=1)
                if not name.endswith("first_pass"):
                    metrics.write(position, {"reward/mean": 1.0})
                write_records(
                    run.paths.evaluation(name), position, attempts, media=MEDIA, media_directory=run.paths.media
                )
        run.finish("finished")
    return root


def reported(root: Path) -> tuple[dict[str, Json], str]:
    write_report(RunPaths(root=root))
    return json.loads((root / "report.json").read_text()), (root / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Json], str]:
    steps = {step: step_of(step) for step in range(1, STEPS + 1)}
    return reported(write_steps(tmp_path_factory.mktemp("ivgr") / "run", steps, {}))


def test_a_run_ends_with_how_well_words_agree_with_boxes(tmp_path: Path) -> None:
    steps = {step: step_of(step) for step in range(1, STEPS + 1)}
    root = write_steps(tmp_path / "run", steps, {"after_rl": [boxed(search_task(MEDIA, 2), FAR, right=True)]})
    line = "rl, last 2 steps: words agree with boxes by 0.65 of 1 (wholly in 100 % of right answers), 50 % of the "
    assert [one.replace("\N{NO-BREAK SPACE}", " ") for one in write_report(RunPaths(root=root))] == [
        f"{line}questions had a reference"
    ]
    unasked = write_steps(tmp_path / "unasked", {1: [plain(search_task(MEDIA, 0), None, right=True)]}, {})
    assert write_report(RunPaths(root=unasked)) == []


def test_the_curves_of_both_streams_are_drawn(run: tuple[dict[str, Json], str]) -> None:
    _, page = run
    for title in ("Both streams", "Agreement where the answer is right", "Agreement where the answer is wrong"):
        assert f"<b>{title}</b>" in page
    for point in (
        "grounded: right, step 8: 50\N{NO-BREAK SPACE}%",
        "grounded: box reward, step 8: 40\N{NO-BREAK SPACE}%",
        "textual: right, step 8: 75\N{NO-BREAK SPACE}%",
        "textual: agreement, step 8: 65\N{NO-BREAK SPACE}%",
        # Right answers all have 1.0, wrong ones 0.3.
        "1.0, step 8: 100\N{NO-BREAK SPACE}%",
        "1.0, step 8: 0\N{NO-BREAK SPACE}%",
        "0.3, step 8: 0\N{NO-BREAK SPACE}%",
        "0.3, step 8: 100\N{NO-BREAK SPACE}%",
        "has a reference, step 8: 50\N{NO-BREAK SPACE}%",
        "of these from the archive, step 4: 0\N{NO-BREAK SPACE}%",
        "of these from the archive, step 5: 100\N{NO-BREAK SPACE}%",
        "asked, no verdict, step 3: 1",
        "speaks to the judge, step 3: 0",
    ):
        assert f"<title>{point}</title>" in page, point


def test_verdicts_and_those_that_were_not_given_are_counted(run: tuple[dict[str, Json], str]) -> None:
    _, page = run
    assert (
        "In 8 steps the judge was asked about 24 textual trajectories and gave no verdict on 1 (4.2\N{NO-BREAK SPACE}%)"
        in page
    )
    assert '<th scope="row">1.0</th><td class="number">8 (100\N{NO-BREAK SPACE}%)</td>' in page
    assert (
        '<th scope="row">0.3</th><td class="number">0 (0\N{NO-BREAK SPACE}%)</td>'
        '<td class="number">8 (100\N{NO-BREAK SPACE}%)</td>' in page
    )


def test_the_numbers_of_every_step_are_there_for_programs(run: tuple[dict[str, Json], str]) -> None:
    report, _ = run
    [stage] = report["two_streams"]
    assert (stage["stage"], stage["steps_on_disk"], len(stage["steps"])) == ("rl", STEPS, STEPS)
    third = stage["steps"][2]
    assert (third["step"], third["questions"], third["with_reference"], third["from_archive"]) == (3, 2, 1, 0)
    assert (third["asked"], third["no_verdict"], third["attacks"]) == (3, 1, 0)
    assert third["right"] == {"1.0": 1, "0.7": 0, "0.3": 0, "0.0": 0}


def test_answers_by_iou_are_of_the_last_quarter_of_the_training(run: tuple[dict[str, Json], str]) -> None:
    report, page = run
    [stage] = report["two_streams"]
    assert stage["iou_from_step"] == 7
    # Of two steps: the first question's boxes meet nothing, the second one's fit.
    grounded, textual = stage["grounded_by_iou"], stage["textual_by_iou"]
    assert [(one["low"], one["n"], one["accuracy"]) for one in grounded if one["n"]] == [(0.0, 2, 0.0), (0.7, 2, 1.0)]
    assert [(one["low"], one["n"], one["accuracy"]) for one in textual if one["n"]] == [(0.0, 6, 2 / 3), (0.7, 2, 1.0)]
    assert "<b>rl, steps 7 to 8, grounded</b>" in page
    assert report["by_iou"][0]["words_of"] == "rl, steps 7 to 8, textual"


def test_the_examples_of_each_stream_stand_apart(run: tuple[dict[str, Json], str]) -> None:
    _, page = run
    assert "training trajectories of step 8, grounded stream" in page
    assert "training trajectories of step 8, textual stream" in page
    assert '<span class="part noted">from archive 1</span>' in page


def test_a_run_in_one_stream_shows_what_that_stream_has(tmp_path: Path) -> None:
    only = [one for one in step_of(8) if one.trajectory.stream == "grounded"]
    report, page = reported(write_steps(tmp_path / "run", {1: only}, {}))
    assert "grounded: box reward, step 1" in page
    assert "<b>Agreement where" not in page
    assert "<b>Archive</b>" not in page
    assert "In 1 step no judge was asked." in page
    assert "training trajectories of step 1<" in page
    [stage] = report["two_streams"]
    assert (len(stage["grounded_by_iou"]), stage["textual_by_iou"]) == (5, [])


def test_where_nobody_called_a_tool_the_page_says_nothing_of_tools(run: tuple[dict[str, Json], str]) -> None:
    _, page = run
    for words in ("tool used in", "Tool used", "Answered without a call", "Calls where questions are hard"):
        assert words not in page


def test_a_run_without_these_streams_has_no_such_section(tmp_path: Path) -> None:
    report, page = reported(make_run(tmp_path / "run", n=8))
    assert (report["two_streams"], report["by_iou"]) == ([], [])
    assert 'id="streams"' not in page
    assert 'class="swatch named"' not in page


def test_boxes_of_an_evaluation_stand_beside_words_and_a_first_pass_beside_its_second(tmp_path: Path) -> None:
    tasks = [search_task(MEDIA, index) for index in range(4)]

    def looking(stream: str = "evaluation") -> list[Attempt]:
        return [boxed(task, task.targets[0].box, right=index > 0, stream=stream) for index, task in enumerate(tasks)]

    def saying(right: int) -> list[Attempt]:
        return [plain(task, None, right=index < right, stream="evaluation") for index, task in enumerate(tasks)]

    evaluations = {
        "words": saying(1),
        "boxes": looking(),
        "words_again": saying(2),
        "crops_first_pass": looking("first_pass"),
        "crops": saying(4),
        "elsewhere": [plain(search_task(MEDIA, 9), None, right=True, stream="evaluation")],
    }
    report, page = reported(write_steps(tmp_path / "run", {}, evaluations))
    assert [stage["name"] for stage in report["stages"]] == list(evaluations)
    assert report["stages"][1]["grounding"]["iou"] == 1.0
    assert "grounding" not in report["stages"][0]
    boxes, first_pass = report["by_iou"]
    assert (boxes["boxes_of"], boxes["words_of"]) == ("boxes", "words")
    assert [(one["n"], one["accuracy"]) for one in boxes["boxes"]][-1] == (4, 0.75)
    assert [(one["n"], one["accuracy"]) for one in boxes["words"]][-1] == (4, 0.25)
    assert (first_pass["boxes_of"], first_pass["words_of"]) == ("crops_first_pass", "crops")
    assert [(one["n"], one["accuracy"]) for one in first_pass["words"]][-1] == (4, 1.0)
    assert "1.00 a question, none in 0\N{NO-BREAK SPACE}%, mIoU 1.000, IoU both ways 1.000" in page
    assert page.count('<div class="card">') == 5
    story = page.split('<p class="story">')[1].split("</p>")[0]
    assert "100\N{NO-BREAK SPACE}% crops" in story
    assert "first pass" not in story


def test_boxes_are_drawn_on_the_picture_with_what_became_of_them(tmp_path: Path) -> None:
    task = search_task(MEDIA, 0)
    target = task.targets[0].box
    half = Box(target.x1, target.y1, target.x2, target.y1 + target.height / 2)
    boxes = [half, FAR, None, Box(9, 9, 3, 3), Box(900, 900, 990, 990)]
    mentions = [BoxMention(text="<b>?</b>" if box is None else "[]", box=box) for box in boxes]
    MEDIA.export(task.images[0], tmp_path)
    view = example_view(attempt(task, "grounded", {"accuracy": 1.0}, boxes=mentions), Album(directory=tmp_path))
    assert view.turns[0].boxes == (
        "box 1: IoU 0.50 with red plate",
        "box 2: meets no target",
        "box 3: could not be read: <b>?</b>",
        "box 4: inverted or empty",
        "box 5: outside of the image",
    )
    [figure] = view.figures
    rectangle = f'<rect class="named" x="{half.x1:g}" y="{half.y1:g}" width="{half.width:g}" height="{half.height:g}">'
    assert f"{rectangle}<title>box 1: IoU 0.50 with red plate</title></rect>" in figure
    assert figure.count('<rect class="named"') == 2
    assert figure.count('<rect class="target"') == 1
    assert ">1</text>" in figure
    assert ">2</text>" in figure


def test_a_box_on_a_question_without_targets_is_drawn_all_the_same(tmp_path: Path) -> None:
    task = replace(search_task(MEDIA, 0), targets=())
    one = attempt(task, "grounded", {"accuracy": 1.0}, boxes=[BoxMention(text="", box=FAR)])
    MEDIA.export(task.images[0], tmp_path)
    view = example_view(one, Album(directory=tmp_path))
    assert view.turns[0].boxes == ("box 1: the question has no target",)
    assert '<rect class="named"' in view.figures[0]


def test_what_a_model_writes_between_box_tags_cannot_leave_the_page_s_text(tmp_path: Path) -> None:
    attack = "</li><script>alert(1)</script>"
    one = attempt(search_task(MEDIA, 0), "grounded", {"accuracy": 1.0}, boxes=[BoxMention(text=attack, box=None)])
    _, page = reported(write_steps(tmp_path / "run", {1: [one]}, {}))
    assert "<script>alert" not in page
    assert escape(attack, quote=False) in page


def test_long_records_are_read_at_evenly_spaced_steps_and_the_page_says_so(tmp_path: Path) -> None:
    root = write_steps(tmp_path / "run", {step: step_of(step) for step in range(1, STEPS + 1)}, {})
    directory = root / "trajectories" / "rl"
    total = sum(path.stat().st_size for path in directory.iterdir())
    notes: list[str] = []
    found = read_two_streams(directory, notes.append, max_bytes=total // 3)
    assert found is not None
    assert [step.step for step in found.steps] == [4, 8]
    assert found.steps_on_disk == STEPS
    assert notes == []


@pytest.mark.parametrize("broken", [2, 3])
def test_a_broken_step_becomes_one_note_and_the_others_count(tmp_path: Path, broken: int) -> None:
    root = write_steps(tmp_path / "run", {step: step_of(step) for step in range(1, 4)}, {})
    name = f"step-{broken:06d}.jsonl"
    torn = root / "trajectories" / "rl" / name
    torn.write_bytes(torn.read_bytes()[:-50])
    report, page = reported(root)
    assert [step["step"] for step in report["two_streams"][0]["steps"]] == [1, 2, 3][: broken - 1] + [3][: 3 - broken]
    assert [name in note for note in report["notes"]] == [True]
    assert name in page


def test_a_stage_without_records_has_no_numbers(tmp_path: Path) -> None:
    assert read_two_streams(tmp_path / "nowhere", print) is None
