import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from places import ROOT
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols.code_words import PYTHON_TOOL
from saccade.rewards import seen
from saccade.testing.tiny_specialists import example_picture, save_tiny
from saccade.testing.tool_check import check_tool
from saccade.tools.catalogue.catalogue import CATALOGUE, build_tool, entry_of, toolset, why_not
from saccade.tools.catalogue.settings import ToolSettings, ToolsFile, read_tools_file
from saccade.tools.tool import SEARCH_PAGES, Tool

NAMES = [entry.name for entry in CATALOGUE]
EXAMPLES = ROOT / "examples"


def test_there_are_at_least_26_tools_each_told_apart() -> None:
    assert len(NAMES) >= 26
    assert len(set(NAMES)) == len(NAMES)
    assert all(entry.summary and entry.source and entry.backends for entry in CATALOGUE)


@pytest.mark.parametrize("name", NAMES)
def test_an_outline_has_the_schema_of_the_tool(name: str, all_tools: dict[str, Tool]) -> None:
    outline = entry_of(name).outline()
    assert outline.name == name
    assert outline.spec == all_tools[name].spec


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_keeps_its_contract(name: str, all_tools: dict[str, Tool]) -> None:
    entry = entry_of(name)
    check_tool(all_tools[name], [entry.example], image=example_picture(entry))


def test_of_every_tool_it_is_known_what_it_returns_of_a_picture() -> None:
    """``saccade.rewards.seen`` sorts them by name, since a record has no schemas."""
    on_pictures = seen.CUTTING | seen.FINDING | seen.COPYING | seen.TURNING | seen.READING
    for entry in CATALOGUE:
        properties = entry.outline().spec.parameters["properties"]
        assert isinstance(properties, Mapping)
        is_blind = entry.name == "measure" or "image" not in properties
        if entry.name not in (PYTHON_TOOL, SEARCH_PAGES):
            assert is_blind == (entry.name in seen.BLIND), entry.name
            assert is_blind or entry.name in on_pictures or "bbox_2d" in properties, entry.name


def test_a_model_that_is_not_configured_is_said_and_left_out() -> None:
    settings = (ToolSettings(name="detect_objects"), ToolSettings(name="crop"), ToolSettings(name="g_llava"))
    made = toolset(ToolsFile(tools=settings))
    assert [tool.name for tool in made.ready] == ["crop"]
    assert made.left_out == {
        "detect_objects": "[tools.detect_objects]: the back end transformers needs model; add model = "
        '"checkpoints/grounding-dino-tiny"',
        "g_llava": '[tools.g_llava]: the back end openai needs url; add url = "http://localhost:8000/v1"',
    }


def test_an_outline_refuses_to_work() -> None:
    media = MediaStore()
    entry = entry_of("detect_objects")
    with pytest.raises(UserError, match="this tool has no model"):
        entry.outline().call(entry.example, [media.add(example_picture(entry))], media)


def test_a_name_that_is_none_is_answered_by_the_nearest() -> None:
    with pytest.raises(UserError, match=r"there is no tool 'detect_object'; .* did you mean detect_objects\?"):
        build_tool(ToolSettings(name="detect_object"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ToolSettings(name="crop", backend="openai"),
            r"\[tools.crop\]: there is no back end openai; use .* in_process",
        ),
        (ToolSettings(name="crop", options={"model": "x"}), "there is no option model for the back end in_process; "),
        (ToolSettings(name="segment", options={"model": "none"}), "model: none is no directory"),
        (ToolSettings(name="segment", options={"model": 3}), "model=3 must be a text"),
        (ToolSettings(name="read_text", options={"engine": "abbyy"}), "engine='abbyy' is none of rapidocr, tess"),
        (ToolSettings(name="read_text", options={"min_confidence": 2}), "must be a number from 0 to 1"),
        (ToolSettings(name="read_text", options={"min_confidence": True}), "must be a number from 0 to 1"),
        (ToolSettings(name="g_llava", options={"url": "localhost", "model": "m"}), "url='localhost' is no address"),
        (ToolSettings(name="g_llava", options={"url": "http://h/v1"}), 'needs model; add model = "g-llava-13b"'),
        (
            ToolSettings(name="g_llava", options={"url": "http://h/v1", "model": "m", "api_key_env": "NO_SUCH_KEY"}),
            "api_key_env names the variable NO_SUCH_KEY, which is not set; export NO_SUCH_KEY=",
        ),
        (
            ToolSettings(name="g_llava", options={"url": "http://h/v1", "model": "m", "retries": -1}),
            "retries=-1 must be a whole number from 0",
        ),
        (
            ToolSettings(name="g_llava", options={"url": "http://h/v1", "model": "m", "extra_body": 1}),
            "extra_body=1 must be a table",
        ),
    ],
)
def test_a_wrong_option_is_named(settings: ToolSettings, message: str) -> None:
    with pytest.raises(UserError, match=message):
        build_tool(settings)
    why = why_not(settings)
    assert why is not None
    assert why.startswith(f"[tools.{settings.name}]: ")


def test_a_model_of_another_kind_is_refused_by_name(tmp_path: Path) -> None:
    save_tiny("sam", tmp_path / "sam")
    for name in ("detect_objects", "multimath", "chart_to_table"):
        why = why_not(ToolSettings(name=name, backend="transformers", options={"model": "sam"}), tmp_path)
        assert why is not None
        assert f"[tools.{name}]: model: {tmp_path}/sam holds a model of the type 'sam', which is no" in why


def test_tools_with_the_same_model_share_it(tmp_path: Path) -> None:
    save_tiny("deplot", tmp_path / "deplot")
    settings = ToolSettings(name="chart_to_table", backend="transformers", options={"model": "deplot"})
    one, other = (entry_of("chart_to_table").prepare(settings, tmp_path) for _ in range(2))
    held = one()
    (tmp_path / "deplot/model.safetensors").unlink()
    assert other().name == held.name


def test_the_example_configuration_names_known_tools_and_right_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTIMATH_KEY", "secret")
    example = read_tools_file(EXAMPLES / "tools_with_models.toml")
    assert {one.name for one in example.tools} == set(NAMES)
    whys = [why for one in example.tools if (why := why_not(one, example.folder))]
    # Only checkpoints, the index and recordings are missing, which everybody has elsewhere.
    missing = [
        "is no directory; give a checkpoint directory",
        "is no index of pages; make one with",
        "holds no recorded search",
    ]
    assert [sum(what in why for why in whys) for what in missing] == [4, 1, 2], whys
    assert len(whys) == 7


def test_all_tools_of_the_configuration_without_models_are_built() -> None:
    example = read_tools_file(EXAMPLES / "tools.toml")
    made = toolset(example)
    assert not made.left_out
    assert [tool.name for tool in made.ready] == [one.name for one in example.tools]
    assert {entry.name for entry in CATALOGUE if "in_process" in entry.backends} == {one.name for one in example.tools}


def test_looking_at_the_catalogue_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom saccade.tools.catalogue.catalogue import CATALOGUE, why_not\n"
        "from saccade.tools.catalogue.settings import ToolSettings\n"
        "for entry in CATALOGUE: why_not(ToolSettings(name=entry.name))\n"
        "heavy = {'torch', 'transformers', 'openai', 'sympy', 'cv2', 'onnxruntime', 'fastapi'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
