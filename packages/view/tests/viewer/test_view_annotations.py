"""Annotations: two who write at once lose nothing, agreement is counted, and other programs read the exports."""

import csv
import io
import json
import multiprocessing
import zipfile
from pathlib import Path

import pytest
from view_client import only_run, viewing
from viewer_fake_run import make_run

from saccade.curation.examples import read_tool_examples
from saccade.errors import UserError
from saccade.evaluation.statistics import cohens_kappa, exact_mcnemar
from saccade.media.store import MediaStore
from saccade.viewer.store.annotations import AnnotationFile, annotation_from

NAN = float("nan")


def test_kappa_of_a_table_worked_out_by_hand() -> None:
    # 20 both yes, 5 first alone, 10 second alone, 15 both no: p_o = 0.7, p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohens_kappa(pairs) == pytest.approx(0.4)
    assert cohens_kappa([]) is None
    assert cohens_kappa([("y", "y")] * 3) is None
    assert cohens_kappa([("y", "n"), ("n", "y")]) == pytest.approx(-1.0)


def test_exact_mcnemar_by_hand() -> None:
    # 1 of 5: 2 (1 + 5) / 32; none at all: 1; equal sides are at most 1.
    assert exact_mcnemar(1, 4) == pytest.approx(12 / 32)
    assert exact_mcnemar(0, 0) == 1.0
    assert exact_mcnemar(7, 7) == 1.0
    assert exact_mcnemar(0, 10) == pytest.approx(2 / 1024)
    assert 0 < exact_mcnemar(4000, 6000) < 1e-80


def write_many(path: str, name: str, count: int) -> None:
    file = AnnotationFile(path=Path(path))
    for number in range(count):
        body = {"subject": "note", "name": name, "text": f"{number} " + "x" * 3000}
        file.add(annotation_from(body, trajectory="00000000.0", task="t"))


def test_two_writers_at_once_lose_no_line(tmp_path: Path) -> None:
    path = tmp_path / "annotations.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_many, args=(str(path), name, 40)) for name in ("ann", "bob")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(timeout=120)
    read = AnnotationFile(path=path).read()
    assert read.notes == ()
    assert read.names == {"ann": 40, "bob": 40}
    assert [item.text.split()[0] for item in read.items if item.name == "ann"] == [str(i) for i in range(40)]


def test_damaged_lines_are_notes_and_links_are_not_written_through(tmp_path: Path) -> None:
    path = tmp_path / "annotations.jsonl"
    path.write_text('{"kind": "annotation"\n[]\n{"kind": "annotation", "id": 7}\n')
    assert len(AnnotationFile(path=path).read().notes) == 3
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "link").symlink_to(elsewhere)
    file = AnnotationFile(path=tmp_path / "link")
    assert not file.is_writable
    with pytest.raises(Exception, match="cannot be written"):
        file.add(annotation_from({"subject": "note", "name": "ann"}, trajectory="00000000.0", task="t"))
    assert not elsewhere.exists()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"subject": "verdict", "name": "ann"}, "a verdict is"),
        ({"subject": "box", "name": "ann"}, "needs its box"),
        ({"subject": "evil", "name": "ann"}, "one of"),
        ({"subject": "note", "name": " "}, "who you are"),
        ({"subject": "note", "name": "a" * 81}, "at most 80"),
        ({"subject": "note", "name": "ann", "text": "x" * 4001}, "at most 4000"),
        ({"subject": "box", "name": "a", "box": {"image": "../x", "x1": 0, "y1": 0, "x2": 1, "y2": 1}}, "hash"),
        ({"subject": "box", "name": "a", "box": {"image": "a" * 64, "x1": 5, "y1": 0, "x2": 1, "y2": 1}}, "not one"),
        (
            {"subject": "box", "name": "a", "box": {"image": "a" * 64, "x1": float("nan"), "y1": 0, "x2": 1, "y2": 1}},
            "not one",
        ),
    ],
)
def test_what_is_no_annotation_is_refused(body: dict[str, object], why: str) -> None:
    with pytest.raises(UserError, match=why):
        annotation_from(body, trajectory="00000000.0", task="t")  # type: ignore[arg-type]


def test_people_annotate_agree_take_back_and_export(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", n=8)
    with viewing(folder, cache=tmp_path / "cache") as (asked, viewer):
        run = only_run(viewer)
        url = f"/api/runs/{run.id}/annotations"
        rows = asked.get(f"/api/runs/{run.id}/trajectories?stage=after_rl&limit=8").json()["rows"]
        right = [row for row in rows if row["right"]]
        wrong = [row for row in rows if not row["right"]]
        for row in (*right, *wrong):
            verdict = "right" if row["right"] else "wrong"
            body = {"trajectory": row["id"], "subject": "verdict", "verdict": verdict, "name": "ann"}
            assert asked.post(url, json=body).status_code == 201
        assert asked.post(url, json={"trajectory": "ffffffff.0", "subject": "note", "name": "a"}).status_code == 404
        box = {"image": right[0]["image"], "x1": 10, "y1": 20, "x2": 30, "y2": 60}
        body = {
            "trajectory": right[0]["id"],
            "subject": "box",
            "box": box,
            "value": "plate",
            "name": "=cmd()",
            "text": "",
        }
        made = asked.post(url, json=body).json()
        told = asked.get(url).json()
        assert told["counts"] == {"verdict": len(rows), "box": 1}
        against = {one["against"]: one for one in told["kappa"]}
        assert against["rules"] == {"against": "rules", "kappa": 1.0, "agree": 1.0, "n": len(rows)}
        assert against["reward, accuracy"]["kappa"] == 1.0
        listed = asked.get(f"/api/runs/{run.id}/trajectories?marked=1&stage=after_rl").json()
        assert listed["matched"] == len(rows)
        assert {row["id"]: row["marked"] for row in listed["rows"]}[right[0]["id"]] == 2
        check_exports(asked, url, right, box, tmp_path)
        assert asked.post(f"{url}/{made['id']}/retract", json={"name": "ann"}).json()["is_retracted"]
        assert asked.get(url).json()["counts"] == {"verdict": len(rows)}
        assert len(run.annotations.path.read_text().splitlines()) == len(rows) + 2


def check_exports(asked, url: str, right, box, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    def export(kind: str) -> bytes:
        answer = asked.get(f"{url}/export?format={kind}")
        assert "attachment" in answer.headers["content-disposition"]
        return bytes(answer.content)

    lines = [json.loads(line) for line in export("jsonl").splitlines()]
    assert lines[-1]["box"] == box
    table = list(csv.DictReader(io.StringIO(export("csv").decode())))
    # A spreadsheet would run it.
    assert table[-1]["name"] == "'=cmd()"
    coco = json.loads(export("coco"))
    assert coco["annotations"][0]["bbox"] == [10, 20, 20, 40]
    assert coco["images"][0]["file_name"] == f"media/{box['image']}.png"
    assert coco["categories"] == [{"id": 1, "name": "plate"}]
    [task] = json.loads(export("label-studio"))
    value = task["annotations"][0]["result"][0]["value"]
    assert [value[name] for name in ("x", "y", "width", "height")] == [100 * n / 256 for n in (10, 20, 20, 40)]
    with zipfile.ZipFile(io.BytesIO(export("imitate"))) as packed:
        packed.extractall(tmp_path / "examples")
    examples = read_tool_examples(tmp_path / "examples", MediaStore())
    assert sorted(one.task.id for one in examples) == sorted(row["task"] for row in right)
