"""Rules of releases that ask a judge: VisualProbe, BabyVision, O3-Bench. What their judges are asked is in our words.

A judge that stays outside its form is no verdict here; BabyVision's script counts it as wrong.
"""

import re
from collections.abc import Generator

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading
from saccade.evaluation.benchmarks.rules.judge_prompts import match_prompt, option_prompt, score_prompt
from saccade.evaluation.benchmarks.rules.vlmevalkit_math import always_judged

SCORE_ATTEMPTS = 5
MAX_ANSWER_CHARACTERS = 1000
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_PLAIN_BOX = re.compile(r"\\boxed\{(.*?)\}", re.DOTALL)
_TOKEN_BOX = re.compile(r"<\|begin_of_box\|>(.*?)<\|end_of_box\|>")
_BOX = "\\boxed{"


def visual_probe_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """VisualProbe (Mini-o3): 1 or 0 behind the last ``score:`` of the judge, about what the first answer tags hold.

    Without tags, which a protocol takes off, the whole reply; Mini-o3's own script gives such a reply 0.
    """
    tagged = _ANSWER.search(reply)
    said = tagged[1] if tagged else reply
    for _ in range(SCORE_ATTEMPTS):
        verdict = (yield score_prompt(row, said)).lower()
        if "score:" in verdict:
            score = verdict.split("score:")[-1].strip().split("\n")[0].strip().split(" ")[0]
            if "1" in score or "0" in score:
                return Extracted(said, float("1" in score))
    return Extracted(said, None)


def baby_vision_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """BabyVision: true or false in the judge's text about the last box, ``None`` where there is none."""
    said = last_box(reply)
    verdict = (yield match_prompt(row, said)).lower()
    return Extracted(said, 1.0 if "true" in verdict else 0.0 if "false" in verdict else None)


def last_box(reply: str) -> str:
    """What the last ``\\boxed{...}`` with matching braces holds, else the last pair of box tokens, else ``None``."""
    found, place = None, reply.find(_BOX)
    while place >= 0:
        start = place + len(_BOX)
        end = _closing_brace(reply, start)
        found = found if end < 0 else reply[start:end]
        place = reply.find(_BOX, max(start, end))
    tokens = _TOKEN_BOX.findall(reply)
    return found if found is not None else str(tokens[-1]).strip() if tokens else "None"


def _closing_brace(text: str, start: int) -> int:
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return -1


def _option_said(reply: str) -> str:
    tagged = _ANSWER.findall(reply)
    said = str(tagged[-1]).strip() if tagged else reply
    boxed = _PLAIN_BOX.findall(said)
    return str(boxed[-1]).strip() if boxed else said


def o3_bench(row: BenchmarkRow, reply: str) -> Extracted:
    """O3-Bench: right where answer tags, or a box in them, hold the letter to the sign; a judge is asked else."""
    said = _option_said(reply)
    return Extracted(said, float(said == row.answer))


def o3_bench_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """The same; of any other reply a judge names the letter, shown its last 1,000 characters."""
    said = _option_said(reply)
    if said != row.answer:
        cut = said if len(said) <= MAX_ANSWER_CHARACTERS else f"[cropped] ... {said[-MAX_ANSWER_CHARACTERS:]}"
        said = (yield option_prompt(row, cut)).strip()
    return Extracted(said, float(said == row.answer))


VISUAL_PROBE = Reading(name="official", rule=always_judged, judging=visual_probe_judged, needs_judge=True)
BABY_VISION = Reading(name="official", rule=always_judged, judging=baby_vision_judged, needs_judge=True)
O3_BENCH = Reading(
    name="official",
    rule=o3_bench,
    judging=o3_bench_judged,
    differs="without a judge, which its script always has, any reply but the letter is wrong",
)
