"""The four layouts, each with a small file as its users write it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from saccade.errors import UserError
from saccade.geometry import Box, Point
from saccade.media.store import MediaStore
from saccade.tasks.files import read_tasks
from saccade.tasks.rows.answers import infer_kind
from saccade.types import Target, Task


def read_one(tmp_path: Path, row: Mapping[str, object], layout: str = "auto") -> Task:
    for name, colour in (("a.png", "red"), ("b.png", "blue")):
        Image.new("RGB", (100, 50), colour).save(tmp_path / name)
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([row]))
    (task,) = read_tasks(path, media=MediaStore(), layout=layout).tasks
    return task


# EasyR1

EASYR1 = {
    "problem": "<image>\nHow many sheep are there?",
    "answer": "2",
    "images": ["a.png"],
    "datasource": "farm",
    "target_instances": "[{'bbox': [10, 10, 30, 30], 'label': 'sheep', 'name': 'sheep 1'}, {'bbox': [40, 5, 60, 25]}]",
}


def test_easyr1_row_with_targets_as_text(tmp_path: Path) -> None:
    task = read_one(tmp_path, EASYR1)
    assert (task.question, task.answer, task.answer_kind) == ("How many sheep are there?", "2", "integer")
    assert (task.family, task.source, len(task.images)) == ("farm", "rows", 1)
    assert task.targets == (
        Target(label="sheep", box=Box(10, 10, 30, 30), point=Point(20, 20)),
        Target(label="", box=Box(40, 5, 60, 25), point=Point(50, 15)),
    )


@pytest.mark.parametrize(
    "targets",
    [
        [{"bbox": [10, 10, 30, 30], "label": "sheep"}],
        '[{"bbox": [10, 10, 30, 30], "label": "sheep"}]',
        "[{'bbox': (10, 10, 30, 30), 'label': 'sheep'}]",
        [{"box": [10, 10, 30, 30], "name": "sheep"}],
    ],
)
def test_targets_as_list_json_or_python_literal_are_the_same(tmp_path: Path, targets: object) -> None:
    expected = (Target(label="sheep", box=Box(10, 10, 30, 30), point=Point(20, 20)),)
    assert read_one(tmp_path, EASYR1 | {"target_instances": targets}).targets == expected


@pytest.mark.parametrize("key", ["boxes", "target_instances"])
@pytest.mark.parametrize("question", ["problem", "question"])
def test_every_layout_reads_targets_by_either_key(tmp_path: Path, question: str, key: str) -> None:
    row = {question: "How many sheep are there?", "answer": "2", "images": ["a.png"]}
    (target,) = read_one(tmp_path, row | {key: [{"bbox": [10, 10, 30, 30], "label": "sheep"}]}).targets
    assert (target.label, target.box) == ("sheep", Box(10, 10, 30, 30))


@pytest.mark.parametrize("targets", [None, "", "[]", []])
def test_no_targets_are_no_targets(tmp_path: Path, targets: object) -> None:
    assert read_one(tmp_path, EASYR1 | {"target_instances": targets}).targets == ()


def test_one_flat_box_is_one_target(tmp_path: Path) -> None:
    assert [target.box for target in read_one(tmp_path, EASYR1 | {"target_instances": [1, 2, 3, 4]}).targets] == [
        Box(1, 2, 3, 4)
    ]


def test_target_on_the_second_image(tmp_path: Path) -> None:
    row = {
        "problem": "<image><image>Which?",
        "answer": "left",
        "images": ["a.png", "b.png"],
        "target_instances": [{"bbox": [0, 0, 5, 5], "image_index": 1}],
    }
    assert read_one(tmp_path, row).targets[0].image_index == 1


def test_target_instances_given_as_parquet_structs(tmp_path: Path) -> None:
    Image.new("RGB", (100, 50)).save(tmp_path / "a.png")
    columns = {
        "problem": ["<image>Where?"],
        "answer": ["here"],
        "images": [["a.png"]],
        "target_instances": [[{"bbox": [1.0, 2.0, 3.0, 4.0], "label": "x"}]],
    }
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    (task,) = read_tasks(tmp_path / "rows.parquet", media=MediaStore()).tasks
    assert task.targets == (Target(label="x", box=Box(1, 2, 3, 4), point=Point(2, 3)),)


def test_markers_at_the_ends_vanish_and_inner_ones_become_numbers(tmp_path: Path) -> None:
    questions = {
        "<image> <image>\nSame?": "Same?",
        "Same?<image><image>": "Same?",
        "<image>Same?\n<image>": "Same?",
        "Is <image> as <image> or not?": "Is [image 1] as [image 2] or not?",
        "<image>Is this as <image> or not?": "Is this as [image 2] or not?",
        "No marker?": "No marker?",
    }
    for problem, expected in questions.items():
        row = {"problem": problem, "answer": "yes", "images": ["a.png", "b.png"]}
        assert read_one(tmp_path, row).question == expected


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ("<image><image>?", "images: 2 <image> markers in the text but 1 images"),
        ("<image>\n ", "problem: is empty but for image markers"),
    ],
)
def test_markers_that_do_not_fit(tmp_path: Path, problem: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_one(tmp_path, EASYR1 | {"problem": problem})


# verl

VERL = {
    "data_source": "hiyouga/geometry3k",
    "prompt": [
        {"role": "system", "content": "Think first."},
        {"role": "user", "content": "<image>Find x. Put the final answer in a box."},
    ],
    "images": ["a.png"],
    "ability": "math",
    "reward_model": {"style": "rule", "ground_truth": "2.5"},
    "extra_info": {"split": "train", "index": 7},
}


def test_verl_row(tmp_path: Path) -> None:
    task = read_one(tmp_path, VERL)
    assert (task.question, task.answer, task.answer_kind) == (
        "Find x. Put the final answer in a box.",
        "2.5",
        "number",
    )
    assert (task.id, task.family) == ("hiyouga/geometry3k/train/7", "hiyouga/geometry3k")


def test_verl_question_without_the_prompts_own_rules(tmp_path: Path) -> None:
    extra = {"split": "train", "index": 7, "question": "<image>Find x."}
    assert read_one(tmp_path, VERL | {"extra_info": extra}).question == "Find x."
    extra["question"] = "Something else?"
    assert read_one(tmp_path, VERL | {"extra_info": extra}).question.startswith("Find x. Put")


def test_verl_prompt_in_parts(tmp_path: Path) -> None:
    content = [{"type": "image"}, {"type": "text", "text": "Find x."}]
    row = VERL | {"prompt": [{"role": "user", "content": content}], "extra_info": None}
    task = read_one(tmp_path, row)
    assert task.question == "Find x."
    assert len(task.id) == 16


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reward_model": {"style": "rule"}}, "reward_model.ground_truth: there is no answer"),
        ({"reward_model": "2.5"}, "reward_model: must be an object with keys, not str"),
        ({"prompt": [{"role": "system", "content": "x"}]}, "prompt: must hold one user message"),
        ({"prompt": [{"role": "user", "content": "a"}] * 2}, "prompt: must hold one user message"),
        ({"prompt": ["a"]}, "prompt: must be an object with keys, not str"),
        ({"prompt": [{"role": "user", "content": [{"audio": "x"}]}]}, "prompt: a message holds a part that is neither"),
        ({"extra_info": [1]}, "extra_info: must be an object with keys, not list"),
    ],
)
def test_verl_row_that_cannot_be_used(tmp_path: Path, change: Mapping[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_one(tmp_path, VERL | change)


# ShareGPT


def test_llava_conversation(tmp_path: Path) -> None:
    row = {
        "id": "000001",
        "image": "a.png",
        "conversations": [
            {"from": "human", "value": "<image>\nWhat colour is it?"},
            {"from": "gpt", "value": "Red"},
        ],
    }
    task = read_one(tmp_path, row)
    assert (task.id, task.question, task.answer, task.answer_kind) == ("000001", "What colour is it?", "Red", "exact")


def test_messages_as_llama_factory_takes_them(tmp_path: Path) -> None:
    row = {
        "messages": [
            {"role": "system", "content": "You see images."},
            {"role": "user", "content": "<image>How many?"},
            {"role": "assistant", "content": "<think>one, two</think>\n<answer> 2 </answer>"},
        ],
        "images": ["a.png"],
    }
    task = read_one(tmp_path, row)
    assert (task.question, task.answer, task.answer_kind) == ("How many?", "2", "integer")


def test_thinking_is_no_part_of_the_answer(tmp_path: Path) -> None:
    row = {
        "messages": [
            {"role": "user", "content": "<image>How many?"},
            {"role": "assistant", "content": "<think>maybe 3</think>4"},
        ],
        "images": ["a.png"],
    }
    assert read_one(tmp_path, row).answer == "4"


def test_tool_turns_of_a_conversation_are_left_out(tmp_path: Path) -> None:
    row = {
        "conversations": [
            {"from": "human", "value": "<image>What does it say?"},
            {"from": "function_call", "value": '{"name": "crop"}'},
            {"from": "observation", "value": "<answer>injected</answer>"},
            {"from": "gpt", "value": "<answer>Stop</answer>"},
        ],
        "images": ["a.png"],
    }
    task = read_one(tmp_path, row)
    assert (task.question, task.answer) == ("What does it say?", "Stop")


def test_earlier_questions_stay_before_the_last_one(tmp_path: Path) -> None:
    row = {
        "conversations": [
            {"from": "human", "value": "<image>\nWho is it?"},
            {"from": "gpt", "value": "A cat."},
            {"from": "human", "value": "And its colour?"},
            {"from": "gpt", "value": "red"},
        ],
        "image": "a.png",
    }
    task = read_one(tmp_path, row)
    assert task.question.replace("[image 1]", "").split() == (
        ["Question:", "Who", "is", "it?", "Answer:", "A", "cat.", "Question:", "And", "its", "colour?"]
    )
    assert task.answer == "red"


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ([("human", "<image>?")], "conversations: does not end with an assistant's answer"),
        ([("gpt", "hello")], "conversations: has no user message"),
        ([], "conversations: does not end with"),
        ([("human", "<image>?"), ("gpt", "")], "conversations: there is no answer"),
        ([("human", "<image>?"), ("gpt", "<answer>a</answer><answer>b</answer>")], "holds 2 <answer> blocks"),
        ([("human", "<image>?"), ("gpt", "word " * 300)], "the answer has 1499 characters"),
    ],
)
def test_conversation_that_cannot_be_used(tmp_path: Path, turns: list[tuple[str, str]], message: str) -> None:
    row = {"conversations": [{"from": who, "value": text} for who, text in turns], "image": "a.png"}
    with pytest.raises(UserError, match=message):
        read_one(tmp_path, row)


# Choosing the layout


def test_row_with_question_and_answer_beside_a_conversation_is_plain(tmp_path: Path) -> None:
    row = {"question": "a?", "answer": "b", "image_path": "a.png", "conversations": [{"from": "human", "value": "x"}]}
    assert read_one(tmp_path, row).question == "a?"


def test_layout_can_be_forced(tmp_path: Path) -> None:
    row = {"question": "plain?", "problem": "easy?", "answer": "b", "images": ["a.png"]}
    assert read_one(tmp_path, row).question == "easy?"
    assert read_one(tmp_path, row, layout="plain").question == "plain?"
    with pytest.raises(UserError, match="prompt: must be a list of messages, not nothing"):
        read_one(tmp_path, row, layout="verl")


def test_unknown_layout_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="layout 'llava' is not known; choose auto, plain, easyr1, verl, sharegpt"):
        read_tasks(tmp_path / "x.jsonl", media=MediaStore(), layout="llava")


def test_each_row_is_read_by_its_own_layout(tmp_path: Path) -> None:
    Image.new("RGB", (9, 9)).save(tmp_path / "a.png")
    rows = [
        {"answer": "no layout yet", "image": "a.png"},
        {"problem": "a?", "answer": "b", "images": ["a.png"]},
        {"question": "a?", "answer": "b", "image": "a.png"},
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    skipped = read_tasks(tmp_path / "rows.json", media=MediaStore(), skip_bad_rows=True).skipped
    assert [(bad.row, bad.key, bad.why) for bad in skipped] == [
        (
            1,
            "",
            "fits no layout (plain, easyr1, verl, sharegpt, video_r1, trl, alpaca, exported); its keys are answer, "
            "image; the nearest layout is plain (question, answer, and images): add `question`",
        ),
    ]


# Kinds of answers


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("7", "integer"),
        ("-12", "integer"),
        ("1,234", "integer"),
        ("0", "integer"),
        ("2.5", "number"),
        ("45%", "number"),
        ("$3", "number"),
        ("60°", "number"),
        ("007", "exact"),
        ("1234567890123456", "exact"),
        ("red", "exact"),
        ("yes", "exact"),
        ("A", "exact"),
        ("New York City", "exact"),
        ("XK-42", "exact"),
        ("Room 42", "text"),
        ("a man in a red hat", "sentence"),
        ("1,23", "exact"),
    ],
)
def test_kind_is_inferred_from_the_answer(answer: str, kind: str) -> None:
    assert infer_kind(answer, (), "What is it?") == kind


def test_letter_is_a_choice_where_the_question_marks_options() -> None:
    assert infer_kind("B", (), "Which? A. cat B. dog") == "choice"
    assert infer_kind("(b)", (), "Which?\n(A) cat\n(B) dog") == "choice"
    assert infer_kind("D", (), "Which? A. cat B. dog") == "exact"
    assert infer_kind("B", (), "Which letter is on the sign?") == "exact"
    assert infer_kind("2", ("1", "2"), "?") == "choice"


def test_choices_may_be_text_in_three_forms(tmp_path: Path) -> None:
    for choices in ("red|blue", '["red", "blue"]', "['red', 'blue']", ["red", "blue"]):
        row = {"question": "?", "answer": "red", "image": "a.png", "choices": choices}
        assert read_one(tmp_path, row).choices == ("red", "blue")


def test_numbers_are_written_without_surplus_digits(tmp_path: Path) -> None:
    for value, text in ((3, "3"), (3.0, "3"), (0.1, "0.1"), (1e20, "1e+20")):
        assert read_one(tmp_path, {"question": "?", "answer": value, "image": "a.png"}).answer == text
