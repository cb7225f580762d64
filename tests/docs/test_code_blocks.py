"""Every block of code in the docs is run by a test or says what it needs; every command is one, with its options."""

import re
from pathlib import Path

import click
import pytest
from code_blocks import ROOT, blocks, commands

from saccade.cli.commands import saccade

PROJECTS = (ROOT / "pyproject.toml", *ROOT.glob("packages/*/pyproject.toml"))
EXTRAS = {
    extra
    for project in PROJECTS
    for part in project.read_text().split("optional-dependencies]")[1:]
    for extra in re.findall(r"^([a-z-]+) = \[", part, re.M)
}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


def test_each_block_is_run_or_says_what_it_needs() -> None:
    found = list(blocks())
    assert len(found) > 80
    assert [block.place for block in found if block.test is None and block.needs is None] == []


def test_each_test_that_a_block_names_reads_its_page() -> None:
    wrong = []
    for block in blocks():
        if block.test is None:
            continue
        file = ROOT / block.test
        if not file.is_file() or block.page.name not in file.read_text(encoding="utf-8"):
            wrong.append(f"{block.place}: {block.test}")
    assert wrong == []


def test_each_command_is_there_with_its_options() -> None:
    found = list(commands())
    assert len(found) > 150
    assert [f"{place}: {wrong}" for place, words in found if (wrong := _wrong(words)) is not None] == []


@pytest.mark.parametrize(
    "line",
    [
        "saccade trian demo",
        "saccade train demo --colour red",
        "make dmeo",
        "python benchmarks/none.py",
        "python -m studies.none.seeds",
        "saccade eval --samples x",
    ],
)
def test_a_wrong_command_is_found(line: str) -> None:
    assert _wrong(line.split()) is not None


def _wrong(words: list[str]) -> str | None:
    """What is wrong with a command, by the parser of the command line itself."""
    program, arguments = Path(words[0]).name, words[1:]
    if program == "python" and arguments[:2] == ["-m", "saccade"]:
        program, arguments = "saccade", arguments[2:]
    if program == "make":
        targets = [one for one in arguments if "=" not in one]
        return next((f"no target {one}" for one in targets if one not in TARGETS), None)
    if program == "python" and arguments and arguments[0].endswith(".py") and "/" in arguments[0]:
        return None if (ROOT / arguments[0]).is_file() else f"no file {arguments[0]}"
    if program == "python" and arguments[:1] == ["-m"] and arguments[1].startswith("studies."):
        return None if (ROOT / f"{arguments[1].replace('.', '/')}.py").is_file() else f"no module {arguments[1]}"
    if program == "pip":
        named = {
            one.strip() for names in re.findall(r"\[([a-z,-]+)\]", " ".join(arguments)) for one in names.split(",")
        }
        return next((f"no extra {one}" for one in named if one not in EXTRAS | {"serve"}), None)
    return _wrong_options(saccade, arguments) if program == "saccade" else None


def _wrong_options(command: click.Command, arguments: list[str]) -> str | None:
    context = click.Context(command, info_name=command.name)
    if any(one in ("-h", "--help", "--version") for one in arguments):
        return None
    if isinstance(command, click.Group):
        if not arguments:
            return None
        inner = command.get_command(context, arguments[0])
        return f"no command {arguments[0]}" if inner is None else _wrong_options(inner, arguments[1:])
    if "..." in arguments or "…" in arguments:
        arguments = [one for one in arguments if one not in ("...", "…")]
    try:
        given, _, _ = command.make_parser(context).parse_args(list(arguments))
        for option in command.params:
            value = given.get(option.name or "")
            if isinstance(option.type, click.Choice | click.types.IntParamType) and value is not None:
                for one in value if isinstance(value, list) else [value]:
                    if isinstance(one, str) and not one.isupper():
                        option.type.convert(one, option, context)
    except click.ClickException as error:
        return error.format_message()
    return None
