"""The experts' code, really run in the sandbox, prints the right answer, and slips only where it is meant to."""

from collections.abc import Iterator, Sequence

import pytest

from saccade.errors import UserError
from saccade.gym.code_experts import (
    CodeStyle,
    coded,
    gave_up,
    one_run,
    slip,
    slip_then_all,
    slip_then_report,
    two_runs,
    with_picture,
)
from saccade.gym.drawn import CODE_FAMILIES
from saccade.media.store import MediaStore
from saccade.sandbox.results import RunResult
from saccade.sandbox.sandbox import Sandbox
from saccade.tasks.procedural import generate
from saccade.types import Answer, Example, ExpertTurn, ToolCall

MEDIA = MediaStore()

every_family = pytest.mark.parametrize("family", list(CODE_FAMILIES))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def drawn(family: str, count: int) -> list[Example]:
    """Tasks of all difficulties."""
    return [
        generate(family, split="train", index=index, seed=23, media=MEDIA, difficulty=index % 5 / 4)
        for index in range(count)
    ]


def run(sandbox: Sandbox, example: Example, turns: Sequence[ExpertTurn]) -> list[RunResult]:
    image = MEDIA.get(example.task.images[0])
    with sandbox.session(images={"input_image.png": image}) as session:
        return [session.run(str(turn.action.arguments["code"])) for turn in turns if isinstance(turn.action, ToolCall)]


@every_family
def test_one_run_prints_the_answer(sandbox: Sandbox, family: str) -> None:
    for example in drawn(family, 20):
        (result,) = run(sandbox, example, one_run(example.task.question))
        assert result.ok, result.error
        assert result.stdout.strip() == example.task.answer


@every_family
@pytest.mark.parametrize(
    ("style", "is_ok"),
    [
        (two_runs, [True, True]),
        (with_picture, [True, True]),
        (slip_then_all, [False, True]),
        (slip_then_report, [True, False, True]),
    ],
)
def test_other_styles_print_it_in_the_end(sandbox: Sandbox, family: str, style: CodeStyle, is_ok: list[bool]) -> None:
    for example in drawn(family, 3):
        results = run(sandbox, example, style(example.task.question))
        assert [result.ok for result in results] == is_ok
        assert results[-1].stdout.strip() == example.task.answer
        assert not results[-2].stdout


@pytest.mark.parametrize("family", ["colour_dots", "scale_bar"])
def test_a_look_at_what_was_found_shows_one_picture_of_the_same_size(sandbox: Sandbox, family: str) -> None:
    for example in drawn(family, 2):
        first, _ = run(sandbox, example, with_picture(example.task.question))
        assert [image.size for image in first.images] == [(256, 256)]


def test_the_expert_answers_after_its_runs() -> None:
    (example,) = drawn("dot_table", 1)
    turns = coded(example, two_runs).turns
    assert [type(turn.action) for turn in turns] == [ToolCall, ToolCall, Answer]
    assert turns[-1].action == Answer(text=example.task.answer)


def test_who_gives_up_slips_and_answers_as_another_question() -> None:
    example, other = drawn("colour_bars", 2)
    turns = gave_up(example, other=other).turns
    assert turns[:-1] == slip(example.task.question)
    assert turns[-1].action == Answer(text=other.task.answer)


def test_no_expert_writes_code_for_a_question_of_another_kind() -> None:
    with pytest.raises(UserError, match="red plate"):
        one_run("Which texture is on the red plate?")
