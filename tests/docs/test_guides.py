"""Guides hold to the code: settings, metrics, others' names, exit statuses, variables and the papers' values."""

import dataclasses
import re

import settings_shown
from trl import GRPOConfig

from places import ROOT, source_files
from saccade.cli import entry
from saccade.recipes.paper_values import PAPER_VALUES
from saccade.recipes.questions_settings import QuestionsSettings
from saccade.train.recipe_loading import setting_docs

DOCS = ROOT / "docs"
KEYS = {one.key for one in setting_docs(QuestionsSettings())}
SOURCE = "\n".join(path.read_text(encoding="utf-8") for _, path in source_files())


def rows(page: str) -> list[list[str]]:
    """Cells of all tables of a page, without heads."""
    lines = [line for line in (DOCS / page).read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines if "---" not in line]


def named(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_the_page_of_the_papers_settings_is_made_from_the_recipes() -> None:
    assert settings_shown.PAGE.read_text(encoding="utf-8") == settings_shown.shown()
    assert set(settings_shown.PAPERS) == set(PAPER_VALUES)


def test_our_names_and_trls_are_there() -> None:
    table = rows("names.md")[1:]
    ours = [name for row in table for name in named(row[0]) if not name.startswith(".")]
    assert len(ours) > 25
    assert [name for name in ours if name not in KEYS] == []
    fields = {field.name for field in dataclasses.fields(GRPOConfig)}
    assert [name for row in table for name in named(row[1]) if name not in fields] == []


def test_symptoms_name_metrics_and_settings_that_are_there() -> None:
    metrics = [name for row in rows("symptoms.md")[1:] for name in named(row[0])]
    assert len(metrics) > 15
    missing = [
        name
        for name in metrics
        if f'"{name}"' not in SOURCE and f'"{name.rpartition("/")[2]}"' not in SOURCE
        and f'}}{name.rpartition("/")[2]}"' not in SOURCE
    ]  # fmt: skip
    assert missing == []
    settings = [name.partition("=")[0] for row in rows("symptoms.md")[1:] for name in named(row[2])]
    dotted = [name for name in settings if name.split(".")[0] in ("rl", "rollout", "sft", "model", "pass_rates")]
    assert [name for name in dotted if name not in KEYS] == []


def test_the_table_of_algorithms_is_whole() -> None:
    known = next(one.kind for one in setting_docs(QuestionsSettings()) if one.key == "rl.algorithm.name")
    listed = [named(row[0])[0] for row in rows("choose.md")[1:13]]
    assert sorted(listed) == sorted(known.removeprefix("one of ").split(", "))


def test_exit_statuses_and_variables_are_those_of_the_code() -> None:
    table = rows("reference/exit_codes.md")
    statuses = [row[0] for row in table if row[0].isdigit()]
    assert {str(entry.USER_ERROR), str(entry.MACHINE_ERROR), str(entry.INTERRUPTED)} <= set(statuses)
    ours = set(re.findall(r"\bSACCADE_[A-Z]+\b", SOURCE))
    text = (DOCS / "reference" / "exit_codes.md").read_text(encoding="utf-8")
    assert sorted(name for name in ours if name not in text) == []


def test_links_of_the_pages_outside_the_site_lead_somewhere() -> None:
    broken = [
        f"{page}: {link}"
        for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", (ROOT / page).read_text(encoding="utf-8"))
        if not link.startswith("http") and not (ROOT / link).exists()
    ]
    assert broken == []
