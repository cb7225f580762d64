"""Frequencies and toolboxes, worked out by hand; the counts of the paper's Table 9."""

import pytest
from tools_samples import found

from saccade.codec.codecs import PLAIN_CODEC
from saccade.codec.wrong import BrokenRecordError
from saccade.curation.linguistic_tools import CuratedTools, ToolSet, build_toolbox, frequencies
from saccade.curation.linguistic_tools.grammar import RefusedTool
from saccade.curation.linguistic_tools.sets import refusals
from saccade.errors import UserError
from saccade.protocols import ChainCall, LinguisticTool, LinguisticToolbox

TABLE_9 = {
    "read_text_element": 964,
    "read_numeric_value": 626,
    "identify_entity_attribute": 259,
    "compare_values": 259,
    "locate_visual_element": 245,
    "compute_percentage": 189,
    "infer_missing_information": 41,
    "subtract_values": 20,
    "add_values": 5,
    "count_matching_values": 3,
}


def test_trajectories_are_counted_not_calls() -> None:
    assert frequencies([["a", "a", "b"], ["b"], [], ["a"]]) == {"a": 2, "b": 2}
    assert list(frequencies([["c"], ["b", "a"], ["a"]])) == ["a", "c", "b"]
    assert frequencies([]) == {}


def test_the_papers_seven_tools_cover_what_its_table_says() -> None:
    sets = [found(0, *TABLE_9)]
    sets += [found(number, *(name for name, count in TABLE_9.items() if number < count)) for number in range(1, 1500)]
    built = build_toolbox(sets)
    assert built.toolbox.names == tuple(TABLE_9)[:7]
    assert {one.tool.name: one.trajectories for one in built.pool} == TABLE_9
    assert built.coverage == pytest.approx(0.989, abs=5e-4)


def test_ties_go_by_first_appearance_and_the_first_description_stays() -> None:
    built = build_toolbox([found(0, "b", "a"), found(1, "a", "c"), found(2, "c", "b")], k=2)
    assert built.toolbox.names == ("b", "a")
    assert [tool.description for tool in built.toolbox.tools] == ["As q0 says.", "As q0 says."]
    assert [(one.tool.name, one.first, one.trajectories, one.calls) for one in built.pool] == [
        ("b", "q0", 2, 2),
        ("a", "q0", 2, 2),
        ("c", "q1", 2, 2),
    ]
    assert built.coverage == pytest.approx(4 / 6)


@pytest.mark.parametrize(("k", "names"), [(1, ("a",)), (2, ("a", "b")), (9, ("a", "b"))])
def test_k_from_one_to_all(k: int, names: tuple[str, ...]) -> None:
    assert build_toolbox([found(0, "a", "b"), found(1, "a")], k=k).toolbox.names == names


def test_no_tools_are_an_empty_toolbox_without_coverage() -> None:
    built = build_toolbox([ToolSet(trajectory="q0")])
    assert (len(built.toolbox), built.coverage, built.pool) == (0, None, ())
    with pytest.raises(UserError, match="k=0 makes an empty toolbox"):
        build_toolbox([], k=0)


CURATED = CuratedTools(
    sets=(
        found(0, "a", "b"),
        found(1, "a"),
        ToolSet(trajectory="q2", status="cut_off", asked=3),
        ToolSet(trajectory="q3", status="no_reply", asked=3),
        ToolSet(
            trajectory="q4",
            tools=(LinguisticTool("a", "x"),),
            calls=(ChainCall(name="a", args="1", finding="2"),) * 3,
            refused=(RefusedTool("zap", "undefined"), RefusedTool("zip", "undefined"), RefusedTool("", "tags")),
        ),
    ),
    k=1,
)


def test_a_curation_counts_what_it_rests_on() -> None:
    assert CURATED.toolbox.names == ("a",)
    assert (CURATED.rests_on, CURATED.coverage) == (3, 0.75)
    assert CURATED.statuses == {"read": 3, "cut_off": 1, "no_reply": 1}
    assert CURATED.refused == refusals(CURATED.sets) == {"undefined": 2, "tags": 1}
    assert {key: len(calls) for key, calls in CURATED.applications.items()} == {"q1": 1, "q4": 3}
    assert CURATED.describe().splitlines() == [
        "  a       3 trajectories       5 uses  first in q0",
        "  not in the toolbox:",
        "  b       1 trajectories       1 uses  first in q0",
        "1 of 2 tools; they cover 75.0% of all uses.",
        "They rest on 3 of 5 right trajectories, fewer than 100: take their order with caution.",
        "1 trajectories were skipped: cut off.",
        "1 trajectories were skipped: without a reply.",
        "Refused: 2 undefined, 1 tags.",
    ]


def test_a_curation_comes_back_from_json_and_its_file_is_a_toolbox() -> None:
    value = CURATED.to_json()
    assert CuratedTools.from_json(value) == CURATED
    assert LinguisticToolbox.from_json(value) == CURATED.toolbox
    with pytest.raises(UserError, match=r"tools.json is no curation of linguistic tools: 'curation'"):
        CuratedTools.from_json(CURATED.toolbox.to_json(), "tools.json")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"status": "done"}, "'status' must be one of"),
        ({"tools": [{"name": "a b", "description": "", "args": ""}]}, "cannot name"),
        ({"calls": [["a", "b", "c"]]}, r"'calls\[0\]' must be an object"),
        ({"refused": [{"name": "a", "why": "bad luck"}]}, r"'refused\[0\].why' must be one of"),
        ({"asked": None}, "'asked' must be a whole number"),
    ],
)
def test_a_set_that_was_damaged_says_where(change: dict[str, object], says: str) -> None:
    with pytest.raises(BrokenRecordError, match=says):
        PLAIN_CODEC.reader(ToolSet).from_json({**CURATED.sets[0].as_json(), **change}, "the set")  # type: ignore[dict-item]
