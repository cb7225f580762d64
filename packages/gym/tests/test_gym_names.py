"""Names of the gym: a family, a program of it, a look, options; and what is said of wrong ones."""

from pathlib import Path

import pytest

from places import ROOT
from saccade.errors import UserError
from saccade.gym.drawn import ALL_FAMILIES
from saccade.gym.registry import DOMAINS, find_draw, gym_families
from saccade.media.store import MediaStore
from saccade.seeding import generator_for
from saccade.tasks.procedural import SPLITS, family_named, generate
from saccade.types import ToolCall


def test_a_family_is_drawn_wherever_a_family_is_named() -> None:
    example = generate("shape_counts", split="train", index=0, seed=0, media=MediaStore())
    assert example.task.family == "shape_counts"
    assert example.task.buckets[0].startswith("program ")
    assert example.task.buckets[1].startswith("look ")


def test_a_name_says_program_look_levels_expert() -> None:
    name = "shape_counts/count_by_colour@plain?clutter=1.0&size=0&expert=code"
    example = generate(name, split="held_out", index=3, seed=0, media=MediaStore(), difficulty=0.0)
    assert example.task.id.startswith(f"{name}/held_out/000003")
    assert example.task.buckets == ("program count_by_colour", "look plain")
    assert isinstance(example.turns[0].action, ToolCall)
    assert example.turns[0].action.name == "execute_python_code"
    assert len(example.task.objects) > 8


def test_the_share_of_questions_without_an_answer_is_as_the_name_says() -> None:
    name, media = "shape_counts/count_by_shape?unanswerable=0.5", MediaStore()
    tasks = [generate(name, split="train", index=index, seed=0, media=media).task for index in range(40)]
    assert all("unanswerable" in task.question for task in tasks)
    assert 10 <= sum(task.answer == "unanswerable" for task in tasks) <= 30


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("shape_count", "saccade families"),
        ("shape_counts/count", "count_by_colour"),
        ("shape_counts@photo", "plain, paper"),
        ("shape_counts?clutter=2", "not a number from 0 to 1"),
        ("shape_counts?clutter=much", "not a number from 0 to 1"),
        ("shape_counts?colour=1", "clutter, size, likeness"),
        ("shape_counts?expert=luck", "crop, points"),
    ],
)
def test_a_wrong_name_is_told_what_there_is(name: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        family_named(name)


def test_no_two_families_share_a_name_and_domains_are_known() -> None:
    assert not set(gym_families()) & set(ALL_FAMILIES)
    assert {family.domain for family in gym_families().values()} <= set(DOMAINS)
    assert find_draw("visual_search") is None


def test_programs_of_a_family_and_axes_have_names_of_their_own() -> None:
    for family in gym_families().values():
        for parts in (family.programs, family.all_renderers):
            names = [part.name for part in parts]
            assert len(set(names)) == len(names)
            assert all(name.isidentifier() for name in names)
        assert all(axis.isidentifier() and axis not in ("expert", "unanswerable") for axis in family.axes)


OWN = """
from dataclasses import replace
from saccade.gym.registry import gym_families
mine = replace(gym_families()["shape_counts"], name="mine")
by_state = replace(mine, name="by_state", is_split_by_state=True)
def draw_plain(rng, difficulty):
    return mine(rng, difficulty)
"""


def test_a_part_of_a_users_own_family_is_named_the_same(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN, encoding="utf-8")
    example = generate(f"{file}:mine/parity?clutter=0", split="train", index=0, seed=0, media=MediaStore())
    assert example.task.id == "mine/parity?clutter=0/train/000000"
    assert example.task.buckets[0] == "program parity"
    with pytest.raises(UserError, match="no GymFamily"):
        family_named(f"{file}:draw_plain/parity")


def test_a_family_split_by_state_draws_no_picture_in_vain(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN, encoding="utf-8")
    for split in SPLITS:
        name, draw = family_named(f"{file}:by_state/count_all")
        scene = draw(generator_for(1, name), 0.5)
        assert scene.split_key
        example = generate(f"{file}:by_state/count_all", split=split, index=0, seed=0, media=MediaStore())
        assert example.task.buckets[0] == "program count_all"


def test_the_family_of_the_page_is_drawn_by_name(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "gym.md").read_text(encoding="utf-8")
    (tmp_path / "own.py").write_text(page.split("```python\n")[1].split("```")[0], encoding="utf-8")
    name = f"{tmp_path / 'own.py'}:letters/count_by_colour?clutter=1"
    task = generate(name, split="held_out", index=1, seed=0, media=MediaStore()).task
    assert task.family == "letters/count_by_colour?clutter=1"
    assert len(task.objects) == 8
    assert int(task.answer) == len(task.targets)
