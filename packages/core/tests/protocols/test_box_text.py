"""Boxes in reasoning: every line of the table of ``saccade.protocols.box_text``, both forms, hostile text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.geometry import Box
from saccade.media.resize import ResizeRule, ViewRule
from saccade.protocols.box_text import (
    MAX_BOX_CHARS,
    MAX_BOXES,
    BoxForm,
    FoundBoxes,
    find_boxes,
    has_box_tag,
    read_box,
    thought_to_model,
    without_boxes,
    written_box,
)
from saccade.protocols.coordinates import mentions_to_original
from saccade.types import BoxMention, ImageRef

FORMS: tuple[BoxForm, ...] = ("lenient", "strict")
IMAGE = ImageRef(hash="a" * 64, width=1000, height=500)
HALVED = ResizeRule(factor=50, min_pixels=2500, max_pixels=500 * 250, convention="absolute")
"""Sees the image at 500 x 250 and writes pixels of that view."""
RELATIVE = ResizeRule(factor=50, min_pixels=2500, max_pixels=500 * 250, convention="relative_1000")

PIECES = ("<box>", "</box>", "<box>[1,2,3,4]</box>", "[", "]", ",", "-", ".", "7", "e", " ", "\n", "<", ">", "١", "🐦")


def tagged(content: str) -> str:
    return f"<box>{content}</box>"


def one_mention(content: str, box: Box | None) -> tuple[BoxMention, ...]:
    return (BoxMention(text=content, box=box),)


@pytest.mark.parametrize("form", FORMS)
def test_four_whole_numbers_in_brackets_are_a_box_in_both_forms(form: BoxForm) -> None:
    found = find_boxes("the plate <box>[10,20,30,40]</box> is red", form)
    assert found == FoundBoxes(mentions=one_mention("[10,20,30,40]", Box(10, 20, 30, 40)), is_well_formed=True)


@pytest.mark.parametrize(
    ("content", "box"),
    [
        ("[1, 2, 3, 4]", Box(1, 2, 3, 4)),
        (" [ 1 ,2\t,\n3 , 4 ] ", Box(1, 2, 3, 4)),
        ("[1.5,2.25,3.0,4]", Box(1.5, 2.25, 3, 4)),
        ("[-1,+2,3,4]", Box(-1, 2, 3, 4)),
        ("[-0.5,2,3,4]", Box(-0.5, 2, 3, 4)),
        ("[007,2,3,4]", Box(7, 2, 3, 4)),
        ("[999999999,2,1000000000,4]", Box(999999999, 2, 1e9, 4)),
    ],
)
def test_the_lenient_form_allows_spaces_decimals_and_signs(content: str, box: Box) -> None:
    assert find_boxes(tagged(content)) == FoundBoxes(mentions=one_mention(content, box), is_well_formed=True)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("numbers", [(30, 40, 10, 20), (5, 5, 5, 5), (900000, 0, 900001, 1)])
def test_an_inverted_an_empty_and_a_far_box_stay_as_they_were_written(
    form: BoxForm, numbers: tuple[int, int, int, int]
) -> None:
    content = str(list(numbers)).replace(" ", "")
    assert find_boxes(tagged(content), form) == FoundBoxes(
        mentions=one_mention(content, Box(*numbers)), is_well_formed=True
    )


def test_the_same_box_again_is_mentioned_again() -> None:
    found = find_boxes(tagged("[1,2,3,4]") + tagged("[1,2,3,4]"))
    assert [mention.box for mention in found.mentions] == [Box(1, 2, 3, 4)] * 2
    assert found.is_well_formed


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "[1,2,3]",
        "1,2,3,4",
        "(1,2,3,4)",
        "{1,2,3,4}",
        "[[1,2,3,4]]",
        "[1,2,3,4",
        "1,2,3,4]",
        "[1 2 3 4]",
        "[1;2;3;4]",
        "[1,,2,3,4]",
        "[a,b,c,d]",
        "[one,2,3,4]",
        "[1e2,2,3,4]",
        "[NaN,2,3,4]",
        "[inf,2,3,4]",
        "[0x1,2,3,4]",
        "[1_0,2,3,4]",
        "[--1,2,3,4]",
        "[1.,2,3,4]",
        "[.5,2,3,4]",
        "[1000000001,2,3,4]",
        "[1,2,3,4000000000]",
        "[" + "9" * 13 + ",2,3,4]",
        "[\u0661,\u0662,\u0663,\u0664]",
        "[\uff11,2,3,4]",
        "[1,2,3,\u096a]",
        "the plate",
        "<i>[1,2,3,4]</i>",
    ],
)
def test_what_is_not_four_numbers_in_brackets_is_unreadable(form: BoxForm, content: str) -> None:
    assert find_boxes(tagged(content), form) == FoundBoxes(mentions=one_mention(content, None), is_well_formed=False)


@pytest.mark.parametrize("content", ["[1,2,3,4,5]", "[1,2,3,4] [5,6,7,8]", "[1,2,3,4]."])
def test_the_lenient_form_wants_nothing_after_the_four_numbers(content: str) -> None:
    assert find_boxes(tagged(content)) == FoundBoxes(mentions=one_mention(content, None), is_well_formed=False)


@pytest.mark.parametrize("content", ["[ 1,2,3,4]", "[1, 2, 3, 4]", "[1,2,3,4 ]", "[-1,2,3,4]", "[1.0,2,3,4]"])
def test_the_strict_form_wants_whole_numbers_without_signs_and_spaces(content: str) -> None:
    assert find_boxes(tagged(content), "strict") == FoundBoxes(
        mentions=one_mention(content, None), is_well_formed=False
    )


@pytest.mark.parametrize("content", [" [1,2,3,4]", "[1,2,3,4] ", "\n\t[1,2,3,4]\r\n"])
def test_white_space_around_the_brackets_is_no_matter_in_either_form(content: str) -> None:
    assert [read_box(content, form) for form in FORMS] == [Box(1, 2, 3, 4)] * 2


def test_the_strict_form_ignores_what_follows_the_brackets() -> None:
    assert read_box("[1,2,3,4] and the cup", "strict") == Box(1, 2, 3, 4)
    assert read_box("[1,2,3,4][5,6,7,8]", "strict") == Box(1, 2, 3, 4)
    assert read_box("[1,2,3,4,5]", "strict") is None


@pytest.mark.parametrize(
    ("text", "boxes"),
    [
        ("<box>[1,2,3,4]", []),
        ("a <box>", []),
        ("</box>", []),
        ("[1,2,3,4]</box>", []),
        ("<box>[1,2,3,4]</box></box>", [Box(1, 2, 3, 4)]),
        ("</box><box>[1,2,3,4]</box>", [Box(1, 2, 3, 4)]),
        ("<box><box>[1,2,3,4]</box>", [Box(1, 2, 3, 4)]),
        ("<box><box>[1,2,3,4]</box></box>", [Box(1, 2, 3, 4)]),
        ("<box>[9,9,9,9]<box>[1,2,3,4]</box>", [Box(1, 2, 3, 4)]),
        ("<box>[1,2,3,4]</box><box>[5,6,7,8]", [Box(1, 2, 3, 4)]),
    ],
)
def test_a_tag_without_its_other_half_is_ignored_and_the_turn_is_not_well_formed(text: str, boxes: list[Box]) -> None:
    found = find_boxes(text)
    assert ([mention.box for mention in found.mentions], found.is_well_formed) == (boxes, False)


@pytest.mark.parametrize("text", ["", "a plate at [1,2,3,4]", "<Box>[1,2,3,4]</Box>", "< box >", "<boxes>", "&lt;box>"])
def test_a_text_without_tags_has_no_boxes_and_is_in_order(text: str) -> None:
    assert find_boxes(text) == FoundBoxes(mentions=(), is_well_formed=True)
    assert not has_box_tag(text)


@pytest.mark.parametrize("text", ["<box>", "a </box> b", tagged("[1,2,3,4]")])
def test_half_a_pair_is_a_tag_of_a_box_too(text: str) -> None:
    assert has_box_tag(text)


def test_as_many_boxes_as_are_allowed_are_in_order_and_one_more_is_not() -> None:
    boxes = [tagged(f"[{index},0,{index + 1},1]") for index in range(MAX_BOXES + 1)]
    allowed, more = find_boxes("".join(boxes[:-1])), find_boxes("".join(boxes))
    assert allowed.is_well_formed
    assert not more.is_well_formed
    assert allowed.mentions == more.mentions
    assert len(more.mentions) == MAX_BOXES


def test_a_long_text_between_the_tags_is_cut_in_the_records_and_is_no_box() -> None:
    padded = "[1,2,3,4]" + " " * (MAX_BOX_CHARS - len("[1,2,3,4]"))
    assert read_box(padded) == Box(1, 2, 3, 4)
    found = find_boxes(tagged(padded + " "))
    assert found == FoundBoxes(mentions=one_mention(padded, None), is_well_formed=False)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "text",
    [
        "<box>" * 200_000,
        "</box>" * 200_000,
        "<box>[1,2,3,4]</box>" * 50_000,
        "<box>[" + "1" * 1_000_000,
        "<box>" + "[" * 1_000_000 + "</box>",
        "<box>[" + "1," * 500_000 + "]</box>",
        "<box>[1" + " " * 1_000_000 + "x</box>",
        " " * 1_000_000 + "<box>",
        "<box" * 250_000,
    ],
)
def test_a_million_characters_are_read_at_once(form: BoxForm, text: str) -> None:
    """Anything beyond linear would take hours here."""
    assert len(find_boxes(text, form).mentions) <= MAX_BOXES
    assert not has_box_tag(without_boxes(text))
    assert isinstance(thought_to_model(text, [IMAGE], HALVED), str)


@given(text=st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)))
def test_no_text_is_too_strange_to_be_read(text: str) -> None:
    for form in FORMS:
        found = find_boxes(text, form)
        assert len(found.mentions) <= text.count("</box>")
        if found.is_well_formed:
            assert all(mention.box is not None for mention in found.mentions)
            assert text.count("<box>") == text.count("</box>") == len(found.mentions)
    strict = {mention.text for mention in find_boxes(text, "strict").mentions}
    assert strict == {mention.text for mention in find_boxes(text).mentions}
    assert not has_box_tag(without_boxes(text))
    assert thought_to_model(text, [], HALVED) == text


@given(numbers=st.tuples(*[st.integers(-(10**6), 10**6)] * 4))
def test_a_written_box_reads_back_as_itself(numbers: tuple[int, int, int, int]) -> None:
    box = Box(*map(float, numbers))
    found = find_boxes(written_box(box))
    assert [mention.box for mention in found.mentions] == [box]
    if min(numbers) >= 0:
        assert find_boxes(written_box(box), "strict") == found


def test_a_box_is_written_in_whole_numbers() -> None:
    assert written_box(Box(0.4, 1.6, 100.0, 249.51)) == "<box>[0,2,100,250]</box>"


@pytest.mark.parametrize(
    ("view", "written"),
    [(HALVED, "a cup <box>[50,25,100,100]</box>."), (RELATIVE, "a cup <box>[100,100,200,400]</box>.")],
)
def test_an_experts_box_is_written_in_the_frame_of_the_family_and_read_back_from_it(
    view: ViewRule, written: str
) -> None:
    assert thought_to_model("a cup <box>[100, 50, 200, 200]</box>.", [IMAGE], view) == written
    [mention] = mentions_to_original(find_boxes(written).mentions, [IMAGE], view)
    assert mention.box == Box(100, 50, 200, 200)


def test_boxes_on_several_images_are_on_the_first_one() -> None:
    small = ImageRef(hash="b" * 64, width=500, height=500)
    assert thought_to_model(tagged("[100,50,200,200]"), [IMAGE, small], HALVED) == tagged("[50,25,100,100]")
    assert mentions_to_original(one_mention("", Box(50, 25, 100, 100)), [IMAGE, small], HALVED) == one_mention(
        "", Box(100, 50, 200, 200)
    )


def test_a_box_beyond_the_edge_is_converted_and_not_clipped() -> None:
    [mention] = mentions_to_original(find_boxes(tagged("[-10,400,2000,900]")).mentions, [IMAGE], RELATIVE)
    assert mention.box == Box(-10, 200, 2000, 450)


def test_what_is_no_box_stays_as_it_is() -> None:
    odd = "a <box>no box</box> and <box>[1,2,3]</box> and </box>"
    assert thought_to_model(odd, [IMAGE], HALVED) == odd
    mentions = find_boxes(odd).mentions
    assert mentions_to_original(mentions, [IMAGE], HALVED) == mentions
    assert mentions_to_original(mentions, [], HALVED) == mentions


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("the cup <box>[1,2,3,4]</box> is red", "the cup is red"),
        ("the cup <box>[1,2,3,4]</box>, left of it a plate <box>[5,6,7,8]</box>.", "the cup, left of it a plate."),
        ("the cup<box>[1,2,3,4]</box>is red", "the cup is red"),
        ("the cup (<box>[1,2,3,4]</box>) is red", "the cup () is red"),
        ("<box>[1,2,3,4]</box> is the cup", "is the cup"),
        ("two <box>[1,2,3,4]</box><box>[5,6,7,8]</box> cups", "two cups"),
        ("the cup <box>\nis <box>[1,2,3,4]</box></box> red", "the cup is red"),
        ("no\n\nboxes  here ", "no boxes here"),
        ("<b</box>ox>", "<b ox>"),
        ("", ""),
    ],
)
def test_a_text_without_its_boxes_reads_as_if_there_had_been_none(text: str, bare: str) -> None:
    assert without_boxes(text) == bare
