"""Flow charts: ways through one that was made by hand, and lanes of drawn ones that never cross."""

from itertools import combinations

from saccade.gym.grammars.flow_charts import FlowState, arrow_id, draw_flow_chart
from saccade.gym.levels import Levels
from saccade.gym.programs.flow_charts import shortest_way, ways_of
from saccade.gym.programs.flow_solvers import solve_again, solve_avoided, solve_reached, solve_shortest
from saccade.gym.state import Element, Link
from saccade.seeding import generator_for

ARROWS = (
    *(("Start", "next", "Wash"), ("Wash", "next", "Dry?"), ("Dry?", "yes", "Fold"), ("Dry?", "no", "Wash")),
    *(("Fold", "next", "Full?"), ("Full?", "no", "Pack"), ("Full?", "yes", "End"), ("Pack", "next", "End")),
)


def chart(arrows: tuple[tuple[str, str, str], ...] = ARROWS) -> FlowState:
    names = list(dict.fromkeys(name for first, _, to in arrows for name in (first, to)))
    return FlowState(
        elements=tuple(Element(id=name, kind="box", name=name) for name in names),
        links=tuple(Link(kind=word, first=first, second=to) for first, word, to in arrows),
        is_mirrored=False,
    )


def test_the_shortest_way_takes_the_fewest_arrows() -> None:
    ways = ways_of(chart())
    assert shortest_way(ways, "Start", "End")[::2] == ["Start", "Wash", "Dry?", "Fold", "Full?", "End"]
    assert shortest_way(ways, "Start", "End")[1::2][-1] == arrow_id("Full?", "yes")
    assert solve_shortest(chart(), {}) == "4"


def test_a_way_to_itself_is_a_loop() -> None:
    ways = ways_of(chart())
    assert shortest_way(ways, "Wash", "Wash")[::2] == ["Wash", "Dry?", "Wash"]
    assert shortest_way(ways, "Pack", "Pack") == []
    assert [solve_again(chart(), {"box": name}) for name in ("Wash", "Fold", "Pack")] == ["yes", "no", "no"]


def test_a_box_can_be_avoided_where_another_way_leads_to_the_end() -> None:
    assert [solve_avoided(chart(), {"box": name}) for name in ("Wash", "Fold", "Pack")] == ["no", "no", "yes"]


def test_answers_are_followed_from_the_start() -> None:
    said = {"no": "Wash", "yes": "Fold", "no, then yes": "Fold", "no, then no, then yes, then no": "Pack"}
    assert {answers: solve_reached(chart(), {"answers": answers}) for answers in said} == said


def test_ways_back_share_no_lane_and_neither_do_ways_on() -> None:
    kinds = set()
    for index in range(200):
        state = draw_flow_chart(generator_for(0, "chart", index), Levels(base=index % 5 / 4))
        box = {one.id: one for one in state.of_kind("box")}
        rows = {name: one.numbers["row"] for name, one in box.items()}
        back = [(rows[link.second], rows[link.first]) for link in state.links if rows[link.second] < rows[link.first]]
        on = [
            (rows[link.first], rows[link.second])
            for link in state.links
            if box[link.first].numbers["column"] or rows[link.second] > rows[link.first] + 1
        ]
        assert all(max(a) < min(b) or max(b) < min(a) for a, b in combinations(back, 2))
        assert all(max(a) <= min(b) or max(b) <= min(a) for a, b in combinations(on, 2))
        assert len({one.name for one in box.values()}) == len(box)
        assert all(rows[name] <= rows["box:0"] or shortest_way(ways_of(state), "box:0", name) for name in box)
        kinds |= {bool(back), bool(on), len(box)}
    assert {False, True} < kinds
