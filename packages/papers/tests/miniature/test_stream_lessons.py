"""What a beginner is shown of marked plates: shares of careless experts, and what each kind of them gets wrong."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from saccade.errors import UserError
from saccade.geometry import Box, iou
from saccade.gym.drawn.plates import CELL_PX, draw_plate_five
from saccade.media.store import MediaStore
from saccade.miniature.ivgr import DOWN, EXACT_OF_FOUR, FAMILIES, StreamLessons, StreamQuestions, TinyIvgrSettings
from saccade.rewards.judges.consistency import Reference
from saccade.seeding import generator_for
from saccade.tasks.procedural import Family
from saccade.tasks.scene import SIZE_PX, place_of
from saccade.tasks.two_streams import ASTRAY, grounded, sought_objects, textual
from saccade.types import Answer, Example


def questions(count: int, families: Sequence[Family] = FAMILIES, facts: int = 2) -> list[Example]:
    asked = StreamQuestions(seed=2, media=MediaStore(), difficulty=0.5, families=families, facts=facts)
    return [asked.boxed("train", index) for index in range(count)]


def box_of(thought: str) -> Box:
    return Box(*(float(side) for side in thought.partition("<box>[")[2].partition("]")[0].split(",")))


def test_an_expert_astray_is_right_but_for_box_and_place_which_agree_with_each_other() -> None:
    overlaps = []
    for number, example in enumerate(questions(200)[::2]):
        [sought] = sought_objects(example)
        chance = generator_for(0, "astray", number)
        [turn] = grounded(example, care="astray", chance=chance).turns
        written = box_of(turn.thought)
        assert turn.action == Answer(text=example.task.answer)
        assert turn.thought.startswith(f"{sought.name} {place_of(written.center)} <box>")
        assert turn.thought.endswith(f" {sought.attributes['mark']}")
        assert 0 <= written.x1 < written.x2 <= SIZE_PX
        assert 0 <= written.y1 < written.y2 <= SIZE_PX
        assert abs(written.x1 - sought.box.x1) <= ASTRAY * sought.box.width + 1
        overlaps.append(iou(written, sought.box))
    # Boxes are to lie on both sides of any threshold.
    assert sum(overlap < 0.3 for overlap in overlaps) > 20
    assert sum(overlap > 0.5 for overlap in overlaps) > 20


def test_an_expert_astray_says_the_same_in_words() -> None:
    example = questions(1)[0]
    [shown] = grounded(example, care="astray", chance=generator_for(0, "one")).turns
    [told] = textual(example, care="astray", chance=generator_for(0, "one")).turns
    assert told.thought.split() == [word for word in shown.thought.split() if not word.startswith("<box>")]


def test_each_kind_of_carelessness_has_its_share_of_the_last_lessons() -> None:
    lessons = StreamLessons(loose_share=0.25, elsewhere_share=0.5, astray_share=0.125, careless_from=0.5)
    draws = (0.0, 0.24, 0.25, 0.74, 0.75, 0.874, 0.875, 0.99)
    assert [lessons.care(draw, 0.49) for draw in draws] == ["careful"] * 8
    assert [lessons.care(draw, 0.5) for draw in draws] == [
        *("loose", "loose", "elsewhere", "elsewhere", "astray", "astray", "careful", "careful")
    ]


def test_shares_of_carelessness_are_shares_of_one_whole() -> None:
    with pytest.raises(UserError, match="must not be more than 1 together"):
        StreamLessons(loose_share=0.3, elsewhere_share=0.5, astray_share=0.3).check()
    with pytest.raises(UserError, match=r"astray_share=-0\.1 is a share"):
        StreamLessons(astray_share=-0.1).check()


def test_to_look_beside_a_thing_needs_chance() -> None:
    example = questions(1)[0]
    for care in ("astray", "elsewhere"):
        with pytest.raises(ValueError, match=f"to look {care} needs chance"):
            grounded(example, care=care)
    assert example.task.family == FAMILIES[0]


def test_four_facts_are_true_and_words_and_boxes_that_leave_some_out_agree_in_part() -> None:
    found = Counter[float]()
    for number, example in enumerate(questions(60, facts=4)):
        for one in example.task.objects:
            x = one.box.center.x
            others = [other.box.center.x for other in example.task.objects if other is not one]
            apart = [other - x for other in others if abs(other - x) > CELL_PX / 2]
            word = {(True, True): "central", (True, False): "rightmost", (False, True): "leftmost"}
            assert one.attributes["across"] == word.get(
                (any(gap < 0 for gap in apart), any(gap > 0 for gap in apart)), "stacked"
            )
        [full], [said] = grounded(example).turns, textual(example).turns
        assert full.action == said.action == Answer(text=example.task.answer)
        boxes = tuple(target.box for target in example.task.targets)
        chance = generator_for(0, "partial", number)
        [part] = textual(example, care="partial", chance=chance).turns
        assert part.action == said.action
        reference = Reference(text=full.thought, boxes=boxes, box_reward=1.0)
        assert asyncio.run(EXACT_OF_FOUR(example.task, reference, said.thought)).value == 1.0
        found[asyncio.run(EXACT_OF_FOUR(example.task, reference, part.thought)).value or 0.0] += 1
        down = next(word for word in DOWN if word in said.thought)
        wrong = said.thought.replace(down, DOWN[DOWN.index(down) - 1])
        assert asyncio.run(EXACT_OF_FOUR(example.task, reference, wrong)).value == 0.0
    assert found[0.7] > 30
    assert found[0.0] == 0


def test_five_of_six_plates_are_asked_for_and_answered() -> None:
    for example in questions(12, families=(draw_plate_five,)):
        assert len(example.task.objects) == 6
        assert len({one.name for one in example.task.objects}) == 6
        assert len(example.task.targets) == 5
        [turn] = grounded(example, grid_px=8.0).turns
        assert turn.thought.count("<box>") == 5
        assert turn.action == Answer(text=example.task.answer)
    with pytest.raises(UserError, match="things=3 must be 2 or 5"):
        TinyIvgrSettings(things=3).check()
