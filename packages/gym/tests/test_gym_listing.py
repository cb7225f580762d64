"""Families as the command lists them."""

import json

import pytest
from click.testing import CliRunner

from places import ROOT
from saccade.cli.families import families
from saccade.errors import UserError
from saccade.gym.registry import gym_families

PAGE = ROOT / "docs" / "gym_families.md"


def test_the_command_lists_families_programs_and_how_many_there_are() -> None:
    listed = CliRunner().invoke(families, ["shape_counts"]).output
    assert "shape_counts/parity: Is the number of {group} even or odd?" in listed
    assert listed.splitlines()[-1] == "1 families, 10 programs, 1 domains; 0 families need a closer look"


def test_a_domain_and_json_are_for_programs() -> None:
    lines = CliRunner().invoke(families, ["--domain", "counting", "--json"]).output.splitlines()
    found = [json.loads(line) for line in lines]
    assert {one["domain"] for one in found} == {"counting"}
    assert [one["name"] for one in found] == [
        family.name for family in gym_families().values() if family.domain == "counting"
    ]


def test_the_page_has_a_row_for_every_family_and_is_that_of_the_documentation() -> None:
    page = CliRunner().invoke(families, ["--markdown"]).output
    assert all(f"| `{name}` | " in page for name in gym_families())
    assert page == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["--domain", "cooking"], "no such domain"), (["shape_count"], "no family 'shape_count'")],
)
def test_wrong_names_are_told_what_there_is(arguments: list[str], complaint: str) -> None:
    failed = CliRunner().invoke(families, arguments)
    assert isinstance(failed.exception, UserError)
    assert complaint in str(failed.exception)
