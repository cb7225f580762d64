"""What other programs and people write, read leniently; hostile bodies are one clear error."""

import json
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import pytest

from saccade.codec.bounds import Bounds
from saccade.codec.codecs import FOREIGN_CODEC, Codec, plain_json
from saccade.codec.docs import field_docs
from saccade.codec.forms import Form
from saccade.codec.wrong import BrokenRecordError
from saccade.types import Json

LARGEST = (1 << 63) - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Knob:
    """A part of a letter."""

    name: Annotated[str, Bounds(least=1, most=8)]
    turns: Annotated[int, Bounds(least=0, most=LARGEST)] = 0
    """How far it is turned."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Letter:
    """A body that another program may send."""

    FORM: ClassVar = Form(also=("count",))

    colour: Literal["red", "green"] = "red"
    share: Annotated[float, Bounds(above=0, most=1)] | None = None
    """Part of the whole."""
    knobs: Annotated[tuple[Knob, ...], Bounds(most=2)] = ()
    extra: dict[str, Json] = field(default_factory=dict)
    words: str = ""

    @property
    def count(self) -> int:
        return len(self.knobs)


CLOSED = Codec({Letter: Form(is_closed=True), Knob: Form(is_closed=True)}, is_lenient=True)


def read(text: str | bytes) -> Letter:
    return CLOSED.read(Letter, text, "the letter")


def test_fields_with_a_default_may_be_missing_or_null_and_foreign_keys_are_left_alone() -> None:
    assert read("{}") == read('{"share": null, "knobs": null, "words": null}') == Letter()
    assert FOREIGN_CODEC.read(Letter, '{"colour": "green", "more": [1]}', "the letter") == Letter(colour="green")
    assert FOREIGN_CODEC.read(Letter, '{"share": 1}', "the letter").share == 1.0


def test_what_is_read_is_written_with_its_properties() -> None:
    letter = read('{"share": 0.5, "knobs": [{"name": "a", "turns": 3}]}')
    assert letter == Letter(share=0.5, knobs=(Knob(name="a", turns=3),))
    assert plain_json(letter) == {
        "colour": "red",
        "share": 0.5,
        "knobs": [{"name": "a", "turns": 3}],
        "extra": {},
        "words": "",
        "count": 1,
    }


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "the letter is not JSON (Expecting value"),
        ("\x00", "the letter is not JSON"),
        (b"\xff\xfe\xfd", "the letter is not JSON"),
        ("{", "the letter is not JSON"),
        ('{"words": "a"} {}', "the letter is not JSON (Extra data"),
        ("[" * 100_000, "the letter is not JSON (maximum recursion"),
        ('{"extra": ' + "[" * 100_000 + "]" * 100_000 + "}", "the letter is not JSON"),
        ('{"knobs": ' + "9" * 5000 + "}", "the letter is not JSON (Exceeds the limit"),
        ("null", "the letter must be a JSON object, not None"),
        ("[]", "the letter must be a JSON object, not []"),
        ('"{}"', "the letter must be a JSON object, not '{}'"),
        ("NaN", "the letter must be a JSON object, not nan"),
        ('{"colour": "blue"}', "'colour' must be one of red, green, not 'blue'"),
        ('{"colour": ["red"]}', "'colour' must be one of red, green, not ['red']"),
        ('{"colour": "\\ud800"}', "the letter has no such option: '\\ud800' holds half a surrogate pair"),
        ('{"share": 0}', "'share' must be a number above 0 and at most 1, not 0"),
        ('{"share": NaN}', "'share' must be a number above 0 and at most 1, not nan"),
        ('{"share": 1e999}', "'share' must be a number above 0 and at most 1, not inf"),
        ('{"share": -Infinity}', "'share' must be a number above 0 and at most 1, not -inf"),
        ('{"share": ' + "9" * 400 + "}", "'share' must be a number above 0 and at most 1, not 9999"),
        ('{"share": true}', "'share' must be a number above 0 and at most 1, not True"),
        ('{"share": "0.5"}', "'share' must be a number above 0 and at most 1, not '0.5'"),
        ('{"knobs": {"name": "a"}}', "'knobs' must be a list of at most 2 items, not {'name': 'a'}"),
        ('{"knobs": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}', "'knobs' must be a list of at most 2 items, not"),
        ('{"knobs": [7]}', "'knobs[0]' must be an object, not 7"),
        ('{"knobs": [{}]}', "'name' is missing in knobs[0]"),
        ('{"knobs": [{"name": ""}]}', "'knobs[0].name' must be text of 1 to 8 characters, not ''"),
        (
            '{"knobs": [{"name": "\\ud800\\ud800\\ud800\\ud800\\ud800\\ud800\\ud800\\ud800\\ud800"}]}',
            "must be text of 1",
        ),
        (
            '{"knobs": [{"name": "a", "turns": -1}]}',
            f"'knobs[0].turns' must be a whole number from 0 to {LARGEST}, not -1",
        ),
        ('{"knobs": [{"name": "a", "turns": 1.0}]}', "'knobs[0].turns' must be a whole number from 0 to"),
        (
            '{"knobs": [{"name": "a", "turns": 9223372036854775808}]}',
            "'knobs[0].turns' must be a whole number from 0 to",
        ),
        ('{"knobs": [{"name": "a", "turns": ' + "9" * 400 + "}]}", "'knobs[0].turns' must be a whole number from 0 to"),
        ('{"knobs": [{"name": "a", "turn": 1}]}', "'turn' is an unknown key in knobs[0]; did you mean 'turns'?"),
        ('{"qqqq": 1}', "'qqqq' is an unknown key in the letter; known are colour, share, knobs, extra, words"),
        ('{"' + "k" * 9000 + '": 1}', "is an unknown key in the letter; known are colour"),
        ('{"extra": [1]}', "'extra' must be an object, not [1]"),
        ('{"words": {"a": 1}}', "'words' must be text, not {'a': 1}"),
    ],
)
def test_a_hostile_body_is_one_clear_error(body: str | bytes, said: str) -> None:
    with pytest.raises(BrokenRecordError) as caught:
        read(body)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


def test_an_error_knows_the_place_of_what_is_wrong() -> None:
    for body, place in (
        ({"knobs": [{"name": "a"}, {"name": "b", "turns": "x"}]}, "knobs[1].turns"),
        ({"knobs": [{}]}, "knobs[0].name"),
        ({"colours": "red"}, "colours"),
        ([], ""),
    ):
        with pytest.raises(BrokenRecordError) as caught:
            read(json.dumps(body))
        assert caught.value.place == place


def test_half_a_surrogate_pair_is_read_as_it_stands() -> None:
    assert read('{"words": "\\ud800"}').words == read('{"words": "\ud800"}').words == "\ud800"


def test_schemas_have_the_limits_and_docs_the_texts_below_fields() -> None:
    schemas = CLOSED.schemas(Letter)
    assert set(schemas) == {"Letter", "Knob"}
    turns = schemas["Knob"]["properties"]["turns"]["anyOf"]
    assert {key: turns[0][key] for key in ("type", "minimum")} == {"type": "integer", "minimum": 0}
    assert field_docs(Letter) == {"share": "Part of the whole."}


def test_two_classes_of_one_name_are_not_taken_for_each_other() -> None:
    other = dataclass(frozen=True)(type("Knob", (), {"__annotations__": {"name": str}, "__module__": __name__}))
    plain_json(Knob(name="a"))
    with pytest.raises(AssertionError, match="two classes are called Knob"):
        plain_json(other("a"))
