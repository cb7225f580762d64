"""Where pictures stand in a question, beside what the harnesses' own functions send."""

import json
from pathlib import Path

import pytest

from saccade.evaluation.benchmarks import BENCHMARKS
from saccade.evaluation.benchmarks.rows import in_own_words, row_of, with_options
from saccade.interleaving import interleaved_parts
from saccade.types import ImageRef, Task

RECORDED = json.loads(Path(__file__).with_name("recorded_interleaving.json").read_text(encoding="utf-8"))


def content(task: Task) -> list[str | int]:
    """What is sent, with pictures by their number in the file."""
    parts = interleaved_parts(task.question, task.images) if task.is_interleaved else (*task.images, task.question)
    assert parts is not None
    return [part if isinstance(part, str) else int(part.hash) for part in parts]


def row(one: dict[str, object]):
    pictures = [ImageRef(hash=str(at), width=8, height=8) for at in range(1, one["pictures"] + 1)]
    fields = {"index": "1", "answer": "A", **one["row"]}
    return row_of(BENCHMARKS[one["benchmark"]], fields, pictures)


@pytest.mark.parametrize(
    "one", [one for one in RECORDED if one["harness"] == "vlmevalkit" or one["benchmark"] == "mindcube-tiny"]
)
def test_a_question_in_vlmevalkits_words_is_what_the_harness_sends(one: dict[str, object]) -> None:
    assert content(in_own_words(BENCHMARKS[one["benchmark"]], row(one))) == one["content"]


def test_lmms_eval_shows_other_pictures_where_a_row_names_one_twice_or_not_in_order() -> None:
    others = []
    for one in RECORDED:
        if (one["benchmark"], one["harness"]) != ("mmmu-val", "lmms-eval"):
            continue
        ours = content(in_own_words(BENCHMARKS["mmmu-val"], row(one)))
        pictures = [[part for part in parts if isinstance(part, int)] for parts in (ours, one["content"])]
        if pictures[0] != pictures[1]:
            others.append((one["row"]["question"], *pictures))
    assert others == [
        ("First <image 2>, then <image 1>: which?", [2, 1], [1, 2]),
        ("<image 1> and again <image 1>.", [1, 1], [1]),
        ("No place is named.", [1, 2], []),
    ]


def test_cycles_of_options_that_are_pictures_show_the_pictures_of_the_new_order() -> None:
    [one] = [
        one
        for one in RECORDED
        if one["harness"] == "vlmevalkit" and one["row"].get("question", "").startswith("Which of these fits")
    ]
    cycles = list(with_options([row(one)], "cycles"))
    assert [[int(image.hash) for image in cycle.task.images] for cycle in cycles] == [[1, 2, 3], [1, 3, 2], [1, 2, 3]]
    words = [content(in_own_words(BENCHMARKS["mmmu-val"], cycle)) for cycle in cycles]
    assert [[part for part in parts if isinstance(part, int)] for parts in words] == [[1, 2, 3], [1, 3, 2], [1, 2, 3]]
    assert len({BENCHMARKS["mmmu-val"].cluster(cycle) for cycle in cycles}) == 1
