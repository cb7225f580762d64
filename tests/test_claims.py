"""Claims: what an interval says, how many imitations an effect needs, and pairs by imitation."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from scipy import stats
from studies.claims import design
from studies.claims.__main__ import CLAIMS
from studies.claims.figures import at_level, difference_of, last_share, steps_to
from studies.claims.paired import imitations_needed, paired_change, power_of

from saccade.config import RecipeContext, apply_overrides
from saccade.miniature.argos import TinyArgosSettings
from saccade.miniature.codedance import TinyCodeDanceSettings
from saccade.miniature.ivgr import TinyIvgrSettings
from saccade.miniature.lang2act import TinyLang2ActSettings
from saccade.miniature.vista_r1 import TinyVistaSettings
from saccade.train import Evaluate
from saccade.train.recipe_loading import load_recipe

SETTINGS = {
    "argos:tiny": TinyArgosSettings(),
    "ivgr:tiny": TinyIvgrSettings(),
    "codedance:tiny": TinyCodeDanceSettings(),
    "lang2act:tiny": TinyLang2ActSettings(),
    "vista_r1:tiny": TinyVistaSettings(),
}

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
    # On another machine: nothing is run of an imitation that is whole, all of one whose rows are not.
    asked.clear()
    elsewhere = design.run_claim(claim, tmp_path / "other", imitations=2, draws=2, stored=rows[:-1])
    assert elsewhere == [*rows[:5], *elsewhere[5:]]
    assert {seed // 100 for seed, *_ in asked} == {1}
    assert len(asked) == 1 + 2 * 2
    assert design.run_claim(claim, tmp_path / "third", imitations=1, draws=2, stored=rows) == rows
    # Of a file's rows those of other options would go.
    whole = {"variants": (), "smaller": (), "draws": 2}
    assert design.rows_of_others(claim, rows, **whole) == []
    assert design.rows_of_others(claim, rows, **(whole | {"smaller": ("n=3",)})) == rows
    assert {row["draw"] for row in design.rows_of_others(claim, rows, **(whole | {"draws": 1}))} == {1}
    of_others = design.rows_of_others(claim, rows, **(whole | {"variants": ("with",)}))
    assert {row["variant"] for row in of_others} == {"without"}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_each_claim_has_settings_that_exist_and_compares_what_it_runs(claim: design.Claim) -> None:
    imitations = {name: (*own, *claim.no_rl) for name, own in claim.imitations.items()}
    found = {
        name: apply_overrides(SETTINGS[claim.recipe], [*claim.shared, *own])
        for name, own in {**imitations, **claim.variants}.items()
    }
    # A variant that is none changes nothing that its base does not have.
    assert all(found[one.variant] != found[one.base] for one in claim.comparisons if one.base)
    assert {one.variant for one in claim.comparisons} <= claim.variants.keys()
    assert {run for run, _ in claim.starts.values()} <= found.keys()
    assert claim.name in (Path(design.__file__).parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("claim", [one for one in CLAIMS.values() if one.run_as], ids=lambda claim: claim.name)
def test_a_recipe_with_fewer_evaluations_trains_as_the_whole_one(claim: design.Claim) -> None:
    settings = tuple(claim.settings_of(next(iter(claim.variants))))
    whole, fewer = (
        load_recipe(recipe).function(RecipeContext(overrides=settings)) for recipe in (claim.recipe, claim.run_as)
    )
    kept = [one for one in whole.stages if one.name in {stage.name for stage in fewer.stages}]
    assert [repr(one.settings) for one in fewer.stages if not isinstance(one, Evaluate)] == [
        repr(one.settings) for one in whole.stages if not isinstance(one, Evaluate)
    ]
    assert [one.name for one in kept] == [one.name for one in fewer.stages]
    assert {one.name for one in fewer.stages} >= {"after_sft_more", "after_rl", "after_rl_more"}
    assert len(fewer.stages) == len(whole.stages) - 6


def metrics(directory: Path, accuracies: Sequence[float]) -> Path:
    lines = [
        json.dumps({"stage": "rl", "step": step, "reward/accuracy": accuracy, "entropy": 1 - accuracy})
        for step, accuracy in enumerate(accuracies, start=1)
    ]
    (directory / "metrics.jsonl").write_text("\n".join([json.dumps({"stage": "sft", "step": 9}), *lines]))
    return directory


def test_steps_to_an_accuracy_and_the_entropy_there_are_of_the_first_window_that_reaches_it(tmp_path: Path) -> None:
    directory = metrics(tmp_path, [0.5, 1.0, 0.7, 0.7, 0.8, 0.8, 0.8, 0.9, 0.9])
    assert steps_to("steps", 0.8).read(directory, {}) == 6
    assert at_level("entropy", 0.8, "entropy").read(directory, {}) == pytest.approx(20.0)
    assert steps_to("steps", 0.95).read(directory, {}) == 9
    assert at_level("entropy", 0.95, "entropy").read(directory, {}) is None
    assert steps_to("steps", 0.8, stage="tail").read(directory, {}) is None


def test_figures_of_one_run_are_the_latest_evaluation_and_differences_of_two(tmp_path: Path) -> None:
    report = {"stages": [{"name": "after_action", "accuracy": 0.6}, {"name": "after_tools", "accuracy": 0.7}]}
    names = ("after_tools", "after_action")
    assert last_share("right", names).read(tmp_path, report) == 70
    assert last_share("right", names).read(tmp_path, {"stages": report["stages"][:1]}) == 60
    gain = difference_of("gain", last_share("", names[:1]), last_share("", names[1:]))
    assert gain.read(tmp_path, report) == pytest.approx(10)
    assert gain.read(tmp_path, {"stages": report["stages"][:1]}) is None


def test_variants_may_start_from_another_imitation_or_from_a_variant_of_their_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, str] = {}

    def train(
        _: str, seed: int, directory: Path, settings: list[str], *, threads: int, start: Path | None
    ) -> design.Row:
        asked[directory.name] = "" if start is None else f"{start.parent.parent.name}/{start.name}"
        for stage in ("sft", "rl"):
            (directory / "checkpoints" / f"{stage}-000001").mkdir(parents=True)
        return {"stages": [{"name": "after_rl", "accuracy": 0.5 + 0.1 * ("x=1" in settings)}]}

    monkeypatch.setattr(design, "train", train)
    right = design.share_of("right", "after_rl")
    claim = design.Claim(
        name="claim",
        paper="x helps",
        recipe="none",
        end_point=design.share_of("nothing", "after_rl", "none"),
        other_imitations={"bare": ("y=1",)},
        variants={"first": (), "second": ("x=1",), "third": ()},
        starts={"second": ("first", "rl"), "third": ("bare", "sft")},
        comparisons=(
            design.Comparison(variant="second", base="first", expected=5.0, says="x helps more", end_point=right),
            design.Comparison(variant="second", base="", expected=50.0, end_point=right),
        ),
    )
    rows = design.run_claim(claim, tmp_path, imitations=2, draws=2, variants=["second"])
    assert {row["variant"] for row in rows} == {"imitation", "first", "second"}
    assert asked["second-1-1"] == "first-1-1/rl-000001"
    assert asked["first-1-1"] == "imitation-1-0/sft-000001"
    told = design.report(claim, rows)
    assert "| second over first, right (claimed: +5) | +10.0 (+10.0 to +10.0) | 0.0 | shown |" in told
    assert "| second, right (claimed: +50) | +60.0 (+60.0 to +60.0) | 0.0 | shown |" in told
    assert told.endswith("- second over first, right: x helps more")
    [row, *_] = design.run_claim(claim, tmp_path / "again", imitations=1, draws=1, smaller=["rl.steps=2"])
    assert asked["third-0-0"] == "bare-0-0/sft-000001"
    assert row["settings"] == ["rl.steps=2", "rl.steps=0"]
