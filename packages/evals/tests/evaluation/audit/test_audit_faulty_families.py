"""Families with one fault each: every fault is found by the check that should, and the clean family passes all."""

from dataclasses import replace
from pathlib import Path

import pytest

from saccade.evaluation.audit.audit import Audited, AuditSettings, audited_family, with_shared_looks
from saccade.evaluation.audit.findings import FamilyAudit

FILE = Path(__file__).with_name("faulty_families.py")
SETTINGS = AuditSettings(tasks=90, experts=12)

FAULTS = {
    "skewed": "prior",
    "usual_at_one_level": "usual answers",
    "usual_of_one_question": "usual answers",
    "told_by_words": "question's words",
    "longest_option": "question's words",
    "glance": "thumbnail",
    "picture_ignored": "other picture",
    "two_right_options": "options",
    "ambiguous": "ambiguous",
    "evidence_elsewhere": "evidence",
    "whole_picture": "evidence",
    "stray_pixels": "evidence",
    "corner_pixel": "beside the evidence",
    "telling_ground": "beside the evidence",
    "rare_wrong": "same evidence",
    "hidden_sometimes": "same evidence",
    "decoy_evidence": "evidence matters",
    "shared_splits": "splits",
    "few": "copies within",
    "remembers": "bytes",
    "of_this_process": "bytes",
    "of_the_threads": "bytes",
    "wrong_expert": "expert",
    "easier": "difficulty",
    "same_difficulty": "difficulty",
}
"""The check that convicts each."""


def audited(name: str, check: str) -> Audited:
    return audited_family(f"{FILE}:draw_{name}", replace(SETTINGS, only=(check,)))


def convicted_by(audit: FamilyAudit) -> set[str]:
    return {one.check for one in audit.convictions}


@pytest.mark.parametrize(("name", "check"), FAULTS.items())
def test_a_fault_is_found_by_the_check_that_should(name: str, check: str) -> None:
    found = audited(name, check).audit.finding(check)
    assert found.verdict == "convicted", found
    assert found.figure is not None
    assert found.example or found.note


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.full)])
def test_a_clean_family_is_convicted_of_nothing(seed: int) -> None:
    audit = audited_family(f"{FILE}:draw_clean", replace(SETTINGS, seed=seed)).audit
    assert convicted_by(audit) == set()
    judged = {one.check for one in audit.findings if one.verdict == "passes"}
    # Whether enough tasks ask the same of the same pixels is chance.
    assert judged | {"same evidence"} == {
        "same evidence",
        "prior",
        "usual answers",
        "question's words",
        "thumbnail",
        "beside the evidence",
        "other picture",
        "options",
        "ambiguous",
        "evidence",
        "evidence matters",
        "splits",
        "copies across splits",
        "copies within",
        "bytes",
        "expert",
        "difficulty",
    }


def test_pictures_of_another_family_are_found() -> None:
    both = [audited(name, "splits") for name in ("shared_splits", "of_another")]
    _, second = with_shared_looks([one.audit for one in both], [one.look for one in both])
    found = second.finding("copies in another family")
    assert (found.verdict, found.example) == ("convicted", "shared_splits")
