from functools import partial
from typing import Annotated, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from saccade.errors import BrokenToolError, MachineError, ToolError, UserError
from saccade.geometry import Box, Point
from saccade.media.store import MediaStore
from saccade.tools.tool import MAX_RESULT_TEXT_CHARS, ToolOutput, check_names, find_tool, tool_from
from saccade.types import ImageRef, Json, ToolResult, ToolSpec


def everything(
    image: Image.Image,
    text: Annotated[str, "what to say"],
    count: int,
    factor: float = 1.5,
    is_fast: bool = False,
    side: Literal["left", "right"] = "left",
) -> ToolOutput:
    """Do everything.

    This paragraph is for programmers.
    """
    return ToolOutput(text=f"{image.width} {text} {count!r} {factor!r} {is_fast} {side}")


def places(box: Box, point: Point, boxes: list[Box], points: list[Point]) -> str:
    """Say where things are."""
    return f"{box} {point} {boxes} {points}"


def store_and_image() -> tuple[MediaStore, ImageRef]:
    media = MediaStore()
    return media, media.add(Image.new("RGB", (40, 30), (10, 20, 30)))


def test_the_schema_is_derived_from_the_signature_and_the_docstring() -> None:
    assert tool_from(everything).spec == ToolSpec(
        name="everything",
        description="Do everything.",
        parameters={
            "type": "object",
            "properties": {
                "image": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "number of the image, counted from 1 in order of appearance",
                    "default": 1,
                },
                "text": {"type": "string", "maxLength": 4096, "description": "what to say"},
                "count": {"type": "integer"},
                "factor": {"type": "number", "default": 1.5},
                "is_fast": {"type": "boolean", "default": False},
                "side": {"type": "string", "enum": ["left", "right"], "default": "left"},
            },
            "required": ["text", "count"],
            "additionalProperties": False,
        },
    )


def test_coordinates_carry_their_format() -> None:
    numbers = {"type": "number"}
    assert tool_from(places).spec.parameters["properties"] == {
        "box": {"type": "array", "items": numbers, "minItems": 4, "maxItems": 4, "format": "box"},
        "point": {"type": "array", "items": numbers, "minItems": 2, "maxItems": 2, "format": "point"},
        "boxes": {
            "type": "array",
            "items": {"type": "array", "items": numbers, "minItems": 4, "maxItems": 4},
            "minItems": 1,
            "maxItems": 64,
            "format": "boxes",
        },
        "points": {
            "type": "array",
            "items": {"type": "array", "items": numbers, "minItems": 2, "maxItems": 2},
            "minItems": 1,
            "maxItems": 64,
            "format": "points",
        },
    }


def test_a_call_gets_its_arguments_in_their_types_and_the_first_image_by_default() -> None:
    media, image = store_and_image()
    tool = tool_from(everything)
    assert tool.call({"text": "hi", "count": 2.0}, (image,), media) == ToolResult(text="40 hi 2 1.5 False left")
    assert tool.call(
        {"text": "hi", "count": 2, "factor": 3, "is_fast": True, "side": "right", "image": 1}, (image,), media
    ) == ToolResult(text="40 hi 2 3.0 True right")


def test_coordinates_arrive_as_boxes_and_points() -> None:
    arguments: dict[str, Json] = {"box": [1, 2, 3, 4], "point": [5, 6.5], "boxes": [[1, 2, 3, 4]], "points": [[1, 2]]}
    assert tool_from(places).call(arguments, (), MediaStore()).text == (
        f"{Box(1, 2, 3, 4)} {Point(5, 6.5)} {[Box(1, 2, 3, 4)]} {[Point(1, 2)]}"
    )


def test_the_image_is_chosen_by_its_number() -> None:
    media, first = store_and_image()
    second = media.add(Image.new("RGB", (7, 7)))
    result = tool_from(everything).call({"text": "", "count": 0, "image": 2}, (first, second), media)
    assert result.text.startswith("7 ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": "a"}, "the argument count is missing; it is a whole number, without quotes"),
        ({"text": "a", "count": "2"}, 'the argument count is "2", but it must be a whole number, without quotes'),
        ({"text": "a", "count": True}, "the argument count is true, but it must be a whole number, without quotes"),
        ({"text": "a", "count": 2.5}, "the argument count is 2.5, but it must be a whole number, without quotes"),
        (
            {"text": "a", "count": 10**5000},
            "the argument count is a number that is too large, but it must be a whole number, without quotes",
        ),
        (
            {"text": "a", "count": 1, "factor": float("nan")},
            "the argument factor is NaN, but it must be a number, without quotes",
        ),
        (
            {"text": "a", "count": 1, "factor": float("inf")},
            "the argument factor is Infinity, but it must be a number, without quotes",
        ),
        (
            {"text": "a", "count": 1, "factor": None},
            "the argument factor is null, but it must be a number, without quotes",
        ),
        ({"text": "a", "count": 1, "is_fast": 1}, "the argument is_fast is 1, but it must be true or false"),
        ({"text": "a", "count": 1, "side": "up"}, 'the argument side is "up", but it must be one of "left", "right"'),
        ({"text": ["a"], "count": 1}, 'the argument text is ["a"], but it must be a text of at most 4096 characters'),
        (
            {"text": {"a": "b"}, "count": 1},
            "the argument text is an object, but it must be a text of at most 4096 characters",
        ),
        (
            {"text": "a", "count": 1, "image": 2},
            "the argument image is 2, but it must be the number of an image, from 1 to 1",
        ),
        (
            {"text": "a", "count": 1, "image": "1"},
            'the argument image is "1", but it must be the number of an image, from 1 to 1',
        ),
        (
            {"text": "a", "cuont": 1},
            'there is no argument "cuont"; the arguments are image, text, count, factor, is_fast, side; '
            "did you mean count?",
        ),
        ({"qqq": 1}, 'there is no argument "qqq"; the arguments are image, text, count, factor, is_fast, side'),
    ],
)
def test_a_wrong_argument_is_named_with_what_was_given_and_what_is_allowed(
    arguments: dict[str, Json], message: str
) -> None:
    media, image = store_and_image()
    with pytest.raises(ToolError) as caught:
        tool_from(everything).call(arguments, (image,), media)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("box", [1, 2, 3], "is [1, 2, 3], but it must be a box [x1, y1, x2, y2] of four numbers"),
        ("box", [1, 2, 3, "4"], 'is [1, 2, 3, "4"], but it must be a box [x1, y1, x2, y2] of four numbers'),
        ("box", "1, 2, 3, 4", 'is "1, 2, 3, 4", but it must be a box [x1, y1, x2, y2] of four numbers'),
        ("point", [1, False], "is [1, false], but it must be a point [x, y] of two numbers"),
        ("boxes", [1, 2, 3, 4], "is [1, 2, 3, 4], but it must be a list of 1 to 64 boxes [x1, y1, x2, y2]"),
        ("boxes", [], "is [], but it must be a list of 1 to 64 boxes [x1, y1, x2, y2]"),
        ("points", [[1, 2], [1]], "is [[…], […]], but it must be a list of 1 to 64 points [x, y]"),
        (
            "points",
            [[1, 2]] * 65,
            "is [[…], […], […], […], […], […], […], […], …], but it must be a list of 1 to 64 points [x, y]",
        ),
    ],
)
def test_a_wrong_coordinate_is_named(name: str, value: Json, message: str) -> None:
    good: dict[str, Json] = {"box": [1, 2, 3, 4], "point": [1, 2], "boxes": [[1, 2, 3, 4]], "points": [[1, 2]]}
    with pytest.raises(ToolError) as caught:
        tool_from(places).call({**good, name: value}, (), MediaStore())
    assert str(caught.value) == f"the argument {name} {message}"


def test_a_long_wrong_value_is_cut_in_the_error() -> None:
    with pytest.raises(ToolError) as caught:
        tool_from(places).call({"box": "x" * 100_000}, (), MediaStore())
    assert len(str(caught.value)) < 200


def test_a_wrong_tool_name_lists_the_names_and_the_nearest() -> None:
    tools = (tool_from(everything), tool_from(places))
    assert find_tool("places", tools) is tools[1]
    with pytest.raises(ToolError) as caught:
        find_tool("place", tools)
    assert str(caught.value) == 'there is no tool "place"; the tools are everything, places; did you mean places?'
    with pytest.raises(ToolError) as caught:
        find_tool("x" * 10_000, tools)
    assert str(caught.value) == f'there is no tool "{"x" * 59}…; the tools are everything, places'
    with pytest.raises(ToolError, match="no tools are offered here"):
        find_tool("crop", ())


def test_pictures_that_a_tool_gives_back_are_kept_in_the_store() -> None:
    def shrink(image: Image.Image) -> Image.Image:
        """Make it small."""
        return image.resize((2, 2))

    media, image = store_and_image()
    result = tool_from(shrink).call({}, (image,), media)
    assert result == ToolResult(images=(media.add(Image.new("RGB", (2, 2), (10, 20, 30))),))
    assert media.get(result.images[0]).size == (2, 2)


def test_a_result_without_pictures_may_be_returned_as_it_is() -> None:
    def tell() -> ToolResult:
        """Tell."""
        return ToolResult(text="x" * 20_000, data={"a": 1})

    result = tool_from(tell).call({}, (), MediaStore())
    assert result == ToolResult(text="x" * MAX_RESULT_TEXT_CHARS + "… (cut)", data={"a": 1})


def test_a_call_on_which_the_tool_breaks_is_the_callers_and_a_broken_machine_is_not() -> None:
    def refuse() -> str:
        """Refuse."""
        raise ToolError("not today")

    def break_down() -> str:
        """Break."""
        raise ZeroDivisionError("oops")

    with pytest.raises(ToolError, match="not today"):
        tool_from(refuse).call({}, (), MediaStore())
    # Its own words may hold what differs from run to run.
    with pytest.raises(
        BrokenToolError, match=r"^break_down failed on this call \(ZeroDivisionError\); change the call$"
    ):
        tool_from(break_down).call({}, (), MediaStore())


class HTTPConnectError(Exception):
    """As clients of HTTP have it."""


@pytest.mark.parametrize(
    ("error", "is_machines"),
    [
        (ValueError("no"), False),
        (MemoryError(), False),
        (RecursionError(), False),
        (OSError("cannot write mode F as PNG"), False),
        (FileNotFoundError(2, "no such file"), False),
        (OSError(28, "no space left"), True),
        (ConnectionResetError("gone"), True),
        (TimeoutError(), True),
        (ImportError("no torch"), True),
        (HTTPConnectError("gone"), True),
        (RuntimeError("CUDA error: device-side assert"), True),
        (RuntimeError("shapes do not fit"), False),
        (MachineError("down"), True),
    ],
    ids=repr,
)
def test_only_disks_networks_and_devices_take_a_call_out_of_its_group(error: Exception, is_machines: bool) -> None:
    def fail() -> str:
        """Fail."""
        raise error

    with pytest.raises(MachineError if is_machines else BrokenToolError):
        tool_from(fail).call({}, (), MediaStore())


def test_what_cannot_be_shown_or_recorded_is_told_to_the_model() -> None:
    def flood() -> ToolOutput:
        """Flood."""
        return ToolOutput(images=(Image.new("RGB", (1, 1)),) * 17)

    def swell() -> Image.Image:
        """Swell."""
        return Image.new("1", (5000, 5000))

    def vanish() -> Image.Image:
        """Vanish."""
        return Image.new("RGB", (0, 9))

    def glare() -> Image.Image:
        """Glare."""
        return Image.new("F", (9, 9), 7e9)

    def forget() -> str:
        """Forget."""
        return None  # type: ignore[return-value]

    def divide() -> ToolOutput:
        """Divide."""
        return ToolOutput(text="nan", data={"share": float("nan")})

    for tool, said in (
        (flood, "gave 17 images"),
        (swell, "5000 x 5000 px"),
        (vanish, "0 x 9 px"),
        (glare, "cannot be shown"),
        (forget, "TypeError"),
        (divide, "ValueError"),
    ):
        with pytest.raises(BrokenToolError, match=said):
            tool_from(tool).call({}, (), MediaStore())


def undocumented(x: int) -> str:
    return str(x)


def untyped(x) -> str:  # type: ignore[no-untyped-def]
    """Do."""
    return str(x)


def optional(x: int | None = None) -> str:
    """Do."""
    return str(x)


def of_numbers(x: list[int]) -> str:
    """Do."""
    return str(x)


def of_number_choices(x: Literal[1, 2]) -> str:
    """Do."""
    return str(x)


def starred(*x: int) -> str:
    """Do."""
    return str(x)


def misnamed(picture: Image.Image) -> str:
    """Do."""
    return str(picture.size)


def mistyped(image: int) -> str:
    """Do."""
    return str(image)


def boxed(x: Box = Box(0, 0, 1, 1)) -> str:
    """Do."""
    return str(x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (undocumented, "has no docstring"),
        (untyped, "the parameter x has no type"),
        (optional, "which a model cannot write"),
        (of_numbers, "which a model cannot write"),
        (of_number_choices, "which a model cannot write"),
        (starred, "cannot be named in a call"),
        (misnamed, "a parameter is called image exactly when"),
        (mistyped, "a parameter is called image exactly when"),
        (boxed, "is not a text, number or boolean"),
    ],
)
def test_a_function_that_a_model_could_not_call_is_refused(function: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        tool_from(function)  # type: ignore[arg-type]


def test_a_deadline_must_be_positive() -> None:
    make = partial(tool_from, places)
    for deadline_s in (0.0, -1.0, float("nan")):
        with pytest.raises(UserError, match="leaves no time"):
            make(deadline_s=deadline_s)


def test_two_tools_must_not_share_a_name() -> None:
    check_names((tool_from(places), tool_from(everything)))
    with pytest.raises(UserError, match="two tools are called places"):
        check_names((tool_from(places), tool_from(places)))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
argument_names = st.sampled_from(["box", "point", "boxes", "points", "text", "count", "image", "side", "zzz"])


TOOLS = (tool_from(everything), tool_from(places))
STORE_AND_IMAGE = store_and_image()


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.dictionaries(argument_names, anything, max_size=7))
def test_no_argument_makes_a_tool_raise_anything_but_a_tool_error(arguments: dict[str, Json]) -> None:
    media, image = STORE_AND_IMAGE
    for tool in TOOLS:
        try:
            message = tool.call(arguments, (image,), media).text
        except ToolError as error:
            message = str(error)
        assert 0 < len(message) < 2000


def test_coordinates_may_be_left_out() -> None:
    def look(image: Image.Image, box: Box | None = None, points: list[Point] | None = None) -> str:
        """Look."""
        return f"{box} {points}"

    tool, media = tool_from(look), MediaStore()
    picture = media.add(Image.new("RGB", (8, 8)))
    assert tool.spec.parameters["required"] == []
    assert all("default" not in tool.spec.parameters["properties"][name] for name in ("box", "points"))
    assert tool.call({}, [picture], media).text == "None None"
    assert tool.call({"box": [1, 2, 3, 4]}, [picture], media).text == f"{Box(1, 2, 3, 4)} None"
    with pytest.raises(ToolError, match="the argument box is null"):
        tool.call({"box": None}, [picture], media)
