"""``saccade verifier``: known hacks against a reward of the user's own, a verifier beside ground truth."""

import json
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli import run_command
from saccade.testing.tiny_specialists import save_tiny

BAD = '''
from saccade.rewards import Score, Term, is_correct

def bad(task, trajectory):
    """Pays right answers for the number of their points."""
    points = sum(len(turn.points) for turn in trajectory.turns)
    return Score(terms=(Term("points", min(points, 64) * is_correct(task, trajectory)),))
'''


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = run_command(["verifier", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_argos_and_lang2act_are_open_to_what_their_papers_leave_open_and_a_bad_one_to_more(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, out, _ = said(capsys, "hacks", "-n", 4)
    # By the paper's letter a point at a thing that the question does not ask about pays (reward.recall_weight).
    assert status == 1
    assert "1 of 19 hacks pay on 4 tasks" in out
    assert "0 of 4 hacks pay on 4 tasks" in out
    assert out.splitlines()[-1] == "6 of 13 hacks pay on 4 tasks"
    (tmp_path / "bad.py").write_text(BAD)
    status, out, _ = said(capsys, "hacks", f"{tmp_path / 'bad.py'}:bad", "-n", 4)
    paying = [line.split("  ")[0] for line in out.splitlines() if "PAYS" in line]
    assert status == 1
    assert {"repeated", "jittered", "a hundred points", "elsewhere"} <= set(paying)
    assert "silence" not in paying
    status, _, err = said(capsys, "hacks", "bad.py")
    assert status == 2
    assert "names no reward" in err


def test_regions_wrong_in_ten_and_thirty_percent_beside_exact_ones(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "agreement", "-n", 24, "--json")
    exact, ten, thirty = (json.loads(line) for line in out.splitlines())
    assert status == 0
    assert [one["verifier"] for one in (exact, ten, thirty)] == ["0 wrong", "0.1 wrong", "0.3 wrong"]
    names = ("accuracy", "precision", "recall", "pearson", "spearman", "roc_auc")
    assert [exact[name] for name in names] == pytest.approx([1.0] * 6)
    assert all(1 > ten[name] > thirty[name] for name in ("accuracy", "recall", "pearson", "roc_auc"))


def test_models_of_one_s_own_are_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    detector, segmenter = save_tiny("owlv2", tmp_path / "owl"), save_tiny("sam", tmp_path / "sam")
    given = ("--set", f"detector={detector}", "--set", f"segmenter={segmenter}", "-n", 1)
    status, out, _ = said(capsys, "agreement", *given, "--json")
    assert status == 0
    assert json.loads(out)["tasks"] == 1
    status, _, err = said(capsys, "agreement", "--set", "detector=x", "--wrong", "0.1")
    assert status == 2
    assert "give one of them" in err


def test_rows_without_boxes_are_left_out_and_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    Image.new("RGB", (64, 48), "red").save(tmp_path / "dot.png")
    asked = {"question": "What is there?", "answer": "dot", "image": "dot.png"}
    boxed = {**asked, "boxes": [{"bbox": [10, 10, 20, 20], "label": "dot"}]}
    mixed, bare = tmp_path / "mixed.jsonl", tmp_path / "bare.jsonl"
    # -n counts those with boxes.
    mixed.write_text("\n".join(json.dumps({**row, "id": str(n)}) for n, row in enumerate([asked, asked, boxed, boxed])))
    bare.write_text(json.dumps(asked))
    status, out, err = said(capsys, "hacks", "--data", mixed, "-n", 2)
    assert (status, out.splitlines()[-1]) == (0, "0 of 19 hacks pay on 2 tasks")
    assert "2 of 4 rows have no boxes and are left out" in err
    status, out, err = said(capsys, "agreement", "--data", mixed, "--wrong", 0, "--json")
    assert (status, json.loads(out)["tasks"], "2 of 4 rows" in err) == (0, 2, True)
    for command, why in (("hacks", "1 of 1 tasks"), ("agreement", "have no boxes")):
        status, _, err = said(capsys, command, "--data", bare)
        assert (status, why in err) == (2, True)
