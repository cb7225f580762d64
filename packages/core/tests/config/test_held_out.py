"""Which questions a run never trains on: so many, the same for every seed, and the same rows when it is resumed."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli.entry import run_command
from saccade.config import RecipeContext, read_own_tasks, split_held_out
from saccade.config.held_out import held_out_json
from saccade.errors import UserError
from saccade.types import ImageRef, Task


def task(number: int, picture: int | None = None) -> Task:
    ref = ImageRef(hash=f"{number if picture is None else picture:064x}", width=8, height=8)
    return Task(
        id=f"t{number}", family="own", question="?", answer="a", answer_kind="exact", images=(ref,), source="file"
    )


TASKS = [task(number) for number in range(64)]


def ids(tasks: list[Task]) -> set[str]:
    return {one.id for one in tasks}


def pictures(folder: Path, size: int, count: int = 16) -> None:
    for number in range(count):
        Image.new("RGB", (size, size), (number * 15, 80, 200 - number * 9)).save(folder / f"{number}.png")


def questions_file(folder: Path, *, has_ids: bool, order: range = range(16), name: str = "q.jsonl") -> Path:
    own = [{"id": f"q{number}"} if has_ids else {} for number in order]
    rows = [{**one, "question": f"Question {n}?", "answer": str(n), "image": f"{n}.png"} for one, n in zip(own, order)]
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(("share", "count"), [(0.25, 16), (0.1, 6), (0.5, 32), (0.001, 1), (0.999, 63)])
def test_as_many_are_held_out_as_the_share_says(share: float, count: int) -> None:
    training, held_out = split_held_out(TASKS, share, RecipeContext())
    assert (len(training), len(held_out)) == (64 - count, count)


def test_every_seed_holds_out_the_same() -> None:
    sides = [split_held_out(TASKS, 0.25, RecipeContext(seed=seed)) for seed in range(3)]
    assert sides[0] == sides[1] == sides[2]


def test_pictures_with_several_questions_fill_the_count_as_well_as_they_can() -> None:
    several = [task(number, picture=number // 4) for number in range(40)]
    training, held_out = split_held_out(
        [*several, *(task(number) for number in range(100, 103))], 0.25, RecipeContext()
    )
    assert len(held_out) == 11
    assert not {one.images for one in training} & {one.images for one in held_out}


def test_one_question_more_moves_at_most_one_other() -> None:
    _, before = split_held_out(TASKS, 0.25, RecipeContext())
    _, after = split_held_out([*TASKS, task(64)], 0.25, RecipeContext())
    assert len(ids(before) - ids(after)) <= 1


@pytest.mark.parametrize("is_given", [True, False])
def test_a_share_beside_given_questions_has_no_effect_and_that_is_told(
    tmp_path: Path, is_given: bool, caplog: pytest.LogCaptureFixture
) -> None:
    pictures(tmp_path, 32)
    path = questions_file(tmp_path, has_ids=True, name="h.jsonl") if is_given else None
    with caplog.at_level(logging.WARNING):
        split_held_out(TASKS, 0.5, RecipeContext(held_out=path, overrides=("held_out_share=0.5",)))
    told = [one.getMessage() for one in caplog.records if "without effect" in one.getMessage()]
    assert told == ["set without effect: held_out_share (the held-out questions are given)"] * is_given


def resumed(context: RecipeContext, folder: Path) -> RecipeContext:
    """The context of the same run when it is resumed."""
    path = folder / "held_out.json"
    path.write_text(json.dumps(held_out_json(context)))
    return RecipeContext(held_out_file=path)


@pytest.mark.parametrize("has_ids", [True, False])
def test_pictures_saved_again_and_rows_in_another_order_stay_on_their_side(tmp_path: Path, has_ids: bool) -> None:
    pictures(tmp_path, 32)
    path, first = questions_file(tmp_path, has_ids=has_ids), RecipeContext()
    training, held_out = split_held_out(read_own_tasks(path, first), 0.25, first)
    pictures(tmp_path, 40)
    path, second = questions_file(tmp_path, has_ids=has_ids, order=range(15, -1, -1)), resumed(first, tmp_path)
    training_now, held_out_now = split_held_out(read_own_tasks(path, second), 0.25, second)
    assert {one.question for one in held_out_now} == {one.question for one in held_out}
    assert {one.question for one in training_now} == {one.question for one in training}
    assert held_out_json(second) == held_out_json(first)


def test_new_rows_are_trained_on_unless_they_show_what_is_held_out(tmp_path: Path) -> None:
    context = RecipeContext()
    training, held_out = split_held_out(TASKS, 0.25, context)
    on_held_out = replace(held_out[0], id="another", question="Another?")
    more = [task(number) for number in range(64, 96)]
    training_now, held_out_now = split_held_out([*TASKS, on_held_out, *more], 0.25, resumed(context, tmp_path))
    assert held_out_now == held_out
    assert training_now == [*training, *more]


def test_a_run_that_finds_none_of_its_held_out_rows_is_refused(tmp_path: Path) -> None:
    context = RecipeContext()
    split_held_out(TASKS, 0.25, context)
    others = [task(number) for number in range(100, 120)]
    with pytest.raises(UserError, match=r"none of the 16 questions of .*held_out\.json is among those given now"):
        split_held_out(others, 0.25, resumed(context, tmp_path))


def test_a_run_of_an_earlier_version_goes_on_with_what_its_seed_held_out(tmp_path: Path) -> None:
    file = tmp_path / "held_out.json"
    old = [split_held_out(TASKS, 0.25, RecipeContext(seed=seed, held_out_file=file))[1] for seed in range(3)]
    assert [len(one) for one in old] == [14, 16, 17]
    assert ids(old[0]) != ids(old[1])


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 2, "rows": {}}', '{"version": 1, "rows": {"a": 1}}', "{" * 9999]
)
def test_a_broken_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "held_out.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"held_out\.json, which says what the run holds out, cannot be read"):
        split_held_out(TASKS, 0.25, RecipeContext(held_out_file=path))


def test_the_whole_command_keeps_its_side_of_the_questions_when_pictures_are_saved_again(tmp_path: Path) -> None:
    pictures(tmp_path, 64, 8)
    data, out = questions_file(tmp_path, has_ids=True, order=range(8)), tmp_path / "run"
    settings = ("sft.steps=0", "rl.tasks_per_step=4", "rl.group_size=2", "rollout.max_turn_tokens=4", "max_turns=1")
    command = ["train", "questions", "--data", str(data), "--out", str(out), "--quiet"]
    command += [part for setting in (*settings, "rl.evaluate_every=0") for part in ("--set", setting)]
    run_command([*command, "--set", "rl.steps=1"])
    kept = (out / "held_out.json").read_bytes()
    pictures(tmp_path, 80, 8)
    run_command([*command, "--set", "rl.steps=2", "--resume"])
    assert (out / "held_out.json").read_bytes() == kept
    held_out = set(json.loads(kept)["rows"])
    measured = {name: asked(out / "evaluations" / f"{name}.jsonl") for name in ("before", "after_rl")}
    assert measured == {"before": held_out, "after_rl": held_out}
    trained = [asked(path) for path in (out / "trajectories" / "rl").glob("*.jsonl")]
    assert len(trained) == 2
    assert not held_out & set().union(*trained)


def asked(records: Path) -> set[str]:
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    return {line["id"] for line in lines if line.get("kind") == "task"}
