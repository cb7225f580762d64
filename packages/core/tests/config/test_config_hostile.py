"""YAML, TOML and JSON from strangers: a few bytes may stand for millions of values, and the answer is one message."""

import json
from pathlib import Path

import pytest

from odd_files import answer_of
from saccade.config.config_file import read_config
from saccade.config.yaml_text import MAX_LEVELS, MAX_NODES, yaml_value
from saccade.errors import UserError
from saccade.evaluation.prices import read_price
from saccade.parsing import json_value, toml_table
from saccade.runs.runinfo import read_json_object
from saccade.tools.catalogue.settings import read_tools_file


def aliases(levels: int) -> str:
    """Mappings of eight aliases each, of the mapping before."""
    first = "a0: &a0 {x: 1, y: 2}\n"
    eight = [", ".join(f"{name}: *a{level - 1}" for name in "abcdefgh") for level in range(1, levels)]
    return first + "".join(f"a{level}: &a{level} {{{inside}}}\n" for level, inside in enumerate(eight, start=1))


CHAIN = "a0: &a0 [1]\n" + "".join(f"a{place}: &a{place} [*a{place - 1}]\n" for place in range(1, 500))

HOSTILE_YAML = {
    "aliases of aliases": (aliases(8), "more than 10000 values", 5),
    "a mapping inside itself": ("a: &a {b: *a}\n", "stands inside of what it stands for", 1),
    "a list inside itself": ("b: 1\na: &a [*a]\n", "stands inside of what it stands for", 2),
    "a key that is its mapping": ("&a {*a : 1}", "stands inside of what it stands for", 1),
    "lists in lists": ("b: 1\na: " + "[" * 5000, "more than 50 levels", 2),
    "mappings in mappings": ("a: " + "{a: " * 5000, "more than 50 levels", 1),
    "blocks in blocks": ("a:\n" + "- " * 5000 + "x", "more than 50 levels", 2),
    "levels behind aliases": (CHAIN, "more than 50 levels", 49),
    "many values": ("a: [" + "1," * 200_000 + "1]", "more than 10000 values", 1),
    "no such alias": ("a: *x", "undefined alias", 1),
}


@pytest.mark.parametrize("name", HOSTILE_YAML)
def test_hostile_yaml_is_one_message_with_its_line(tmp_path: Path, name: str) -> None:
    text, why, line = HOSTILE_YAML[name]
    file = tmp_path / "c.yaml"
    file.write_text(text)
    found = answer_of(lambda: read_config(file))
    assert isinstance(found, UserError)
    assert why in str(found)
    assert f"line {line}," in str(found)


@pytest.mark.parametrize(
    "value", ["9" * 6000, "0x" + "f" * 9000, ":".join(["59"] * 5000), "!!bool maybe", "!!int foo", "!!float x"]
)
def test_a_number_that_is_none_is_one_message_with_its_line(tmp_path: Path, value: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(f"b: 1\na: [{value}]\n")
    found = answer_of(lambda: read_config(file))
    assert isinstance(found, UserError)
    assert f"{file}:2: " in str(found)


def test_values_that_json_does_not_know_are_their_texts(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(
        "a: [.nan, .inf, 2024-13-45, !!binary '%', !!python/object/apply:os.system x]\nb: &b 1\nc: [*b, *b]"
    )
    overrides = read_config(file).overrides
    assert json.loads(overrides[0].partition("=")[2]) == ["nan", "inf", "2024-13-45", "%", "x"]
    assert overrides[2] == "c=[1, 1]"


def test_the_limits_of_yaml_are_what_they_say() -> None:
    assert yaml_value("[" * MAX_LEVELS + "]" * MAX_LEVELS) is not None
    assert len(list(yaml_value("[" + "1," * (MAX_NODES - 1) + "]"))) == MAX_NODES - 1  # type: ignore[arg-type]
    for text in (
        "[" * (MAX_LEVELS + 1) + "]" * (MAX_LEVELS + 1),
        "[" + "1," * MAX_NODES + "]",
        "a: &a [*a]",
        "!!bool x",
    ):
        with pytest.raises(ValueError):
            yaml_value(text)


HOSTILE_TOML = {
    "a key of many parts": "a" + ".a" * 100_000 + " = 1",
    "a table of many parts": "[" + "a." * 50_000 + "a]",
    "quoted parts": '"a b"' + '."a b"' * 30_000 + " = 1",
    "lists in lists": "a = " + "[" * 5000,
    "tables in tables": "a = " + "{a = " * 5000,
    "levels": "a" + ".a" * 150 + " = 1",
    "many lines": "a = 1\n" * 300_000,
    "a long number": "a = " + "9" * 6000,
    "a long number in base 16": "[tools.crop]\nx = 0x" + "f" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE_TOML)
def test_hostile_toml_is_one_message(tmp_path: Path, name: str) -> None:
    file = tmp_path / "tools.toml"
    file.write_text(HOSTILE_TOML[name])
    assert isinstance(answer_of(lambda: toml_table(HOSTILE_TOML[name])), ValueError)
    for read in (read_tools_file, lambda path: read_price(path, "m")):
        found = answer_of(lambda read=read: read(file))  # type: ignore[misc]
        assert isinstance(found, UserError)
        assert str(file) in str(found)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 500 + "1" + "}" * 500, "9" * 6000, '{"a": ' + "9" * 400 + "}"]
)
def test_hostile_json_is_one_message(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(text)
    with pytest.raises(ValueError):
        json_value(text)
    with pytest.raises(UserError, match=r"settings\.json cannot be read: "):
        read_json_object(file)


def test_ordinary_json_and_toml_are_read_as_they_are() -> None:
    values = {"a": [1, 2.5, None, True, {"b": "c"}], "d": -(2**1000)}
    assert json_value(json.dumps(values)) == json_value(json.dumps(values).encode()) == values
    assert toml_table('a.b = 1\n[c]\nd = ["x", {e = 0xff}]') == {"a": {"b": 1}, "c": {"d": ["x", {"e": 255}]}}
