"""Replies of models that were not trained here, in the styles that they have: each rule reads what was written."""

from dataclasses import replace

import pytest

from saccade.evaluation.benchmarks import BENCHMARKS
from saccade.evaluation.benchmarks.reward import benchmark_reward, final_reply
from saccade.evaluation.benchmarks.rows import row_of
from saccade.evaluation.benchmarks.rules.strict import strict_answer
from saccade.protocols.bare import parse_bare
from saccade.protocols.tagged import parse
from saccade.types import Answer, Trajectory, Turn

ROW = row_of(
    BENCHMARKS["vstar"],
    {"index": "1", "question": "What colour?", "answer": "B", "A": "red", "B": "blue", "C": "green", "D": "grey"},
    (),
)
STYLES = {
    "letter": ("B", 1.0),
    "boxed": ("\\boxed{B}", 1.0),
    "bold": ("**B**", 1.0),
    "letter and text": ("B. blue", 1.0),
    "tags": ("<think>blue</think><answer>B</answer>", 1.0),
    "no thought": ("<answer>B</answer>", 1.0),
    "thought of the template": ("The scarf looks blue. So B.\n</think>\n\nB", 1.0),
    "thought first": ("<think>It is not A.</think>B", 1.0),
    "tags in a thought": ("<think>I must write it in <answer> tags.</think><answer>B</answer>", 1.0),
    "wrong": ("<think>blue</think>A", 0.0),
    "refusal": ("I'm sorry, I can't help with that.", 0.0),
    "thought alone": ("<think>It looks blue. B</think>", 0.0),
    "endless thought": ("<think>It looks blue. B", 0.0),
}


def played(text: str, *, is_bare: bool = False) -> Trajectory:
    read = parse_bare(text) if is_bare else parse(text, offers_tools=False)
    is_answered = isinstance(read.action, Answer)
    return Trajectory(
        task_id=ROW.task.id,
        family="vstar",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(Turn(index=0, text=text, thought=read.thought, action=read.action, is_well_formed=read.is_well_formed),),
        status="answered" if is_answered else "turn_limit",
    )


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("is_bare", [False, True])
def test_each_style_is_read_as_it_was_meant(style: str, is_bare: bool) -> None:
    text, credit = STYLES[style]
    # VLMEvalKit's rule reads no tags, and looks for a letter in a thought that never ends.
    is_strict_alone = style == "endless thought" or (is_bare and "<answer>" in text)
    for reading in ("strict",) if is_strict_alone else ("strict", "vlmevalkit"):
        reward = benchmark_reward(BENCHMARKS["vstar"], {ROW.task.id: ROW}, reading)  # type: ignore[arg-type]
        score = reward(ROW.task, played(text, is_bare=is_bare))
        assert score.total == credit, reading  # type: ignore[union-attr]


def test_a_reply_without_tags_is_read_whole() -> None:
    assert final_reply(played("The correct answer is B. blue")) == "The correct answer is B. blue"
    assert final_reply(played("<think>x</think><answer>B</answer>")) == "B"
    assert final_reply(replace(played("B"), turns=())) == ""


def test_mme_reads_a_reply_without_tags_and_not_an_empty_text() -> None:
    fields = {"question": "What colour?", "A": "red", "B": "blue", "C": "green", "D": "grey", "E": "none"}
    right = {}
    for gold in "AB":
        row = row_of(BENCHMARKS["mme-realworld-lite"], {**fields, "index": gold, "answer": gold}, ())
        reward = benchmark_reward(BENCHMARKS["mme-realworld-lite"], {row.task.id: row})
        score = reward(row.task, replace(played("B"), task_id=row.task.id))
        right[gold] = score.total  # type: ignore[union-attr]
    assert right == {"A": 0.0, "B": 1.0}


@pytest.mark.parametrize("reply", ["hm\n</think>\n\nB", "a</think>b</think>B", "<think>x</think>y</think>B"])
def test_strict_reads_what_follows_the_last_thought(reply: str) -> None:
    assert strict_answer(reply) == "B"
