"""The recipe for one's own questions: splits, epochs, refusals."""

import json
from pathlib import Path

import pytest
from PIL import Image

from saccade.config import RecipeContext, split_held_out
from saccade.errors import UserError
from saccade.recipes.questions import questions
from saccade.tasks.curriculum import shuffled_epochs
from saccade.types import ImageRef, Task


def task(number: int, image: int) -> Task:
    ref = ImageRef(hash=f"{image:064x}", width=8, height=8)
    return Task(
        id=f"t{number}", family="own", question="?", answer="a", answer_kind="exact", images=(ref,), source="file"
    )


TASKS = [task(number, number // 3) for number in range(60)]


def test_questions_on_one_picture_fall_on_the_same_side() -> None:
    training, held_out = split_held_out(TASKS, 0.3, RecipeContext())
    assert len(training) + len(held_out) == 60
    assert not {one.images for one in training} & {one.images for one in held_out}


def test_split_is_the_same_whatever_the_order_of_the_file() -> None:
    _, held_out = split_held_out(TASKS, 0.3, RecipeContext())
    _, reversed_held_out = split_held_out(TASKS[::-1], 0.3, RecipeContext())
    assert {one.id for one in held_out} == {one.id for one in reversed_held_out}


def test_questions_on_one_picture_cannot_be_split() -> None:
    with pytest.raises(UserError, match="3 questions on 1 picture cannot be split"):
        split_held_out(TASKS[:3], 0.5, RecipeContext())


@pytest.mark.parametrize("share", [0.001, 0.25, 0.999])
def test_two_pictures_are_enough_for_both_sides(share: float) -> None:
    training, held_out = split_held_out(TASKS[:6], share, RecipeContext())
    assert (len(training), len(held_out)) == (3, 3)


def test_every_task_comes_once_an_epoch_in_a_new_order() -> None:
    drawn = [one.id for step in range(24) for one in shuffled_epochs(TASKS, 5 * step, 5, seed=2)]
    epochs = [drawn[:60], drawn[60:]]
    assert [sorted(epoch) for epoch in epochs] == [sorted(one.id for one in TASKS)] * 2
    assert epochs[0] != epochs[1]


def test_a_batch_larger_than_the_file_spans_epochs() -> None:
    drawn = [one.id for one in shuffled_epochs(TASKS[:4], 10, 10, seed=2)]
    again = [one.id for step in range(20) for one in shuffled_epochs(TASKS[:4], step, 1, seed=2)]
    assert drawn == again[10:20]


def test_the_recipe_needs_data() -> None:
    with pytest.raises(UserError, match="--data PATH"):
        questions(RecipeContext())


def test_a_group_of_one_is_refused_before_any_work(tmp_path: Path) -> None:
    Image.new("RGB", (32, 32)).save(tmp_path / "a.png")
    Image.new("RGB", (32, 32), (255, 0, 0)).save(tmp_path / "b.png")
    rows = [{"question": "?", "answer": "a", "image": name} for name in ("a.png", "b.png")]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UserError, match="group_size=1 leaves nothing to compare"):
        questions(RecipeContext(data=path, overrides=("rl.group_size=1",))).check()


def test_a_temperature_that_would_be_overruled_is_refused(tmp_path: Path) -> None:
    rows = []
    for number in range(8):
        Image.new("RGB", (32, 32), (number, 0, 0)).save(tmp_path / f"{number}.png")
        rows.append({"question": "?", "answer": "a", "image": f"{number}.png"})
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = questions(RecipeContext(data=path, model=tmp_path, overrides=("rollout.temperature=0.5",)))
    with pytest.raises(UserError, match=r"rollout\.temperature=0\.5 would have no effect: stage 'before'"):
        plan.check()
