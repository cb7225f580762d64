"""Rewritten chains of thought with code: their turns, and the outputs they claim against the real ones."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.protocols.code_words import PYTHON_TOOL
from saccade.protocols.markup import find_fences
from saccade.rewards.judges.llm_judge import without_thinking
from saccade.types import Answer, Example, ExpertTurn, Task, ToolCall

MAX_REWRITTEN_CHARS = 1 << 18

_TAG = re.compile(r"<(/?)(think|code|interpreter|answer)>")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
_LINE_END = re.compile(r"\r\n?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewritten:
    """A rewritten chain: the turns that it comes to, and what it claims that each piece of code prints."""

    turns: tuple[ExpertTurn, ...]
    claims: tuple[str, ...]
    """One for each turn but the last, which answers."""

    def as_example(self, task: Task) -> Example:
        return Example(task=task, turns=self.turns)


def read_rewritten(text: str) -> Rewritten | str:
    """The turns of a rewritten chain of thought, or why it cannot be read.

    It must be words, then any number of ``<code>`` with one Python block, each at once followed by its
    ``<interpreter>`` and more words, and in the end one ``<answer>`` with nothing after it. ``<think>`` tags around
    words are taken off.
    """
    if len(text) > MAX_REWRITTEN_CHARS:
        return f"it is longer than {MAX_REWRITTEN_CHARS} characters"
    # Thoughts of a reasoning model go; a solution that is wrapped in <think> as a whole stays.
    text = _LINE_END.sub("\n", text if "<code>" in text.partition("</think>")[0] else without_thinking(text))
    turns: list[ExpertTurn] = []
    claims: list[str] = []
    words, code, opened, start = "", "", "", 0
    for tag in _TAG.finditer(text):
        closes, name = tag.group(1) == "/", tag.group(2)
        between = text[start : tag.start()]
        start = tag.end()
        if opened:
            if not closes or name != opened:
                return f"<{tag.group(1)}{name}> stands inside <{opened}>"
            opened = ""
            match name:
                case "code":
                    fences, rest = find_fences(between)
                    if len(fences) != 1 or not fences[0].is_closed or rest.strip():
                        return "what stands in <code> is not one fenced block"
                    code = fences[0].code
                case "interpreter":
                    call = ToolCall(name=PYTHON_TOOL, arguments={"code": code})
                    turns.append(ExpertTurn(thought=words.strip(), action=call))
                    claims.append(between)
                    words, code = "", ""
                case _:
                    if not between.strip():
                        return "the answer is empty"
                    if text[start:].strip():
                        return "it goes on after its answer"
                    turns.append(ExpertTurn(thought=words.strip(), action=Answer(text=between.strip())))
                    return Rewritten(turns=tuple(turns), claims=tuple(claims))
        elif name == "think":
            words += between
        elif closes:
            return f"</{name}> closes nothing"
        elif code and (name != "interpreter" or between.strip()):
            return "a piece of code is not at once followed by its <interpreter>"
        elif name == "interpreter" and not code:
            return "an <interpreter> follows no code"
        else:
            words += between
            opened = name
    return f"<{opened}> is never closed" if opened else "it gives no <answer>"


def normal_output(text: str) -> str:
    """Output as it is compared: without white space at the ends of lines and blank lines before and after.

    Everything else counts, numbers digit by digit: 0.5 is not 0.50.
    """
    lines = [line.rstrip() for line in _LINE_END.sub("\n", text).split("\n")]
    return "\n".join(lines).strip("\n")


def mismatches(claims: Sequence[str], outputs: Sequence[str]) -> list[int]:
    """Indices of the pieces of code whose claimed output is not the real one."""
    pairs = zip(claims, outputs, strict=True)
    return [index for index, (claim, real) in enumerate(pairs) if normal_output(claim) != normal_output(real)]


def contradiction(rewritten: Rewritten, outputs: Sequence[str]) -> str:
    """A number that the text goes on to use although only a wrong claim, and no real output, holds it; else empty.

    The test of whether a wrong claim may be replaced by the real output. A number that the words before the claim, or
    the piece's own code, know too has another source and counts for nothing.
    """
    turns = rewritten.turns
    for index in mismatches(rewritten.claims, outputs):
        before = " ".join([turn.thought + _code_of(turn) for turn in turns[: index + 1]])
        known = set(_NUMBER.findall(" ".join([*outputs, before])))
        later = " ".join(turn.thought + _code_of(turn) for turn in turns[index + 1 :])
        answer = turns[-1].action
        later += f" {answer.text}" if isinstance(answer, Answer) else ""
        used = set(_NUMBER.findall(later)) - known
        claimed: list[str] = _NUMBER.findall(rewritten.claims[index])
        wrong = next((number for number in claimed if number in used), "")
        if wrong:
            return wrong
    return ""


def _code_of(turn: ExpertTurn) -> str:
    code = turn.action.arguments.get("code") if isinstance(turn.action, ToolCall) else None
    return f" {code} " if isinstance(code, str) else ""
