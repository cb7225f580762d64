"""A run with FIFOs, devices and folders in the place of files: it is listed with a reason, and all others go on."""

import base64
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from view_client import viewing
from viewer_fake_run import make_run

from odd_files import ODD_FILES, answer_of
from saccade.runs.runinfo import RunPaths
from saccade.viewer.app.application import RunsViewer
from saccade.viewer.report import write_report
from saccade.viewer.store.annotations import FILE, AnnotationFile
from warm import VIEWER, WarmProcess

WAIT_S = 180


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("whole") / "run", n=6)


def pages(client: TestClient, run: str) -> Iterator[tuple[str, int, Any]]:
    for part in ("", "/curves", "/trajectories?limit=3&q=plate", "/trajectories?limit=3"):
        answer = client.get(f"/api/runs/{run}{part}")
        yield part, answer.status_code, answer.json()
        for row in answer.json()["rows"][:1] if "/trajectories" in part else ():
            one = client.get(f"/api/runs/{run}/trajectories/{row['id']}")
            yield "one", one.status_code, one.json()


def notes_of(run: Path, beside: Path, cache: Path) -> list[str]:
    """The run's notes; all pages of both runs answer, and the other run has no note."""
    with viewing(run, beside, cache=cache) as (client, viewer):
        told = {one["name"]: one for one in client.get("/api/runs").json()["runs"]}
        assert set(told) == {"stranger", "run"}
        statuses = {(part, status) for one in told.values() for part, status, _ in pages(client, one["id"])}
        assert {status for _, status in statuses} == {200}
        assert told["run"]["trajectories"] == 20
        assert client.get(f"/api/runs/{told['run']['id']}").json()["notes"] == []
        assert isinstance(viewer, RunsViewer)
        found: list[str] = client.get(f"/api/runs/{told['stranger']['id']}").json()["notes"]
        return found


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "device", "kernel", "hole"])
@pytest.mark.parametrize(
    "name", ["settings.json", "metrics.jsonl", "evaluations/after_rl.jsonl", "trajectories/rl/step-000030.jsonl"]
)
def test_the_run_is_listed_with_a_reason_and_others_go_on(whole: Path, tmp_path: Path, name: str, kind: str) -> None:
    stranger = shutil.copytree(whole, tmp_path / "stranger")
    (stranger / name).unlink()
    ODD_FILES[kind](stranger / name)
    notes = answer_of(lambda: notes_of(stranger, whole, tmp_path / "cache"))
    assert isinstance(notes, list), notes
    # Links that leave the run are no files of it.
    assert any(Path(name).name in note for note in notes) or ("/" in name and kind in ("device", "kernel"))


@pytest.mark.parametrize("name", ["run.json", "index/trajectories/rl/step-000030.arrow", "report.json", FILE])
def test_files_that_may_be_missing_may_be_fifos(whole: Path, tmp_path: Path, name: str) -> None:
    stranger = shutil.copytree(whole, tmp_path / "stranger")
    (stranger / name).unlink(missing_ok=True)
    (stranger / name).parent.mkdir(parents=True, exist_ok=True)
    ODD_FILES["fifo"](stranger / name)

    def statuses() -> set[int]:
        with viewing(stranger, whole, cache=tmp_path / "cache") as (client, _):
            runs = client.get("/api/runs").json()["runs"]
            return {status for one in runs for _, status, _ in pages(client, one["id"])}

    assert answer_of(statuses) == {200}


def test_a_picture_named_by_a_line_of_messages_may_be_a_fifo(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stranger"
    folder.mkdir()
    ODD_FILES["fifo"](folder / "picture.png")
    content = [{"type": "image_url", "image_url": {"url": "picture.png"}}, {"type": "text", "text": "what?"}]
    line = {"messages": [{"role": "user", "content": content}, {"role": "assistant", "content": "a plate"}]}
    (folder / "lines.jsonl").write_text(json.dumps(line) + "\n")

    def found() -> list[int]:
        with viewing(folder, whole, cache=tmp_path / "cache") as (client, _):
            return sorted(one["trajectories"] for one in client.get("/api/runs").json()["runs"])

    assert answer_of(found) == [1, 20]


def test_an_annotation_is_not_written_to_a_fifo(tmp_path: Path) -> None:
    ODD_FILES["fifo"](tmp_path / FILE)
    file = AnnotationFile(path=tmp_path / FILE)
    assert file.read().notes == (f"{FILE} cannot be read: it is a FIFO, not a file",)
    assert isinstance(answer_of(lambda: file._append({"kind": "annotation"})), Exception)


def test_a_signal_ends_the_viewer_while_a_request_waits_for_a_disk(whole: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from starlette.responses import Response\n"
        "from starlette.routing import Route\n"
        "from saccade.viewer.app.door import open_door\n"
        "from saccade.viewer.app.server import serve_view\n"
        "def stuck(request):\n"
        "    print('stuck', flush=True)\n"
        "    time.sleep(3600)\n"
        "door = open_door('127.0.0.1', 0, None)\n"
        "serve_view((Path(sys.argv[1]),), door=door, cache=Path(sys.argv[2]), end_within_s=2.0,\n"
        "           on_ready=lambda: print(door.address, flush=True), add=lambda viewer: [Route('/stuck', stuck)])\n"
    )
    command = [sys.executable, "-c", code, str(whole), str(tmp_path)]
    with WarmProcess(command, imported=VIEWER, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        asking = subprocess.Popen(
            [sys.executable, "-c", f"import urllib.request; urllib.request.urlopen({f'{address}stuck'!r})"],
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout.readline() == "stuck\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_S) == 128 + signal.SIGINT
        asking.wait(WAIT_S)


def test_a_report_shows_no_file_that_a_link_of_a_stranger_leads_to(tmp_path: Path) -> None:
    stranger = make_run(tmp_path / "stranger", n=4)
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"\x89PNG\r\n\x1a\n of the user's own")
    for picture in (stranger / "media").iterdir():
        picture.unlink()
        picture.symlink_to(secret)
    write_report(RunPaths(root=stranger))
    page = (stranger / "report.html").read_text()
    assert base64.b64encode(secret.read_bytes())[:24].decode() not in page
    assert "no picture of this run" in page
