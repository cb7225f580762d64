"""The strict reading beside math-verify, and ANLS beside the ``anls`` package."""

from collections import Counter

import pytest

from saccade.evaluation.benchmarks import BENCHMARKS, BenchmarkRow
from saccade.evaluation.benchmarks.rows import row_of
from saccade.evaluation.benchmarks.rules.free_text import anls_of_golds
from saccade.evaluation.benchmarks.rules.strict import strict_answer

math_verify = pytest.importorskip("math_verify")
anls = pytest.importorskip("anls")

GOLDS = ("14", "\\frac{1}{2}", "3\\sqrt{2}", "2\\pi", "0.25", "-7")
SAID = (
    "14", "14.0", "28/2", "\\boxed{14}", "$14$", "15", "1/2", "0.5", "\\frac{2}{4}", "\\frac{1}{3}", "3\\sqrt{2}",
    "\\sqrt{18}", "4.2", "2\\pi", "\\pi", "6.28", "1/4", "0.25", "25/100", "-7", "7", "-7.0",
)  # fmt: skip


def row(gold: str) -> BenchmarkRow:
    return row_of(BENCHMARKS["mathvision-test"], {"index": "1", "question": "Area?", "answer": gold}, ())


def verified(gold: str, said: str) -> bool:
    return math_verify.verify(math_verify.parse(f"${gold}$"), math_verify.parse(f"${said.strip('$')}$"))


def test_strict_calls_the_same_values_equal_as_math_verify() -> None:
    reading = BENCHMARKS["mathvision-test"].reading("strict")
    ours = {(gold, said): bool(reading.read(row(gold), said).is_right) for gold in GOLDS for said in SAID}
    theirs = {(gold, said): verified(gold, said) for gold in GOLDS for said in SAID}
    assert {pair for pair in ours if ours[pair] != theirs[pair]} == set()
    assert sum(ours.values()) == 16


def test_strict_reads_an_answer_behind_tags_and_thoughts() -> None:
    reading = BENCHMARKS["mathvision-test"].reading("strict")
    for said in ("<think>13? No.</think>14", "<answer>14</answer>", "<think>x</think><answer> **14** </answer>"):
        assert reading.read(row("14"), said).is_right
    for said in ("It may be 14 or 15", "<think>14", "13, and not 14", "", "<answer></answer> 14", "14 15"):
        assert reading.read(row("14"), said).is_right is False
    assert strict_answer("<answer>1</answer> then <answer>2</answer>") == ""
    assert strict_answer("<think><answer>1</answer>? No.</think><answer>2</answer> so <answer>2.</answer>") == "2."


HEDGES = (
    "{0} or {1}",
    "{1} or {0}",
    "{1}... no, {0}",
    "{0}... no, {1}",
    "{0}, {1}",
    "{0}/{1}",
    "{0}\n{1}",
    "Either {0} or {1}",
    "The answer is not {0}",
    "not {0}",
    "{0} is wrong",
    "{0} isn't right",
    "{0} seems unlikely",
    "maybe {0}",
    "anything but {0}",
    "The answer is {1}. Wait, the answer is {0}",
    "\\boxed{{{0}}} \\boxed{{{1}}}",
    "It is not {1}, it is {0}",
    "{0}, not {1}",
    "<answer>{1}</answer><answer>{0}</answer>",
    "<answer>{0}</answer><answer>{1}</answer>",
    "<answer>{0} or {1}</answer>",
    "{0} rather than {1}",
    "A B C D",
    "A, B, C, D",
    "A or B or C or D",
    "all of them",
    "yes and no",
)
COLOURS = {"A": "red", "B": "blue", "C": "green", "D": "grey", "answer": "B", "category": "x", "source": "COCO"}
HEDGED = (
    ("vstar", {"A": "red", "B": "blue", "answer": "B"}, "B", "A"),
    ("vstar", {"A": "red", "B": "blue", "answer": "B"}, "blue", "red"),
    ("pope", {"answer": "Yes"}, "Yes", "No"),
    ("chartqa-test", {"answer": "14"}, "14", "20"),
    ("docvqa", {"answer": "the patient is allergic to nuts"}, "the patient is allergic to nuts", "to milk"),
    ("mathvision-test", {"answer": "14"}, "14", "15"),
    ("countbench", {"answer": "2"}, "2", "3"),
    *((name, {**COLOURS, "split": "validation"}, "B", "A") for name in ("mmmu-val", "realworldqa", "mmstar", "blink")),
    *((name, COLOURS, "B", "A") for name in ("hrbench-4k", "cv-bench-2d", "ai2d-test", "mme-realworld-lite")),
)


_OF_RELEASES = (
    ("visualprobe-hard", {"answer": "White."}, "white", "black"),
    ("tir-bench", {"answer": "4", "category": "contrast"}, "4", "5"),
    ("o3-bench", COLOURS, "B", "A"),
    ("agentic-mme", {"answer": "Chevrolet"}, "Chevrolet", "Ford"),
    ("vlmsareblind", {"answer": "5,6", "category": "Counting Grid - Blank Grids"}, "5,6", "6,5"),
    ("zerobench", {"answer": "12"}, "12", "13"),
    ("visulogic", {"question": "Which? A. this B. that", "answer": "B"}, "B", "A"),
    ("babyvision", {"answer": "(2,3)"}, "(2,3)", "(3,2)"),
    ("video-mme-v2", COLOURS, "B", "A"),
    ("mmsearch", {"answer": "['Snoop Dogg', 'Snoop']"}, "Snoop Dogg", "Dr. Dre"),
    ("mmsearch-requery", {"answer": "iPhone 16 release date"}, "iPhone 16 release date", "Apple event"),
    ("mmsearch-rerank", {"answer": "['<Website 3>', '<Website 5>']"}, "<Website 3>", "<Website 1>"),
    ("screenspot-v2", {"answer": "x=5, y=6", "bbox": "[4, 5, 7, 7]", "img_size": "[12, 12]"}, "[5, 6]", "[1, 2]"),
)


@pytest.mark.parametrize(("benchmark", "fields", "right", "other"), [*HEDGED, *_OF_RELEASES])
def test_strict_pays_no_reply_that_hedges_or_denies(
    benchmark: str, fields: dict[str, str], right: str, other: str
) -> None:
    question = row_of(BENCHMARKS[benchmark], {"index": "1", "question": "Which?", **fields}, ())
    strict = BENCHMARKS[benchmark].reading("strict")
    assert strict.read(question, right).is_right
    assert [said for hedge in HEDGES if strict.read(question, said := hedge.format(right, other)).is_right] == []


def test_the_harness_rules_pay_a_third_of_what_hedges() -> None:
    paid: Counter[str] = Counter()
    for benchmark, fields, right, other in HEDGED:
        question = row_of(BENCHMARKS[benchmark], {"index": "1", "question": "Which?", **fields}, ())
        for reading in BENCHMARKS[benchmark].readings:
            paid[reading.name] += sum(
                bool(reading.read(question, hedge.format(right, other)).credit) for hedge in HEDGES
            )
    assert len(HEDGED) * len(HEDGES) == 420
    older = {"official": 17, "vlmevalkit": 126, "lmms-eval": 126, "strict": 0}
    assert paid == {**older, "vlmevalkit-2026-08": 77, "lmms-eval-0.7.2": 22}


@pytest.mark.parametrize("said", ["Harry Truman", "harry truman", "J. Truman", "Hary Trumann", "Barack Obama", ""])
def test_anls_is_that_of_the_package(said: str) -> None:
    """But for a similarity of exactly one half, which the harnesses keep and the package does not."""
    task_row = row_of(BENCHMARKS["docvqa"], {"index": "1", "question": "Who?", "answer": "Harry Truman"}, ())
    theirs = anls.anls_score(prediction=said, gold_labels=["Harry Truman"], threshold=0.5)
    assert anls_of_golds(task_row, said).credit == pytest.approx(theirs)
