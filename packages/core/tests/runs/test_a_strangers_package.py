"""A package of a stranger's that offers tools and a protocol: runs with them are made again from their records."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from saccade.cli import run_command
from saccade.codec.fields import Fields
from saccade.errors import UserError
from saccade.models.checkpoint import base_checkpoint
from saccade.protocols.named import known_name, name_of, package_of, protocol_named
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.asking import AskingRecord, ToolRecord, read_asked, read_asking
from saccade.runs.reaches import Permission
from saccade.runs.recorded_tools import Toolmaker
from saccade.testing import TINY_VIEW
from saccade.tools.making import makers_of, origin_of, wished_tools
from saccade.train.plan import EpisodeSpec
from saccade.train.plan_record import way_of
from test_entry_points import installed

LOOKS = '''
from dataclasses import replace

from saccade.protocols import tagged_protocol
from saccade.tools.making import ToolMaker
from saccade.tools.tool import tool_from


def halve(number: float) -> str:
    """Halves a number.

    Args:
        number: Any number.
    """
    return str(number / 2)


class Growing(ToolMaker):
    def make(self, name, origin, bench, allowed=None):
        return growing(**origin.mapping("growing"))

    def wished(self, wish, bench):
        return (growing(factor=3),)


def growing(factor, place=None):
    def grow(number: float) -> str:
        """Makes a number greater.

        Args:
            number: Any number.
        """
        return str(number * factor)

    return replace(tool_from(grow), origin={"growing": {"factor": factor, **({"place": place} if place else {})}})


def terse(*, style, max_turns):
    return replace(tagged_protocol(style=style, max_turns=max_turns), name="another name")


HALVES = (tool_from(halve),)
'''
POINTS = """[saccade.tools]
growing = looks_of_a_stranger:Growing
halves = looks_of_a_stranger:HALVES
[saccade.protocols]
terse = looks_of_a_stranger:terse
tagged = looks_of_a_stranger:terse
"""
GROWS = {"growing": {"factor": 3}, "package": "my-looks"}
HALVES = {"function": "looks_of_a_stranger:halve", "deadline_s": 10.0, "package": "my-looks"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    installed(folder, "my-looks", POINTS, looks_of_a_stranger=LOOKS)
    monkeypatch.syspath_prepend(folder)
    return folder


def evaluated(model: Path, out: Path, *options: str) -> int:
    command = ["eval", "--model", str(model), "--family", "counting", "-n", "1", "--out", str(out), "--quiet"]
    return run_command([*command, "--set", "rollout.max_turn_tokens=4", "--set", "max_turns=1", *options])


def test_a_run_with_tools_and_a_protocol_of_a_package_is_made_again_where_it_is_installed(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terse = protocol_named("terse", style="brief", max_turns=None)
    tools = (*wished_tools("growing", Toolmaker()), *wished_tools("halves", Toolmaker()))
    way = way_of(EpisodeSpec(protocol=terse, tools=tools, rollout=RolloutSettings(), max_turns=1), TINY_VIEW)
    assert (way.protocol, way.is_known, way.package, way.system) == ("terse", True, "my-looks", None)
    assert [tool.origin for tool in way.tools] == [GROWS, HALVES]
    model = tmp_path / "model"
    shutil.copytree(base_checkpoint(), model)
    (model / "saccade_asking.json").write_text(json.dumps(AskingRecord(evaluated=(way,)).as_json()))
    assert evaluated(model, tmp_path / "by_record") == 0
    samples = (tmp_path / "by_record" / "evaluations" / "terse.jsonl").read_bytes()
    (tmp_path / "by_record" / "evaluations" / "terse.jsonl").write_bytes(b"")
    assert evaluated(model, tmp_path / "by_record", "--resume") == 0
    assert (tmp_path / "by_record" / "evaluations" / "terse.jsonl").read_bytes() == samples

    sys.path.remove(str(site))
    with pytest.raises(UserError, match="there is no tool 'growing'"):
        wished_tools("growing", Toolmaker())
    capsys.readouterr()
    assert evaluated(model, tmp_path / "without") == 2
    assert "'terse' is of the package my-looks, which is not installed" in capsys.readouterr().err
    asking = read_asking(model)
    assert asking is not None
    for tool in asking.ways[0].tools:
        with pytest.raises(UserError, match=f"the tool {tool.spec.name} is made by the package my-looks, which is not"):
            Toolmaker().made([tool])


def test_no_package_takes_the_place_of_a_protocol_of_saccade(site: Path) -> None:
    usual = protocol_named("tagged", style="full", max_turns=2)
    assert (usual.name, name_of(usual), package_of("tagged")) == ("tagged", "tagged", None)
    assert (known_name("terse"), known_name("another name")) == ("terse", None)


def test_what_a_record_says_to_a_maker_of_a_package_needs_the_user_s_yes_where_it_could_reach_outside(
    site: Path,
) -> None:
    [plain] = wished_tools("growing", Toolmaker())
    assert origin_of(plain) == GROWS
    reaching = {"growing": {"factor": 3, "place": "http://127.0.0.1:1"}, "package": "my-looks"}
    [address] = [reach for maker in makers_of("grow", reaching) for reach in maker.reaches(Fields(reaching))]
    assert (address.kind, address.value) == ("address", "http://127.0.0.1:1")
    assert Permission().lacking("grow", reaching) == (address,)
    assert Permission().lacking("grow", GROWS) == ()
    # A word of the catalogue's options may be a path to somebody else.
    assert Permission().lacking("grow", {"growing": {"engine": "/x.so"}, "package": "my-looks"}) != ()
    with pytest.raises(UserError, match="the record of the tool grow cannot be read"):
        Toolmaker().made([ToolRecord(spec=plain.spec, origin={"growing": {"size": 3}, "package": "my-looks"})])


def test_a_protocol_of_a_file_of_one_s_own_is_named_by_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import replace\nfrom saccade.protocols import direct_protocol\n"
        "def curt(style):\n    return replace(direct_protocol(style=style), name='curt')\nnone = 3\n"
    )
    assert evaluated(base_checkpoint(), tmp_path / "run", "--protocol", f"{file}:curt") == 0
    way = read_asked(tmp_path / "run" / "asked.json").evaluations["curt"].way
    assert (way.protocol, way.is_known, way.package) == ("curt", False, None)
    file.write_text(file.read_text().replace("direct", "tagged"))
    capsys.readouterr()
    assert evaluated(base_checkpoint(), tmp_path / "run", "--protocol", f"{file}:curt", "--resume") == 2
    assert "curt" in capsys.readouterr().err
    assert evaluated(base_checkpoint(), tmp_path / "other", "--protocol", f"{file}:none") == 2
    assert "is a int; it must be a ChatProtocol" in capsys.readouterr().err
