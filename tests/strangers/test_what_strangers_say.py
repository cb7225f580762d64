"""Words of strangers on their way to a prompt, a terminal or a table; paths that rows of a hub name."""

import io
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import click
import pytest
from hostile_files import TALKING
from hostile_runs import TERMINAL
from material import STRANGERS

from saccade.cli.shown import printable, shown_output
from saccade.evaluation.exports.predictions import Prediction
from saccade.evaluation.exports.vlmevalkit import read_predictions, write_predictions
from saccade.media.store import MediaStore
from saccade.protocols.code import code_protocol
from saccade.protocols.protocol import ChatProtocol
from saccade.protocols.tagged import tagged_protocol
from saccade.testing.tasks import TINY_VIEW, tiny_example
from saccade.types import ToolSpec

TOOL = ToolSpec(
    name="execute_python_code",
    description=TALKING,
    parameters={"type": "object", "properties": {TALKING: {"type": "string", "description": TALKING}}},
)


@pytest.mark.parametrize("style", ["brief", "full"])
@pytest.mark.parametrize("make", [tagged_protocol, code_protocol], ids=["tagged", "code"])
def test_no_question_and_no_tools_description_spells_a_token_of_a_role(style: str, make: "type[ChatProtocol]") -> None:
    task = replace(tiny_example(MediaStore()).task, question=TALKING, choices=(TALKING, "x"))
    protocol = make(style=style, max_turns=2)
    messages = protocol.prompt(task, [TOOL], TINY_VIEW)
    said = [part for message in messages for part in message.parts if isinstance(part, str)]
    assert any("im_start" in part for part in said)
    assert [part for part in said if "<|" in part] == []


def test_control_characters_of_names_are_shown_on_a_terminal() -> None:
    out = io.StringIO()
    with redirect_stdout(out), shown_output():
        click.echo(f"a run called {TERMINAL}\tand more", color=True)
    printed = out.getvalue()
    assert printed == f"a run called {printable(TERMINAL)}\tand more\n"
    assert {letter for letter in printed if not letter.isprintable()} == {"\t", "\n"}
    assert printable("né 図 \N{GRINNING FACE} a\n\tb") == "né 図 \N{GRINNING FACE} a\n\tb"


def test_a_reply_that_begins_as_a_formula_is_text_in_a_spreadsheet(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    said = '=HYPERLINK("http://x")'
    one = Prediction(index="1", id="1", question="Which?", gold="x", reply=said)
    write_predictions([one], tmp_path / "a.xlsx")
    cells = [cell for row in openpyxl.load_workbook(tmp_path / "a.xlsx").active.iter_rows() for cell in row]
    assert [cell.data_type for cell in cells if cell.value == said] == ["s"]
    assert [one.reply for one in read_predictions(tmp_path / "a.xlsx")] == [said]


def test_every_stranger_says_what_it_tries_to_reach() -> None:
    assert len(STRANGERS) > 100
    assert [name for name, one in STRANGERS.items() if not one.reaches] == []
