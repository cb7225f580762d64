"""Claims: what an interval says, how many imitations an effect needs, and pairs by imitation."""

import json
from pathlib import Path

import pytest
from scipy import stats
from studies.claims import design
from studies.claims.paired import imitations_needed, paired_change, power_of

CHANGES = [4.0, 2.0, 1.5, 3.0, -1.0, 2.5]


def test_the_interval_is_that_of_a_paired_t_test() -> None:
    found = paired_change(CHANGES)
    other = stats.ttest_1samp(CHANGES, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((other.low, other.high))


@pytest.mark.parametrize(
    ("changes", "expected", "verdict"),
    [
        ([2.0, 3.0, 2.5], 2.0, "shown"),
        ([-2.0, -3.0, -2.5], -2.0, "shown"),
        ([-2.0, -3.0, -2.5], 2.0, "the opposite"),
        ([0.1, -0.1, 0.0], 2.0, "excluded beyond 0.2 points"),
        ([0.1, -0.1, 0.0], -2.0, "excluded beyond 0.2 points"),
        ([6.0, -5.0, 2.0], 2.0, "open"),
    ],
)
def test_verdicts_say_what_the_interval_allows(changes: list[float], expected: float, verdict: str) -> None:
    assert paired_change(changes).verdict(expected) == verdict


def test_the_imitations_that_an_effect_needs_have_80_percent_power_and_one_fewer_has_not() -> None:
    needed = imitations_needed(2.5, 4.0)
    assert needed is not None
    assert power_of(2.5, 4.0, needed) >= 0.8 > power_of(2.5, 4.0, needed - 1)
    assert imitations_needed(0.1, 40.0) is None


def test_variants_start_from_their_imitation_and_kept_rows_are_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, str, tuple[str, ...]]] = []

    def train(
        _: str, seed: int, directory: Path, settings: list[str], *, threads: int, start: Path | None
    ) -> design.Row:
        asked.append((seed, "" if start is None else start.parent.parent.name, tuple(settings)))
        (directory / "checkpoints" / "sft-000001").mkdir(parents=True)
        return {"stages": [{"name": "after_rl", "accuracy": 0.5 + 0.1 * ("x=1" in settings)}]}

    monkeypatch.setattr(design, "train", train)
    claim = design.Claim(
        name="claim",
        paper="x helps",
        recipe="none",
        end_point=design.share_of("right", "after_rl"),
        variants={"without": (), "with": ("x=1",)},
        comparisons=(design.Comparison(variant="with", base="without", expected=5.0),),
        shared=("n=9",),
    )
    rows = design.run_claim(claim, tmp_path, imitations=2, draws=2)
    assert len(rows) == len(asked) == 2 * (1 + 2 * 2)
    assert {start for seed, start, _ in asked if seed >= 100 and start} == {"imitation-1-0"}
    assert len({seed for seed, start, settings in asked if start and "x=1" in settings}) == 4
    assert "| with over without (claimed: +5) | +10.0 (+10.0 to +10.0) | 0.0 | shown |" in design.report(claim, rows)
    assert design.run_claim(claim, tmp_path, imitations=2, draws=2) == rows
    assert len(asked) == len((tmp_path / "claim" / "results.jsonl").read_text().splitlines())
    assert json.loads((tmp_path / "claim" / "results.jsonl").read_text().splitlines()[0])["settings"][0] == "n=9"
