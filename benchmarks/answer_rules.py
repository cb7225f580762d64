"""Ordinary replies and hedges, judged by our metrics and by the rules of two public harnesses.

    python benchmarks/answer_rules.py --lmms-eval FOLDER --vlmevalkit FOLDER --out answer_rules.json

The folders are checkouts of EvolvingLMMs-Lab/lmms-eval and open-compass/VLMEvalKit; only the files that hold their
rules are loaded. A reply is ``fair`` when a reader would say that it gives the right answer and no other.
"""

import argparse
import importlib.util
import json
import logging
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.types import Task

ANIMALS = ("a cat", "a dog", "a bird", "none of these")
LETTERS = dict(zip("ABCD", ANIMALS, strict=True))
FAIR_LETTERS = (
    "B", "b", "(B)", "B.", "**B**", "*B*", "`B`", "B!", r"\boxed{B}", r"$\boxed{B}$", r"\boxed{\text{B}}",
    "Option B is correct", "Option B is correct.", "B is correct.", "(B) is the right answer", "The answer is B",
    "The correct option is **B**.", "**Answer:** B", "Answer: (B)", "Therefore, the answer is B.", "I choose B",
    "B. a dog", "**B. a dog**", "B - a dog", "B: a dog", "a dog", "A dog.", "The answer is a dog.", "It's a dog!",
)  # fmt: skip
HEDGED_LETTERS = (
    "A or B", "B or A", "B, not A", "A, not B", "not B", "B is incorrect", "The answer is not B", "A, B, C, D",
    "A. B. C. D.", "(A) (B) (C) (D)", "**A** or **B**", "Option A or option B", "A is correct. B is correct.",
    "a cat, a dog, a bird", "B. a cat", "either a cat or a dog", "all of them", "Because",
)  # fmt: skip
FAIR_NUMBERS = (
    "3", "three", "Three.", "**3**", r"\boxed{3}", "The answer is 3", "There are 3 cats", "There are three cats.",
    "3 cats", "3.0", "I see 3 cats", "The total number of cats is 3",
)  # fmt: skip
HEDGED_NUMBERS = (
    "3 or 4", "1, 2, 3, 4, 5", "1 2 3 4", "not 3", "There are 3 or 4 cats", "more than 3", "3 million", "13", "3 to 5",
    "3, no, 4", "\\boxed{3}, \\boxed{4}",
)  # fmt: skip
FAIR_YES = ("yes", "Yes", "yes!", "YES.", "**Yes**", "Yes, it is.", r"\boxed{yes}")
HEDGED_YES = ("no", "yes, no", "yes or no", "yes and no", "not yes", "Yes, it is not", "not sure")

Rule = Callable[[str], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """Replies to one question, and who judges them."""

    name: str
    fair: tuple[str, ...]
    hedged: tuple[str, ...]
    rules: dict[str, Rule]


def loaded(path: Path, name: str) -> types.ModuleType:
    """A module from its file alone."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def matching_of(vlmevalkit: Path) -> types.ModuleType:
    """VLMEvalKit's rules for options, without the package around them, of which they use the logger alone."""
    log = types.ModuleType("vlmeval.smp.log")
    log.__dict__["get_logger"] = logging.getLogger
    for name in ("vlmeval", "vlmeval.smp"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["vlmeval.smp.log"] = log
    return loaded(vlmevalkit / "vlmeval/utils/matching_util.py", "matching_util")


def task(source: str, answer: str, **rest) -> Task:
    return Task(id="t", family="f", question="?", answer=answer, images=(), source=source, **rest)


def questions(lmms: Path, vlm: Path) -> list[Question]:
    rules = lmms / "lmms_eval/tasks"
    extract = loaded(rules / "_task_utils/mcq_extract.py", "mcq_extract")
    mmmu = loaded(rules / "_task_utils/mmmu_mcq_utils.py", "mmmu_mcq_utils")
    chart = loaded(rules / "chartqa/utils.py", "chartqa_utils")
    science = loaded(rules / "scienceqa/utils.py", "scienceqa_utils")
    matching = matching_of(vlm)
    row = {"choices": list(ANIMALS), "answer": 1}
    letters: dict[str, Rule] = {
        "saccade": lambda said: answer_is_right(task("aokvqa", "B", answer_kind="choice", choices=ANIMALS), said),
        "lmms-eval scienceqa": lambda said: science.sqa_process_results(row, [said])["exact_match"] == 1.0,
        "lmms-eval mcq_extract": lambda said: extract.extract_mcq_answer(said, list("ABCD")) == "B",
        "lmms-eval mmmu": lambda said: mmmu.parse_mmmu_multi_choice_response(said, list("ABCD"), LETTERS) == "B",
        "VLMEvalKit can_infer": lambda said: matching.can_infer(said, dict(LETTERS)) == "B",
    }
    numbers: dict[str, Rule] = {
        "saccade": lambda said: answer_is_right(task("chartqa", "3", answer_kind="number", tolerance=0.05), said),
        "lmms-eval chartqa": lambda said: bool(chart.relaxed_correctness(said, "3")),
    }
    yes: dict[str, Rule] = {
        "saccade": lambda said: answer_is_right(task("figureqa", "yes", answer_kind="exact"), said),
        "lmms-eval pope": lambda said: said.lower().strip() == "yes",
    }
    return [
        Question(name="options", fair=FAIR_LETTERS, hedged=HEDGED_LETTERS, rules=letters),
        Question(name="counts of a chart", fair=FAIR_NUMBERS, hedged=HEDGED_NUMBERS, rules=numbers),
        Question(name="yes and no", fair=FAIR_YES, hedged=HEDGED_YES, rules=yes),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lmms-eval", type=Path, required=True)
    parser.add_argument("--vlmevalkit", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    request = parser.parse_args()
    found: dict[str, dict[str, dict[str, object]]] = {}
    for one in questions(request.lmms_eval, request.vlmevalkit):
        for name, rule in one.rules.items():
            refused = [said for said in one.fair if not rule(said)]
            paid = [said for said in one.hedged if rule(said)]
            found.setdefault(one.name, {})[name] = {"refused": refused, "paid": paid}
            print(
                f"{one.name}, {name}: {len(one.fair) - len(refused)} of {len(one.fair)} fair replies are right, "
                f"{len(paid)} of {len(one.hedged)} hedges and wrong ones are paid {paid}"
            )
    if request.out is not None:
        request.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
