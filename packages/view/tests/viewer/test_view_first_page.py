"""What the page brings along, so that a first view waits for one answer: the first answers, one script, its address."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient
from view_client import only_run, viewing
from viewer_fake_run import guessing_attempt, make_run, search_task

from saccade.evaluation.statistics import Accuracy
from saccade.media.store import MediaStore
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths
from saccade.viewer.app.run_pages import last_of, run_links
from saccade.viewer.scripts import APP
from saccade.viewer.store.accuracies import EvaluationAccuracy


def carried(client: TestClient) -> dict[str, Any]:
    block = re.search(r'<script type="application/json" id="first">(.*?)</script>', client.get("/").text, re.DOTALL)
    assert block is not None
    found: dict[str, Any] = json.loads(block[1])
    return found


def test_the_page_of_a_run_that_is_alone_carries_its_list_as_the_modules_ask_for_it(tmp_path: Path) -> None:
    with viewing(make_run(tmp_path / "run", n=4), cache=tmp_path / "cache") as (client, viewer):
        answers = carried(client)
        page_rows = re.search(r"const PAGE = (\d+);", (APP / "list.js").read_text())
        assert page_rows is not None
        listed = f"/api/runs/{only_run(viewer).id}/trajectories?offset=0&limit={page_rows[1]}"
        assert set(answers) == {"/api/runs", listed}
        assert answers[listed] == client.get(listed).json()
        assert answers[listed]["rows"]
        assert [one["id"] for one in answers["/api/runs"]["runs"]] == [only_run(viewer).id]


def test_of_several_runs_it_carries_the_list_of_runs_alone(tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_run(tmp_path / "runs" / name, n=2)
    with viewing(tmp_path / "runs", cache=tmp_path / "cache") as (client, _):
        answers = carried(client)
        assert set(answers) == {"/api/runs"}
        assert len(answers["/api/runs"]["runs"]) == 2


def test_what_a_question_says_does_not_end_the_block(tmp_path: Path) -> None:
    folder, media, hostile = make_run(tmp_path / "run", n=2), MediaStore(), "</script><script>alert(1)</script><!--"
    attempt = guessing_attempt(replace(search_task(media, 1), question=hostile), "rows", sample=0)
    position, paths = Position(stage="rl", step=31), RunPaths(root=folder)
    write_records(paths.trajectories(position), position, [attempt], media=media, media_directory=paths.media)
    with viewing(folder, cache=tmp_path / "cache") as (client, _):
        [listed] = [answer for address, answer in carried(client).items() if "trajectories" in address]
        assert hostile in [row["question"] for row in listed["rows"]]
        assert "alert(1)</script>" not in client.get("/").text


def test_scripts_and_styles_are_kept_at_an_address_that_changes_with_them(tmp_path: Path) -> None:
    with viewing(make_run(tmp_path / "run", n=2), cache=tmp_path / "cache") as (client, _):
        addresses = re.findall(r'(?:src|href)="(/app/[^"]+)"', client.get("/").text)
        assert [one.partition("?")[0].rpartition("/")[2] for one in addresses] == [
            "app.css",
            "uPlot.min.css",
            "viewer.js",
            "uPlot.iife.min.js",
        ]
        for address in addresses:
            answer = client.get(address)
            assert "immutable" in answer.headers["cache-control"]
            plain = client.get(address.partition("?")[0])
            assert (plain.headers["cache-control"], plain.content) == ("no-cache", answer.content)
            again = client.get(address, headers={"if-none-match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            assert client.get(f"{address}0").headers["cache-control"] == "no-cache"
        assert client.get("/app/list.js").status_code == 404


def test_a_run_is_listed_by_its_last_evaluation_that_is_not_another_asked_otherwise() -> None:
    def named(*names: str) -> list[EvaluationAccuracy]:
        answers = Accuracy(accuracy=0.5, ci95=(0.3, 0.7), n=20)
        return [EvaluationAccuracy(name=name, answers=answers, families={}, reasons={}) for name in names]

    evaluations = named("after_sft", "after_rl", "after_rl_without_tool")
    assert last_of(evaluations) is evaluations[1]
    assert "b=run%2Fafter_rl" in json.dumps(run_links("run", evaluations))
    assert "without_tool" not in json.dumps(run_links("run", evaluations))
    assert last_of([]) is None
    assert "evaluations?" not in json.dumps(run_links("run", named("before", "before_without_tool")))
