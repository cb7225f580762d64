"""``saccade index`` and ``saccade search`` on pictures, a PDF and a tiny checkpoint."""

import json
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli import run_command
from saccade.testing.tiny_specialists import save_tiny


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny("colqwen2", tmp_path_factory.mktemp("encoder")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "folder"
    (root / "deck").mkdir(parents=True)
    for number, color in ((1, "red"), (2, "blue")):
        Image.new("RGB", (90, 60), color).save(root / "deck" / f"{number}.png")
    Image.new("RGB", (60, 90), "green").save(root / "report.pdf")
    (root / "empty.pdf").write_bytes(b"")
    return root


def test_a_folder_is_indexed_searched_and_added_to(
    folder: Path, encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, shown = tmp_path / "index", tmp_path / "shown"
    assert run_command(["index", str(folder), "--encoder", encoder, "--out", str(out), "--first-stage", "8-int8"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "1 pages or files cannot be read:",
        "  empty.pdf: it is empty (0 bytes)",
        f"{out}: 3 pages of 2 documents, 3 of them new",
    ]
    assert said.err.splitlines()[-3:][0].startswith("deck/1.png, page 1: ")
    assert (
        run_command(["search", str(out), "Is it blue?", "--json", "--out", str(shown), "--first-stage", "8-int8"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert sorted((hit["document"], hit["page"]) for hit in found) == [("deck", 1), ("deck", 2), ("report.pdf", 1)]
    assert found == sorted(found, key=lambda hit: -hit["score"])
    assert [Path(hit["picture"]).is_file() for hit in found] == [True] * 3
    assert run_command(["search", str(out), "Is it blue?", "-k", "1", "--document", "report.pdf"]) == 0
    assert capsys.readouterr().out.split()[1:] == ["report.pdf#1"]
    (folder / "empty.pdf").unlink()
    Image.new("RGB", (60, 90), "white").save(folder / "more.pdf")
    assert run_command(["index", str(folder), "--encoder", encoder, "--out", str(out), "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{out}: 4 pages of 3 documents, 1 of them new"
    assert run_command(["search", str(out), "Is it blue?", "--first-stage", "8-int8"]) == 2
    assert "behind its index; make it with: saccade index" in capsys.readouterr().err


def test_mistakes_say_what_to_do(
    folder: Path, encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "index")
    for arguments, said in (
        (["index", str(folder / "no"), "--encoder", encoder, "--out", out], "is no directory; give the folder"),
        (["index", str(folder), "--encoder", str(folder), "--out", out], "holds no config.json"),
        (
            ["index", str(folder), "--encoder", encoder, "--out", out, "--first-stage", "8"],
            "'8' is no first stage; write",
        ),
        (["search", out, "What?"], "is no index of pages; make one with: saccade index"),
    ):
        assert run_command(arguments) == 2
        assert said in capsys.readouterr().err
