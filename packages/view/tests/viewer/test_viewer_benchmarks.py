"""A run's benchmarks in its report: the run's figures by each rule beside published ones, as a spread with sources."""

import json
from pathlib import Path

from saccade.viewer.published_section import published_parts
from saccade.viewer.templates import page_template

RECORD = {
    "benchmark": "vstar",
    "evaluation": "vstar_tagged",
    "file": "VStarBench.tsv <script>alert(1)</script>",
    "headline": "vlmevalkit",
    "readings": [
        {
            "reading": "vlmevalkit",
            "n": 10,
            "failed": 1,
            "no_verdict": 0,
            "ci95": [0.4, 0.9],
            "figures": [{"name": "accuracy", "value": 0.7, "n": 9}],
        },
        {"reading": "strict", "n": 0, "failed": 0, "no_verdict": 10, "ci95": None, "figures": []},
    ],
}


def run(folder: Path) -> Path:
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "vstar_tagged.json").write_text(json.dumps(RECORD))
    (folder / "benchmarks" / "vstar_tagged.judged.json").write_text(json.dumps(RECORD))
    (folder / "benchmarks" / "cut_off.json").write_text('{"benchmark": "vs')
    (folder / "benchmarks" / "other.json").write_text('["no record"]')
    return folder


def test_own_figures_stand_beside_the_spread_of_published_ones(tmp_path: Path) -> None:
    [part] = published_parts(run(tmp_path))
    assert [row.name for row in part.own] == ["vstar tagged, vlmevalkit", "vstar tagged, vlmevalkit with the judge"]
    assert part.own[0].said == "accuracy 70.0 (40.0 to 90.0), n = 9, 1 failed: incomplete"
    assert part.own[0].is_headline
    [qwen] = [row for row in part.others if row.name == "Qwen2.5-VL-7B"]
    assert (qwen.low, qwen.high) == (min(qwen.marks), max(qwen.marks))
    assert len(qwen.sources) == len(qwen.marks) > 1
    assert qwen.said == f"{qwen.low:g} to {qwen.high:g} in {len(qwen.marks)} sources"
    assert any("iVGR, arXiv 2605.31096" in source and "2026-06-01" in source for source in qwen.sources)


def test_the_page_escapes_what_files_say(tmp_path: Path) -> None:
    page = page_template("published.html.jinja").render(benchmarks=published_parts(run(tmp_path)))
    assert "<script>" not in page
    assert "VStarBench.tsv" in page
    assert page.count("<svg") == page.count("</svg>") > 2


def test_a_run_without_benchmarks_has_no_section(tmp_path: Path) -> None:
    assert published_parts(tmp_path) == []
    assert page_template("published.html.jinja").render(benchmarks=[]).strip() == ""
