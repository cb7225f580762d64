"""NaN and infinite numbers in records and metrics: reports, pages and exports are made all the same, in strict JSON."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from view_client import viewing
from viewer_fake_run import make_run

from saccade.cli.entry import run_command
from saccade.errors import UserError
from saccade.evaluation.sample_files import read_samples, write_samples, write_times
from saccade.evaluation.samples import SampleHeader, SampleSet, SampleTimes, StoredSample
from saccade.runs.position import duration
from saccade.runs.runinfo import RunPaths
from saccade.strict_json import strict_json
from saccade.viewer.evidence import collect
from saccade.viewer.model_card import model_card


def strict(text: str) -> Any:
    """The value of a text in which NaN is an error, as in every other language."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def spoiled(run: Path, key: str, number: str) -> None:
    """Gives every record of the run this number under the key; what was derived from it is gone."""
    for folder in ("index", "signals", "clocks"):
        for file in (run / folder).rglob("*.arrow"):
            file.unlink()
    count = 0
    for file in run.rglob("*.jsonl"):
        text, places = re.subn(rf'"{key}": [-\d.e]+', f'"{key}": {number}', file.read_text())
        file.write_text(text)
        count += places
    assert count


def answers(run: Path, cache: Path) -> Iterator[Any]:
    with viewing(run, cache=cache) as (client, _):
        [told] = strict(client.get("/api/runs").text)["runs"]
        address = f"/api/runs/{told['id']}"
        for part in ("", "/curves", "/trajectories?limit=5&facets=1", "/trajectories?sort=reward"):
            answer = client.get(address + part)
            assert answer.status_code == 200
            yield strict(answer.text)
            for row in answer.json()["rows"][:1] if "/trajectories" in part else ():
                for one in (f"/trajectories/{row['id']}", f"/groups/{row['id']}"):
                    found = client.get(address + one)
                    assert found.status_code == 200
                    yield strict(found.text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
@pytest.mark.parametrize("key", ["value", "weight", "reward/mean", "time/wall_s", "nll", "tolerance"])
def test_a_run_with_such_numbers_has_a_report_a_card_and_pages(
    tmp_path: Path, key: str, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", n=4)
    spoiled(run, key, number)
    assert run_command(["report", str(run)]) == 0
    assert strict((run / "report.json").read_text())["title"]
    assert run_command(["show", str(run)]) == 0
    assert capsys.readouterr().out
    assert model_card(collect(RunPaths(root=run)), repo="a/b", checkpoint=run).text
    assert list(answers(run, tmp_path / "cache"))


@pytest.mark.parametrize("key", ["value", "weight", "reward/mean"])
def test_a_whole_number_of_which_no_float_can_be_made_is_said_with_its_line(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", n=4)
    spoiled(run, key, "9" * 350)
    assert run_command(["show", str(run)]) == 2
    assert re.search(r"\.jsonl:\d+: ", capsys.readouterr().err)
    assert list(answers(run, tmp_path / "cache"))


def evaluated(folder: Path, **changes: Any) -> Path:
    samples = tuple(
        StoredSample(
            id=f"q{place}",
            q=f"hash {place}",
            key="",
            sample=0,
            status="answered",
            right=place % 2 == 0,
            score=1.0,
            answer="+",
            gold="+",
            reply="+",
            family="f",
            cluster=str(place),
        )
        for place in range(4)
    )
    header = SampleHeader(name="direct", model={"name": "m"}, asked={"protocol": "direct"})
    path = folder / "samples" / "direct.jsonl"
    path.parent.mkdir(parents=True)
    write_samples(path, SampleSet(header=header, samples=tuple(replace(one, **changes) for one in samples)))
    return folder


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_samples_with_such_numbers_have_figures_and_are_compared(tmp_path: Path, score: float) -> None:
    first, second = evaluated(tmp_path / "a", score=score), evaluated(tmp_path / "b")
    times = [SampleTimes(id=f"q{place}", sample=0, wall_s=score, tool_s=score) for place in range(4)]
    write_times(first / "samples" / "direct.jsonl", times)
    for command in (["figures", str(first)], ["compare", str(first), str(second)]):
        assert run_command([*command, "--json", str(tmp_path / "found.json")]) == 0
        assert strict((tmp_path / "found.json").read_text())


@pytest.mark.parametrize(
    "changes", [{"score": 10**400}, {"tokens_in": 10**400}, {"pixels": 10**400}, {"calls": {"crop": 10**400}}]
)
def test_a_sample_that_counts_beyond_all_numbers_is_none(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = evaluated(tmp_path / "a", **changes) / "samples" / "direct.jsonl"
    with pytest.raises(UserError, match=r"direct\.jsonl:2 is no sample: "):
        read_samples(path)


def test_strict_json_is_what_json_gives_and_null_for_the_rest() -> None:
    value = {"a": [1.5, None, "ä"], "b": {"c": True}}
    assert strict_json(value, indent=2) == json.dumps(value, indent=2)
    assert strict_json(value, ensure_ascii=False) == json.dumps(value, ensure_ascii=False)
    assert strict_json({"a": [float("nan"), 1], "b": (float("inf"),)}) == '{"a": [null, 1], "b": [null]}'
    assert (duration(float("nan")), duration(float("inf")), duration(5)) == ("–", "–", "5 s")
