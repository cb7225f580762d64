import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.media.resize import ResizeRule, ViewRule
from saccade.protocols.coordinates import call_to_model, call_to_original, coordinate_formats
from saccade.types import ImageRef, Json, ToolCall, ToolSpec

LARGE = ImageRef(hash="a" * 64, width=2000, height=1000)
SMALL = ImageRef(hash="b" * 64, width=100, height=100)
IMAGES = (LARGE, SMALL)
RELATIVE = ResizeRule(factor=32, min_pixels=4096, max_pixels=1 << 20, convention="relative_1000")
ABSOLUTE = ResizeRule(factor=50, min_pixels=2500, max_pixels=500 * 250, convention="absolute")
SPEC = ToolSpec(
    name="tool",
    description="",
    parameters={
        "type": "object",
        "properties": {
            "image": {"type": "integer", "default": 1},
            "box": {"type": "array", "format": "box"},
            "boxes": {"type": "array", "format": "boxes"},
            "point": {"type": "array", "format": "point"},
            "points": {"type": "array", "format": "points"},
            "when": {"type": "string", "format": "date"},
            "factor": {"type": "number"},
        },
    },
)


def call(**arguments: Json) -> ToolCall:
    return ToolCall(name="tool", arguments=arguments)


def test_coordinates_are_found_through_the_schema() -> None:
    assert coordinate_formats(SPEC) == {"box": "box", "boxes": "boxes", "point": "point", "points": "points"}
    assert coordinate_formats(ToolSpec(name="x", description="", parameters={})) == {}


def test_relative_coordinates_become_pixels_of_the_first_image() -> None:
    wrote = call(box=[250, 500, 1000, 1000], boxes=[[0, 0, 10, 10]], point=[1, 1], points=[[500, 500]], factor=3)
    assert call_to_original(wrote, SPEC, IMAGES, RELATIVE) == call(
        box=[500.0, 500.0, 2000.0, 1000.0],
        boxes=[[0.0, 0.0, 20.0, 10.0]],
        point=[2.0, 1.0],
        points=[[1000.0, 500.0]],
        factor=3,
    )


def test_absolute_coordinates_become_pixels_of_the_image_that_the_call_names() -> None:
    assert ABSOLUTE.view_size(2000, 1000) == (500, 250)
    assert call_to_original(call(box=[0, 10, 50, 25]), SPEC, IMAGES, ABSOLUTE) == call(box=[0.0, 40.0, 200.0, 100.0])
    assert call_to_original(call(image=2, point=[10, 20]), SPEC, IMAGES, ABSOLUTE) == call(image=2, point=[10.0, 20.0])


def test_pixels_become_whole_numbers_of_the_models_frame() -> None:
    assert call_to_model(call(box=[501, 500, 2000, 1000]), SPEC, IMAGES, RELATIVE) == call(box=[250, 500, 1000, 1000])
    assert call_to_model(call(box=[0, 40, 201, 100]), SPEC, IMAGES, ABSOLUTE) == call(box=[0, 10, 50, 25])


@pytest.mark.parametrize(
    "arguments",
    [
        {"box": "1, 2, 3, 4"},
        {"box": [1, 2, 3]},
        {"box": [1, 2, 3, "4"]},
        {"box": [1, 2, 3, True]},
        {"box": [1, 2, 3, None]},
        {"box": [1, 2, 3, 1e999]},
        {"box": [1, 2, 3, 10**4000]},
        {"box": {"x1": 1}},
        {"box": None},
        {"boxes": [1, 2, 3, 4]},
        {"boxes": [[1, 2, 3, 4], [1, 2]]},
        {"boxes": "abcd"},
        {"point": [1, [2]]},
        {"points": [[1, 2], "ab"]},
        {"image": 3, "point": [1, 2]},
        {"image": 0, "point": [1, 2]},
        {"image": "1", "point": [1, 2]},
        {"image": True, "point": [1, 2]},
        {"image": 1.5, "point": [1, 2]},
        {"image": 10**4000, "point": [1, 2]},
        {"when": [1, 2], "unknown": [1, 2, 3, 4]},
    ],
)
def test_what_is_no_coordinate_passes_unchanged(arguments: dict[str, Json]) -> None:
    wrote = ToolCall(name="tool", arguments=arguments)
    assert call_to_original(wrote, SPEC, IMAGES, RELATIVE) == wrote
    assert call_to_model(wrote, SPEC, IMAGES, RELATIVE) == wrote


def test_an_empty_list_of_boxes_stays_empty() -> None:
    assert call_to_original(call(boxes=[]), SPEC, IMAGES, RELATIVE) == call(boxes=[])


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    box=st.lists(st.integers(0, 1000), min_size=4, max_size=4),
    image=st.integers(1, 2),
    view=st.sampled_from([RELATIVE, ABSOLUTE]),
)
def test_what_the_model_writes_survives_the_way_there_and_back(box: list[int], image: int, view: ViewRule) -> None:
    wrote = call(image=image, box=box)
    assert call_to_model(call_to_original(wrote, SPEC, IMAGES, view), SPEC, IMAGES, view) == wrote


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=10,
)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["image", "box", "boxes", "point", "points", "x"]), anything, max_size=6))
def test_no_argument_makes_the_conversion_raise(arguments: dict[str, Json]) -> None:
    call = ToolCall(name="tool", arguments=arguments)
    for converted in (call_to_original(call, SPEC, IMAGES, ABSOLUTE), call_to_model(call, SPEC, IMAGES, RELATIVE)):
        assert converted.arguments.keys() == arguments.keys()
