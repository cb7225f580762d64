"""The page of claims: made from its rows, each with a command and a source that exist, none judged by hand or stale."""

import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from studies.claims.__main__ import CLAIMS
from studies.claims.page import (
    NOT_YET,
    PAGE,
    STALE,
    STUDIES,
    kind_of,
    of_design,
    of_study,
    read_rows,
    table,
    verdict_by_question,
    with_table,
)

from places import ROOT
from saccade.evaluation.statistics import Difference

DATA = read_rows()
ROWS = DATA["claim"]
SEEN = [seen for row in ROWS for seen in row.get("seen", [])]


def test_the_page_is_what_its_rows_make() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(ROWS) > 25
    assert with_table(page, table(DATA)) == page, "run python -m studies.claims.page"


def test_the_readme_says_how_many_claims_there_are() -> None:
    (said,) = re.findall(r"\[(\d+) claims\]\(docs/claims\.md\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert int(said) == len(ROWS)


def test_each_comparison_of_each_design_stands_in_one_row() -> None:
    named = Counter((row["design"], label) for row in ROWS if "design" in row for label in row["compares"])
    assert named == Counter((claim.name, one.label) for claim in CLAIMS.values() for one in claim.comparisons)
    readme = (STUDIES / "claims/README.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"\n\| `(\w+)`.* \| (\d+) \|", readme)) == {
        name: str(minutes) for name, minutes in DATA["minutes"].items()
    }
    assert DATA["minutes"].keys() == CLAIMS.keys()


def test_commands_name_modules_that_exist() -> None:
    commands = {row["command"] for row in ROWS if "command" in row}
    modules = [
        ROOT / f"{module.replace('.', '/')}.py" for module in re.findall(r"(studies\.[\w.]+)", " ".join(commands))
    ]
    assert len(modules) == len(commands) - 1
    assert [str(path) for path in modules if not path.is_file()] == []
    assert [row["says"] for row in ROWS if "command" not in row and "design" not in row] == [
        row["says"] for row in ROWS if row.get("verdict", "").startswith("not run")
    ]


def test_sources_are_stored_and_quotes_stand_in_them_word_for_word() -> None:
    assert {seen["source"] for seen in SEEN} == DATA["source"].keys()
    texts = {
        name: " ".join((STUDIES / name).read_text(encoding="utf-8").replace("**", "").split())
        for name in DATA["source"]
    }
    assert [seen["quote"] for seen in SEEN if "quote" in seen and seen["quote"] not in texts[seen["source"]]] == []
    assert all(re.fullmatch("[0-9a-f]{8}", source["code"]) for source in DATA["source"].values())


def test_a_verdict_by_hand_stands_only_where_nothing_is_computed() -> None:
    for row in ROWS:
        computed = "design" in row or any("variant" in seen for seen in row.get("seen", []))
        assert computed != ("verdict" in row or any("verdict" in seen for seen in row.get("seen", []))), row["says"]


def test_a_design_that_was_run_has_its_own_result_and_verdicts(tmp_path: Path) -> None:
    row = next(row for row in ROWS if row.get("design") == "codedance_rewards" and len(row["compares"]) == 2)
    figures = {"adaptive, turns": (70.0, 20.0), "deepeyes": (69.5, 120.0)}
    label = "calls per 100 easy questions"
    settings = {variant: CLAIMS["codedance_rewards"].settings_of(variant) for variant in figures}
    runs: list[dict[str, Any]] = [
        {
            "variant": variant,
            "imitation": i,
            "draw": 0,
            "wall_s": 60,
            "figures": {"hard": hard - i * (calls > 50), label: calls},
        }
        for variant, (hard, calls) in figures.items()
        for i in range(6)
    ]
    runs = [run | {"settings": settings[run["variant"]]} for run in runs]
    (tmp_path / "codedance_rewards.json").write_text(json.dumps({"runs": runs}))
    accuracy, calls = of_design(row, DATA["minutes"], tmp_path)
    assert accuracy.text == "adaptive, turns over deepeyes: +3.0 (+1.0 to +5.0), 1 draw each"
    assert (accuracy.verdict, calls.verdict, accuracy.minutes) == ("shown", "shown", 12)
    assert f"<br>adaptive, turns over deepeyes, {label}: -100.0 (-100.0 to -100.0), 1 draw each" in table(
        DATA, tmp_path
    )
    (tmp_path / "codedance_rewards.json").write_text(
        json.dumps({"runs": [run for run in runs if run["imitation"] != 2]})
    )
    assert {one.verdict for one in of_design(row, DATA["minutes"], tmp_path)} == {"open: imitations run: 5 of 6"}
    designs = sum("design" in row for row in ROWS)
    assert f"Runs of {designs} are still to come" in table(DATA, tmp_path)
    shortened = [run | {"settings": [*run["settings"], "rl.steps=2"]} for run in runs]
    (tmp_path / "codedance_rewards.json").write_text(json.dumps({"runs": shortened}))
    assert {one.verdict for one in of_design(row, DATA["minutes"], tmp_path)} == {NOT_YET}


def test_figures_older_than_the_code_are_never_a_verdict() -> None:
    figures = [seen for seen in SEEN if "variant" in seen]
    assert figures
    for seen in figures:
        older = DATA["source"][seen["source"]] | {"stale": "before a change"}
        assert of_study(seen, older, judged=True).verdict == STALE


def test_a_row_counts_as_shown_only_if_all_of_it_is() -> None:
    assert kind_of(["shown", "shown on 3 seeds"]) == "shown"
    assert kind_of(["open on 3 seeds", "shown on 3 seeds"]) == "shown in part"
    assert kind_of(["the opposite", "shown"]) == "the opposite"
    assert kind_of(["excluded beyond 2.0 points", "the opposite"]) == "excluded"
    assert kind_of([NOT_YET, "the opposite on 1 of 2 seeds, real weights"]) == "open"


@pytest.mark.parametrize(
    ("lows", "verdict"),
    [
        ((1, 2), "shown on 2 seeds"),
        ((1, 0), "shown in part: 1 of 2 seeds"),
        ((-9, 0), "the opposite on 1 of 2 seeds"),
        ((0, -1), "open on 2 seeds"),
    ],
)
def test_on_real_weights_each_seed_is_judged_by_its_own_questions(lows: tuple[int, int], verdict: str) -> None:
    each = [Difference(mean=low + 2.5, ci95=(low, low + 5), n=96) for low in lows]
    assert verdict_by_question(each) == f"{verdict}, real weights"


def test_theorem_1_of_argos_gives_a_bound_that_an_example_breaks() -> None:
    """Two samples, no noise: the bound is the probability that the group holds an undominated action."""
    rewards, chances, delta = [(0, 1), (0.9, 0.3), (1.5, 0.9)], (0.5, 0.5, 0.0), 0.5
    optimal = [
        not any(all(better >= one + delta for better, one in zip(other, mine, strict=True)) for other in rewards)
        for mine in rewards
    ]
    groups = list(itertools.product(range(3), repeat=2))
    taken = {group: max(group, key=lambda action: sum(rewards[action])) for group in groups}
    found = sum(chances[a] * chances[b] for a, b in groups if optimal[taken[a, b]])
    covered = sum(chance for chance, is_optimal in zip(chances, optimal, strict=True) if is_optimal)
    assert (found, 1 - (1 - covered) ** 2) == (0.25, 0.75)
