"""Rows in the forms of published data sets, trained on with a policy that is right in half of its answers."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image, ImageDraw

from saccade.cli import run_command
from saccade.runs.records import read_records

RECIPE = Path(__file__).with_name("half_right.py")
SETTINGS = (
    "sft.steps=0 rl.steps=2 rl.tasks_per_step=6 rl.group_size=2 max_turns=1 with_tools=false model.dtype=bfloat16 "
    "rollout.max_turn_tokens=300 rollout.max_tokens=3000 reward.format_weight=0"
)
PLACES = ((0, 0), (72, 0), (0, 48), (72, 48), (24, 0), (24, 48), (0, 16), (72, 16))
"""Upper left corners of the drawn patch of 24 x 16 px in a picture of 96 x 64 px: whole numbers of thousandths."""


def png(place: tuple[int, int]) -> bytes:
    picture = Image.new("RGB", (96, 64), "white")
    x, y = place
    ImageDraw.Draw(picture).rectangle((x, y, x + 23, y + 15), fill="red")
    raw = io.BytesIO()
    picture.save(raw, "PNG")
    return raw.getvalue()


def embedded(number: int) -> dict[str, object]:
    return {"bytes": png(PLACES[number]), "path": None}


Row = tuple[dict[str, object], str, str, str]
"""A row, its question as it is asked, and a right and a wrong reply."""


def geometry3k(number: int) -> Row:
    gold, right, wrong = (
        ("20", "x = 20", "21"),
        ("2 \\sqrt { 221 }", "\\boxed{2\\sqrt{221}}", "2\\sqrt{212}"),
        ("\\frac { 3 } { 4 }", "0.75", "\\frac{4}{3}"),
        ("32.5", "32.50", "32.6"),
        ("10 \\sqrt { 3 }", "10√3", "10√2"),
        ("48", "48^\\circ", "84°"),
        ("4 \\pi - 8", "$4\\pi-8$", "4\\pi+8"),
        ("\\sqrt { 117 }", "3\\sqrt{13}", "3\\sqrt{12}"),
    )[number]
    question = f"Find x in figure {number}."
    row = {"images": [embedded(number)], "problem": f"<image>{question}", "answer": gold}
    return row, question, right, wrong


def virl39k(number: int) -> Row:
    gold, right, wrong = (
        ("\\boxed{A}", "A", "B"),
        ("\\boxed{A}", "(A) 1", "2"),
        ("\\boxed{17^\\circ}", "17", "71"),
        ("\\boxed{\\frac{3}{4}}", "\\boxed{\\frac34}", "\\boxed{\\frac43}"),
        ("\\boxed{Yes}", "yes", "no"),
        ("\\boxed{24\\pi}", "24π", "24"),
        ("\\boxed{1{,}250}", "1250", "1.25"),
        ("\\boxed{2007, 2008}", "2007, 2008", "2007"),
    )[number]
    question = f"Solve number {number}." + (" Choices:\n(A) 1\n(B) 2\n(C) 3" if number < 2 else "")
    row = {
        "question": f"<image>\n{question}",
        "answer": gold,
        "PassRate_32BTrained": 0.5,
        "PassRate_7BBase": None if number % 2 else 0.25,
        "category": "(GradeSchool) Geometric",
        "source": "MMEureka",
        "qid": f"MMEureka-{number}",
        "image": [f"images/{number}.png"],
    }
    return row, question, right, wrong


def mmk12(number: int) -> Row:
    gold, right, wrong = (
        ("$\\frac{3}{10}$", "3/10", "10/3"),
        ("60°", "60 degrees", "30°"),
        ("$60^\\circ$", "60", "120"),
        ("$2\\sqrt{3}$", "2√3", "3√2"),
        ("12", "twelve", "21"),
        ("$(3, -4)$", "(3,-4)", "(-4, 3)"),
        ("$y = 2x + 1$", "y=2x+1", "y = 2x - 1"),
        ("$x \\geq 5$", "x≥5", "x ≤ 5"),
    )[number]
    question = f"As shown in figure {number}, what is wanted?"
    row = {
        "id": f"{number}",
        "question": f"{question} <image>",
        "answer": gold,
        "subject": "math",
        "image": embedded(number),
    }
    return row, question, right, wrong


def vlm_r1(number: int) -> Row:
    (x, y), (other_x, other_y) = PLACES[number], PLACES[number - 1]
    box = [float(x), float(y), float(x + 24), float(y + 16)]
    right, wrong = (
        [corner_x * 1000 // 96, corner_y * 1000 // 64, (corner_x + 24) * 1000 // 96, (corner_y + 16) * 1000 // 64]
        for corner_x, corner_y in ((x, y), (other_x, other_y))
    )
    question = f"Please provide the bounding box coordinate of the region this sentence describes: square {number}."
    row = {
        "id": number,
        "image": f"images/{number}.png",
        "conversations": [{"from": "human", "value": f"<image>{question}"}, {"from": "gpt", "value": box}],
    }
    labelled = json.dumps([{"bbox_2d": right, "label": "square"}])
    return row, question, f"```json\n{labelled}\n```" if number % 2 else str(right), str(wrong)


def deepeyes(number: int) -> Row:
    white, left, no_dog = "The color of the flag is white.", "The man is on the left side.", "No, there is no dog."
    source, question, gold, right, wrong = (
        ("vstar", "What is the color of flag 0?\n(A) white\n(B) red", "white", "A", "B"),
        (
            "vstar",
            "What is the color of flag 1?",
            white,
            "the color of the flag is white",
            white.replace("white", "red"),
        ),
        ("vstar", "Is the man left or right of car 2?", left, left.rstrip("."), left.replace("left", "right")),
        ("chart", "What is bar 3?", "12.5", "12.5", "25.1"),
        ("thinklite_eureka", "Find angle 4.", "\\boxed{30^\\circ}", "30°", "60°"),
        ("vstar", "What is sign 5?\n(A) stop\n(B) go\n(C) slow", "A", "stop", "slow"),
        ("vstar", "Is there a dog in 6?", no_dog, "No, there is no dog", "No, there is a dog."),
        ("thinklite_eureka", "Count the dots of 7.", "7", "\\boxed{7}", "8"),
    )[number]
    rules = (
        "\nThink first, call **image_zoom_in_tool** if needed, then answer. Format strictly as:  <think>...</think>  "
        "<tool_call>...</tool_call> (if tools needed)  <answer>...</answer> "
    )
    bare, *_ = question.split("\n")
    row = {
        "data_source": source,
        "prompt": [
            {"role": "system", "content": "You are a helpful assistant.\n\n# Tools\n..."},
            {"role": "user", "content": f"<image>\n{question}{rules}"},
        ],
        "images": [embedded(number)],
        "ability": "vl_chart",
        "env_name": "visual_toolbox_v2",
        "reward_model": {"ground_truth": gold, "style": "model"},
        "extra_info": {"answer": gold, "index": str(number), "question": bare, "split": "train"},
    }
    return row, question, right, wrong


FORMS = {"geometry3k": geometry3k, "virl39k": virl39k, "mmk12": mmk12, "vlm-r1": vlm_r1, "deepeyes": deepeyes}


@pytest.mark.parametrize(
    "form",
    # Those of one layout are all read in packages/core/tests/tasks/test_published_rows.py.
    [pytest.param(form, marks=pytest.mark.full if form in ("virl39k", "mmk12") else ()) for form in FORMS],
)
def test_a_policy_that_is_right_in_half_of_its_answers_is_rewarded_for_half(form: str, tmp_path: Path) -> None:
    rows = [FORMS[form](number) for number in range(len(PLACES))]
    (tmp_path / "images").mkdir()
    for number, place in enumerate(PLACES):
        (tmp_path / "images" / f"{number}.png").write_bytes(png(place))
    data = tmp_path / ("train.jsonl" if form == "vlm-r1" else "train.parquet")
    if form == "vlm-r1":
        data.write_text("\n".join(json.dumps(row) for row, *_ in rows))
    else:
        pq.write_table(pa.Table.from_pylist([row for row, *_ in rows]), data)
    (tmp_path / "replies.json").write_text(json.dumps({question: said for _, question, *said in rows}))
    given = [one for setting in SETTINGS.split() for one in ("--set", setting)]
    command = ["train", f"{RECIPE}:half_right", "--data", str(data), "--out", str(tmp_path / "run"), "--quiet", *given]
    assert run_command(command) == 0
    metrics = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    paid = [(line["stage"], line["reward/accuracy"]) for line in metrics if "reward/accuracy" in line]
    assert paid == [("before", 1.0), ("rl", 0.5), ("rl", 0.5), ("after_rl", 1.0)], misread(tmp_path / "run")


def misread(run: Path) -> list[tuple[str, str, str, str]]:
    """Questions whose right reply earned nothing, or whose wrong one something; with gold and reply."""
    files = [*(run / "trajectories" / "rl").glob("*.jsonl"), run / "evaluations" / "before.jsonl"]
    records = [one for file in files for one in read_records(file)]
    return [
        (one.task.question, one.task.answer, one.task.answer_kind, one.trajectory.answer or "")
        for one in records
        if one.trajectory.score is not None and one.trajectory.score.values["accuracy"] == one.trajectory.sample % 2
    ]
