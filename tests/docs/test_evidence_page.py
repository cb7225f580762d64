"""The page on evidence: its code runs, and its table of hacks is what the study's policies get."""

import contextlib
import io

from code_blocks import python_of
from studies.did_it_look.hacks import HEAD, POLICIES, QUESTIONS, around, attempt_of, played, row

from places import ROOT
from saccade.geometry import Box

PAGE = (ROOT / "docs/evidence.md").read_text(encoding="utf-8")
SLOW = "100 tiny tiles that cover everything"


def test_the_table_is_what_the_policies_get() -> None:
    table = PAGE[PAGE.index(HEAD) :].split("\n\n")[0].splitlines()[2:]
    assert [line.split(" | ")[0] for line in table] == [f"| {name}" for name in POLICIES]
    assert [line for line in table if SLOW not in line] == [
        row(name, *played(play, QUESTIONS)) for name, play in POLICIES.items() if name != SLOW
    ]
    few, paid = played(POLICIES[SLOW], 10)
    assert (few.recall, few.faithful.mean, paid) == (1.0, 0.0, 0.0)
    assert any(line.startswith(f"| {SLOW} | 100 % |") and line.endswith("| 0 % | 0.00 |") for line in table)


def test_its_code_says_of_a_crop_of_the_target_that_it_is_faithful() -> None:
    target = Box(100, 100, 160, 160)
    attempt = attempt_of(0, target, [around(target, 120)])
    [code] = python_of("evidence.md")
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(code, {"task": attempt.task, "trajectory": attempt.trajectory})
    assert shown.getvalue() == "True 1.0 0.25\n[(0, True)]\n"
