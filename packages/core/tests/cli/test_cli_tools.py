import json
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli import run_command
from saccade.testing.tiny_specialists import save_tiny


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = run_command(["tools", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "picture.png"
    Image.new("RGB", (64, 48), "red").save(path)
    return path


def test_all_tools_are_listed_with_what_the_others_lack(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys)
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["crop", "images", "in_process", "yes"] in lines
    assert ["detect_objects", "perception", "transformers", "no"] in lines
    assert '  [tools.g_llava]: the back end openai needs url; add url = "http://localhost:8000/v1"' in out.splitlines()


def test_the_list_as_json_knows_the_configuration(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save_tiny("owlv2", tmp_path / "owl")
    config = tmp_path / "tools.toml"
    config.write_text('[tools.detect_objects]\nmodel = "owl"\n[tools.segment]\nmodel = "none"\n')
    status, out, _ = said(capsys, "--config", config, "--json")
    by_name = {tool["name"]: tool for tool in json.loads(out)["tools"]}
    assert status == 0
    assert len(by_name) >= 26
    detect, segment, crop = (by_name[name] for name in ("detect_objects", "segment", "crop"))
    assert (detect["ready"], detect["configured"], detect["why_not"]) == (True, True, None)
    assert (segment["ready"], segment["configured"]) == (False, True)
    assert "is no directory" in segment["why_not"]
    assert (crop["ready"], crop["configured"]) == (True, False)


def test_a_tool_is_described_with_a_call_that_works(capsys: pytest.CaptureFixture[str], picture: Path) -> None:
    status, out, _ = said(capsys, "measure", "--json")
    described = json.loads(out)
    assert status == 0
    assert described["parameters"]["required"] == ["start", "end"]
    assert described["command"].startswith("saccade tools measure --image picture.png --arguments '{")
    status, out, _ = said(capsys, "crop")
    assert status == 0
    assert out.startswith("crop (images): Cut out a region of an image at its full resolution")
    arguments = json.dumps({**described["example"]["arguments"], "start": [0, 0], "end": [3, 4]})
    status, out, _ = said(capsys, "measure", "--image", picture, "--arguments", arguments)
    assert (status, out.splitlines()[0]) == (0, "5.0 px, -53.1 degrees")


def test_a_tool_without_its_model_is_described_as_not_ready(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "segment")
    assert status == 0
    assert "transformers is not ready: [tools.segment]: the back end transformers needs model" in out


def test_pictures_of_a_call_are_kept(capsys: pytest.CaptureFixture[str], picture: Path, tmp_path: Path) -> None:
    status, out, _ = said(
        capsys,
        "crop",
        "--image",
        picture,
        "--arguments",
        '{"bbox_2d": [0, 0, 20, 10]}',
        "--out",
        tmp_path / "o",
        "--json",
    )
    reply = json.loads(out)
    assert (status, reply["is_ok"], reply["sizes"]) == (0, True, [[20, 10]])
    with Image.open(reply["images"][0]) as kept:
        assert kept.size == (20, 10)


def test_a_call_that_is_refused_says_why_and_has_a_status(capsys: pytest.CaptureFixture[str], picture: Path) -> None:
    status, out, _ = said(capsys, "crop", "--image", picture)
    assert (status, out) == (
        1,
        "refused: the argument bbox_2d is missing; it is a box [x1, y1, x2, y2] of four numbers\n",
    )
    status, out, _ = said(capsys, "crop", "--image", picture, "--json")
    assert (status, json.loads(out)["is_ok"]) == (1, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["krop"], "there is no tool 'krop'"),
        (["--image", "x.png"], "--image has no effect without the NAME of a tool to call"),
        (["crop", "--arguments", "{"], "--arguments is not JSON"),
        (["crop", "--arguments", "[]"], "--arguments must be a JSON object"),
        (["crop", "--image", "no-such.png", "--arguments", "{}"], "no-such.png"),
        (["detect_objects", "--arguments", "{}"], "the back end transformers needs model"),
    ],
)
def test_a_users_mistake_is_one_message(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    status, out, err = said(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_a_configuration_with_an_unknown_tool_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "tools.toml").write_text("[tools.krop]\n")
    status, _, err = said(capsys, "--config", tmp_path / "tools.toml")
    assert status == 2
    assert "did you mean crop?" in err
