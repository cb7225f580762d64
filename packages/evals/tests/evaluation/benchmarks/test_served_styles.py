"""A model behind a server that answers in thirteen styles: the figures are those of the harnesses' own rules."""

import base64
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
from rule_questions import SERVED_ROWS, SERVED_STYLES, SERVED_WORDS
from small_releases import png
from test_recorded_rules import RECORDED

from saccade.cli import run_command
from saccade.evaluation.benchmarks import BENCHMARKS
from saccade.protocols.markup import with_opened_thought
from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply

STYLES = list(SERVED_STYLES)


def write_releases(folder: Path) -> None:
    """For each benchmark a row of each style, whose question names benchmark and style."""
    for name, row in SERVED_ROWS.items():
        rows = [
            {**row, "index": place, "image": png(place), "question": f"{row['question']} ({name} {place})"}
            for place in range(len(STYLES))
        ]
        extra = {"l2-category": "l"} if name == "mmstar" else {}
        file = BENCHMARKS[name].layout.releases[0].file
        pd.DataFrame([{**one, **extra, "image": encoded(one["image"])} for one in rows]).to_csv(
            folder / file, sep="\t", index=False
        )


def encoded(raw: object) -> str:
    assert isinstance(raw, bytes)
    return base64.b64encode(raw).decode()


def reply_to(received: Received) -> Served:
    named = re.search(r"\((mmstar|pope|chartqa-test) (\d+)\)", json.dumps(received.body["messages"]))
    assert named is not None
    return chat_reply(SERVED_STYLES[STYLES[int(named[2])]].format(**SERVED_WORDS[named[1]]))


def after_thought(reply: str) -> str:
    return reply.rpartition("</think>")[2].strip()


def recorded_mean(benchmark: str, reading: str) -> float:
    """Mean credit that the harness's own function gives to the replies after their thoughts."""
    credit = {
        case["reply"]: case["credit"]
        for case in RECORDED
        if (case["benchmark"], case["reading"], case["row"]) == (benchmark, reading, SERVED_ROWS[benchmark])
    }
    replies = (style.format(**SERVED_WORDS[benchmark]) for style in SERVED_STYLES.values())
    return sum(credit[after_thought(reply)] for reply in replies) / len(STYLES)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    write_releases(folder)
    with ChatServer(reply_to) as server:
        command = ["eval", "--server", server.url, "--server-model", "m", "--suite", "ivgr", "--benchmarks-dir"]
        how = ["--protocol", "bare", "--prompt", "vlmevalkit", "--out", str(folder / "run"), "--quiet"]
        assert run_command([*command, str(folder), *how]) == 0
    return folder / "run"


def figures(run: Path, benchmark: str) -> Mapping[str, Mapping[str, float]]:
    (file,) = (run / "benchmarks").glob(f"{benchmark}_*.json")
    readings = json.loads(file.read_text())["readings"]
    return {one["reading"]: {figure["name"]: figure["value"] for figure in one["figures"]} for one in readings}


@pytest.mark.parametrize("benchmark", SERVED_ROWS)
@pytest.mark.parametrize("reading", ["vlmevalkit", "lmms-eval"])
def test_the_figure_of_an_evaluation_is_the_harnesss_own(run: Path, benchmark: str, reading: str) -> None:
    measured = figures(run, benchmark)[reading]
    # POPE's first figure is F1; lmms-eval's MMStar has a mean over its groups alone.
    assert measured.get("accuracy", next(iter(measured.values()))) == pytest.approx(recorded_mean(benchmark, reading))


@pytest.mark.parametrize("benchmark", SERVED_ROWS)
def test_samples_hold_whole_replies_and_an_export_is_read_as_the_run_was(
    run: Path, benchmark: str, tmp_path: Path
) -> None:
    samples = [json.loads(line) for line in (run / "samples" / f"{benchmark}_bare.jsonl").read_text().splitlines()[1:]]
    served = [style.format(**SERVED_WORDS[benchmark]) for style in SERVED_STYLES.values()]
    assert {one["id"]: one["reply"] for one in samples} == {
        f"{benchmark}/{place}": with_opened_thought(reply) for place, reply in enumerate(served)
    }
    table = tmp_path / "exported.tsv"
    named = ["export", str(run), "--to", "vlmevalkit", "--name", f"{benchmark}_bare", "--out", str(table)]
    assert run_command(named) == 0
    predictions = pd.read_csv(table, sep="\t", keep_default_na=False)["prediction"]
    assert list(predictions) == [after_thought(reply) for reply in served]
    for reading in figures(run, benchmark):
        out = tmp_path / reading
        how = ["--benchmark", benchmark, "--reading", reading, "--out", str(out)]
        assert run_command(["import", str(table), "--from", "vlmevalkit", *how]) == 0
        again = [json.loads(line) for line in (out / "samples" / "exported.jsonl").read_text().splitlines()[1:]]
        first = figures(run, benchmark)[reading]
        right = sum(one["right"] for one in again) / len(STYLES)
        assert right == pytest.approx(first.get("accuracy", next(iter(first.values()))))


def test_a_judge_that_finds_no_answer_changes_no_figure(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")

    def verdict(received: Received) -> Served:
        return chat_reply("Unknown" if "Unknown" in json.dumps(received.body["messages"]) else "Z")

    with ChatServer(verdict) as judge:
        how = ["--judge", judge.url, "--judge-model", "j", "--benchmarks-dir", str(run.parent)]
        assert run_command(["reread", str(tmp_path / "run"), *how]) == 0
    for name in ("mmstar", "pope"):
        file = tmp_path / "run" / "benchmarks" / f"{name}_bare.judged.json"
        again = {one["reading"]: one["figures"] for one in json.loads(file.read_text())["readings"]}
        first = {figure["name"]: figure["value"] for figure in again["vlmevalkit"]}
        assert first == figures(run, name)["vlmevalkit"]
