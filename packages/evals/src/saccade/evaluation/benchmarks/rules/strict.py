"""The strict reading: what stands in the answer tags, or the whole reply, compared as a whole and never searched.

It is the rule of Saccade's own rewards (``rewards.answers.metrics_by_set``), behind the tags of the usual protocols.
"""

import re

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading
from saccade.protocols.markup import after_thought
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.rewards.answers.replies import bare

_ANSWER = re.compile(r"<answer>((?:(?!<answer>).)*?)</answer>", re.DOTALL)
_TAG = re.compile(r"</?(?:think|answer|tool_call|box|point)>")


def strict_answer(reply: str) -> str:
    """The ``<answer>``, else what follows the thought, else the reply; empty where a thought never ends.

    Answers in several tags that are not the same are none.
    """
    outside = after_thought(reply)
    # A thought that never ends may hold the answer in its tags.
    if answers := [one.strip() for one in _ANSWER.findall(outside) or _ANSWER.findall(reply)]:
        return answers[-1] if len({bare(one).casefold() for one in answers}) == 1 else ""
    return "" if "<think>" in outside else _TAG.sub("", outside).strip()


def strict(row: BenchmarkRow, reply: str) -> Extracted:
    """Right or wrong by the metric of the row's data set, or of the kind of its answer; an empty reply is wrong."""
    said = strict_answer(reply)
    return Extracted(bare(said), float(bool(said) and answer_is_right(row.task, said)))


STRICT = Reading(name="strict", rule=strict)
