"""What states of crowds, windows, papers, maps and figures say is what their pictures show."""

import math
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import combinations

import numpy as np
import pytest

from saccade.answer_boxes import clicks_on
from saccade.geometry import Box, Point, iou
from saccade.gym.family import GymFamily
from saccade.gym.grammars.crowds import NUMBERED, SINGLE
from saccade.gym.grammars.floor_plans import EDGE_PX, HALF_PX, FloorPlanState, Opening
from saccade.gym.grammars.function_plots import FunctionsState
from saccade.gym.grammars.invoices import InvoiceState
from saccade.gym.grammars.marked_figures import MarkedState
from saccade.gym.grammars.questionnaires import QuestionnaireState
from saccade.gym.grammars.solids import SolidsState
from saccade.gym.grammars.transit import TransitState
from saccade.gym.grammars.windows import box_of
from saccade.gym.grammars.words import PALETTE
from saccade.gym.levels import Levels
from saccade.gym.looks.instruments import SWEEP, paint_dial
from saccade.gym.looks.raycast import pixels_shown
from saccade.gym.looks.solids import body_of
from saccade.gym.painter import Painter
from saccade.gym.program import Asking
from saccade.gym.programs.solids import visible
from saccade.gym.registry import gym_families
from saccade.gym.rendering import Rendering
from saccade.gym.state import SceneState, as_state
from saccade.seeding import generator_for
from saccade.tasks.drawing import on_circle

LEVELS = (0.0, 0.5, 1.0)


def family_of(name: str) -> GymFamily:
    return gym_families()[name]


def states(name: str) -> list[SceneState]:
    return [family_of(name).grammar.draw(generator_for(11, name, str(level)), Levels(base=level)) for level in LEVELS]


def drawn(name: str, state: SceneState, level: float = 0.5) -> Rendering:
    return family_of(name).renderers[0].render(state, generator_for(12, name), Levels(base=level))


def box_seen(rendering: Rendering, identity: str) -> Box:
    (region,) = rendering.of(identity)
    return region.box


def test_a_crowd_has_people_who_can_be_named_and_hides_none() -> None:
    [easy, _, _] = states("crowds")
    people = easy.of_kind("person")
    worn = [(one.attributes["hat"], one.attributes["shirt"]) for one in people]
    assert sum(worn.count(pair) == 1 for pair in worn) >= SINGLE
    numbers = [one.get("number") for one in people if one.get("number")]
    assert len(set(numbers)) == len(numbers) == NUMBERED
    rendering = drawn("crowds", easy, 0.0)
    assert rendering.images[0].width * rendering.images[0].height >= 4_000_000
    boxes = [box_seen(rendering, one.id) for one in people]
    assert all(30 <= box.height <= 75 for box in boxes)
    assert not any(iou(one, other) for one, other in combinations(boxes[:80], 2))


def test_widgets_that_can_be_clicked_do_not_lie_above_each_other() -> None:
    grammar = family_of("screen_clicks").grammar
    shown = [grammar.draw(generator_for(seed, "windows"), Levels(base=0.5)) for seed in range(8)]
    assert {bool(state.of_kind("dialog")) for state in shown} == {True, False}
    for state in shown:
        rest = [one for one in state.elements if one.kind not in ("window", "title", "dialog", "message", "covered")]
        for one, other in combinations(rest, 2):
            assert iou(box_of(one), box_of(other)) == 0, (one.id, other.id)
        rendering = drawn("screen_clicks", state)
        for one in rest:
            assert iou(box_seen(rendering, one.id), box_of(one)) > 0.95, one.id


def test_a_click_is_right_on_its_widget_and_wrong_on_every_other() -> None:
    family = family_of("screen_clicks")
    for program in family.programs:
        sample = family.sample(generator_for(5, program.name), Levels(), program=program)
        golds = sample.scene.asked.accepted
        clicked = sample.state.element(sample.asked.evidence[-1])
        others = [one for one in sample.state.of_kind(clicked.kind) if one is not clicked]
        middles = {one.id: box_of(one).center for one in (clicked, *others)}
        hits = {key for key, at in middles.items() if any(clicks_on(f"[{at.x}, {at.y}]", gold) for gold in golds)}
        assert hits == {clicked.id}, program.name


def test_marks_on_a_questionnaire_lie_in_the_column_of_their_answer() -> None:
    for state in states("questionnaire"):
        known = as_state(state, QuestionnaireState)
        rendering = drawn("questionnaire", state)
        for index, row in enumerate(known.rows):
            found = [("mark", row.marked), ("old", row.changed)]
            for part, option in ((part, option) for part, option in found if option >= 0):
                mark = box_seen(rendering, f"{part}:{index}")
                heads = [box_seen(rendering, f"option:{one}").center.x for one in range(len(known.scale))]
                assert min(range(len(heads)), key=lambda one: abs(heads[one] - mark.center.x)) == option
                assert abs(mark.center.y - box_seen(rendering, f"row:{index}").center.y) < 12


def test_an_invoice_adds_up_and_its_strokes_lie_on_their_lines() -> None:
    for state in states("invoice"):
        known = as_state(state, InvoiceState)
        cents = {key: round(100 * float(said.replace(",", ""))) for key, said in list(known.printed.items())[4:]}
        subtotal, tax, total = cents.values()
        assert subtotal == sum(line.quantity * line.unit for line in known.lines)
        assert subtotal + tax == total
        rendering = drawn("invoice", state)
        for index, line in enumerate(known.lines):
            for part, is_there in (("tick", line.is_ticked), ("strike", line.is_struck)):
                assert bool(rendering.of(f"{part}:{index}")) == is_there
                if is_there:
                    ware = box_seen(rendering, f"amount:{index}").center.y
                    assert abs(box_seen(rendering, f"{part}:{index}").center.y - ware) < 12


def test_every_line_across_a_transit_map_meets_every_line_down_once() -> None:
    for state in states("transit_map"):
        lines = as_state(state, TransitState).lines
        shared = [len(set(one.stops) & set(other.stops)) for one, other in combinations(lines, 2)]
        half = len(lines) // 2
        assert sorted(shared) == [0] * (half * (half - 1)) + [1] * half**2
        for line in lines:
            places = [state.element(stop).center for stop in line.stops]
            assert places == sorted(places, key=lambda place: (place.x, place.y) if place else (0, 0))


def test_rooms_of_a_floor_plan_tile_it_and_all_can_be_reached() -> None:
    for state in states("floor_plan"):
        plan = as_state(state, FloorPlanState)
        area = sum(plan.area(room) for room in range(len(plan.names)))
        wide, deep = max(cell[2] for cell in plan.cells) / 2, max(cell[3] for cell in plan.cells) / 2
        assert area == wide * deep
        reached = {plan.doors[0].rooms[0]}
        for _ in plan.names:
            reached |= {room for door in plan.doors[1:] if set(door.rooms) & reached for room in door.rooms}
        assert reached == set(range(len(plan.names)))
        for door in (*plan.doors, *plan.windows):
            for room in door.rooms:
                box = plan.box(room)
                on_wall = (door.at.x in (box.x1, box.x2)) if door.is_upright else (door.at.y in (box.y1, box.y2))
                assert on_wall
                assert box.x1 <= door.at.x <= box.x2
                assert box.y1 <= door.at.y <= box.y2


def _door_pixels(wide: int, deep: int, *, is_upright: bool) -> int:
    """What is seen of a door from one room into another of so many half metres, in the middle of the wall."""
    along = (deep if is_upright else wide) / 2
    cells = ((0, 0, wide, deep), (wide, 0, 2 * wide, deep) if is_upright else (0, deep, wide, 2 * deep))
    x, y = (wide, along) if is_upright else (along, deep)
    behind = 0 if is_upright else 1  # the room into which the door does not open
    way_in = Opening(rooms=(behind,), at=Point(EDGE_PX, EDGE_PX + HALF_PX * (cells[behind][1] + 2)), is_upright=True)
    door = Opening(rooms=(0, 1), at=Point(EDGE_PX + HALF_PX * x, EDGE_PX + HALF_PX * y), is_upright=is_upright)
    plan = FloorPlanState(
        elements=(),
        width=2 * EDGE_PX + HALF_PX * cells[1][2],
        height=2 * EDGE_PX + HALF_PX * cells[1][3],
        names=("living room", "dining room"),
        cells=cells,
        doors=(way_in, door),
        windows=(),
    )
    rendering = drawn("floor_plan", plan)
    (region,) = rendering.of("door:1")
    return int(region.mask(*rendering.images[0].size).to_array().sum())


@pytest.mark.parametrize("is_upright", [True, False])
def test_words_of_small_rooms_hide_nothing_of_a_door(is_upright: bool) -> None:
    assert _door_pixels(4, 4, is_upright=is_upright) == _door_pixels(12, 12, is_upright=is_upright)


def test_a_graph_goes_through_the_places_that_are_asked_for() -> None:
    for state in states("function_plot"):
        known = as_state(state, FunctionsState)
        rendering = drawn("function_plot", state)
        pixels = np.asarray(rendering.images[0]).astype(int)
        top = known.curves[-1]  # no other graph is drawn above it
        for x in top.places():
            box = box_seen(rendering, f"place:{top.name}:{x}")
            y1, y2, x1, x2 = (int(side) for side in (box.y1, box.y2, box.x1, box.x2))
            near = np.abs(pixels[y1:y2, x1:x2] - PALETTE[top.colour]).sum(axis=2).min()
            assert near < 60 or 0 in (x, top.at(x)), (top, x)


@pytest.mark.parametrize("seed", range(6))
def test_marked_figures_are_what_their_marks_and_numbers_say(seed: int) -> None:
    state = family_of("marked_figures").grammar.draw(generator_for(seed, "marked"), Levels(base=1.0))
    for figure in as_state(state, MarkedState).figures:
        corners = figure.corners
        sides = [math.dist((a.x, a.y), (b.x, b.y)) for a, b in zip(corners, (*corners[1:], corners[0]))]
        for group in figure.marks.sides:
            assert max(sides[one] for one in group) - min(sides[one] for one in group) < 1e-6
        ratio = [side / length for side, length in zip(sides, figure.lengths)]
        assert max(ratio) / min(ratio) < 1.35
        assert abs(sum(figure.degrees) - 180 * (len(corners) - 2)) <= 2


def test_the_number_that_a_needle_points_at_is_as_black_as_without_the_needle() -> None:
    [_, state, _] = states("dials")
    [one, *_] = state.of_kind("instrument")
    low, high, major = (one.numbers[name] for name in ("low", "high", "major"))
    shown = {}
    for value in (low + major, high):
        moved = replace(one, numbers={**one.numbers, "value": value, "slot": 0.0})
        painter = Painter(384, 384, (190, 190, 190))
        paint_dial(painter, moved)
        shown[value] = np.asarray(painter.image).astype(int)
    start, end = SWEEP
    at = on_circle(Point(96, 104), 192 * 0.44 - 27, start + (end - start) * major / (high - low))
    x, y = round(at.x), round(at.y)
    boxes = [pixels[y - 6 : y + 6, x - 8 : x + 8] for pixels in shown.values()]
    ink = [(box.max(axis=2) < 100) for box in boxes]
    assert ink[1].sum() > 12
    assert (ink[0] == ink[1]).all()


def test_a_solid_of_which_little_is_seen_is_not_spoken_of() -> None:
    family = family_of("solids")
    seen_shares = []
    for seed in range(12):
        state = as_state(family.grammar.draw(generator_for(seed, "hidden"), Levels(base=1.0)), SolidsState)
        bodies = tuple(body_of(one) for one in state.of_kind("solid"))
        counts = pixels_shown(bodies, state.viewpoints[0], state.width)
        shares = [
            count / max(1, pixels_shown((body,), state.viewpoints[0], state.width)[0])
            for count, body in zip(counts, bodies)
        ]
        asking = Asking(
            state=state, render=partial(drawn, "solids", state), rng=generator_for(1), levels=Levels(), coin=0.5
        )
        spoken_of = {one.id for one in visible(asking)}
        seen_shares += [(share, one.id in spoken_of) for share, one in zip(shares, state.of_kind("solid"))]
    assert any(share < 0.2 for share, _ in seen_shares)
    assert all(share >= 0.2 for share, is_spoken_of in seen_shares if is_spoken_of)


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="the extra gym")
def test_the_right_scale_of_two_ends_inside_its_picture() -> None:
    family = family_of("chart_dual")
    look = family.renderer("matplotlib")
    for seed in range(6):
        state = family.grammar.draw(generator_for(seed, "right scale"), Levels(base=seed / 5))
        image = look.render(state, generator_for(seed), Levels(base=seed / 5)).images[0]
        right = np.asarray(image).astype(int)[:, -1]
        assert np.ptp(right, axis=0).max() < 30, seed
