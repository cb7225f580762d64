"""MindCube's two rules, which differ on half of ordinary replies."""

import re

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading

LAST_LINES = 6
LAST_CHARACTERS = 800

_INVISIBLE = re.compile("[\u200b\u200c\u200d\ufeff]")
_BLOCK = re.compile(
    r"<\s*answer\b[^>]*>\s*([A-Ja-j])(?:\s*[\.．:：\)\]】、])?.*?<\s*/\s*answer\s*>", re.IGNORECASE | re.DOTALL
)
_OPENING, _CLOSING = r"[\(\[\{（【]?\s*", r"\s*[\)\]\}）】]?"
_BEFORE_TAG = tuple(
    re.compile(rf"(?<![A-Za-z]){_OPENING}([A-F]){_CLOSING}\s*</\s*{tag}\s*>", re.IGNORECASE)
    for tag in ("answer", "think")
)
_TIGHT = r"\.,:;!?\)\]】》」』，。；、：）】》」』"
_OPTION_LINE = re.compile(r"^(?:[*_>\-\s]*)(?:option|选项)\s+[A-J]\s*[:：]", re.IGNORECASE)
_LONE = re.compile(r"^\s*[*_`>（）\[\]【】\(\)]*\s*([A-Fa-f])\s*[*_`（）\[\]【】\(\)]*\s*$")
_LABELLED = re.compile(r"^\s*([A-F])\s*[\.．:：\)\]】、-]\s+", re.IGNORECASE)
_INLINE = re.compile(rf"(?<![A-Za-z])[*_`（\[\{{\(]*\s*([A-F])\s*[*_`）\]\}})]*(?=$|[\s{_TIGHT}])")
_PHRASE = re.compile(
    r"(?i)(?:final\s*answer|the\s*answer\s*is|answer(?:\s*is)?|correct\s*answer|"
    r"答案|最终答案|结论|所以|因此|我选(?:择)?|选择|选)"
    rf"\s*[:：>＝=]?\s*{_OPENING}([A-F]){_CLOSING}(?:\b|[.)、。])"
)
_ANYWHERE = re.compile(rf"(?<![A-Za-z]){_OPENING}([A-F]){_CLOSING}(?![A-Za-z])")


def tail_letter(reply: str) -> str:
    """VLMEvalKit's: an answer block, a letter before a closing tag, the last lines, a phrase, the only one."""
    text = _INVISIBLE.sub("", reply.strip())
    block = _BLOCK.search(text)
    if block:
        return block[1].upper()
    for form in _BEFORE_TAG:
        found = form.search(text[-LAST_CHARACTERS:])
        if found:
            return str(found[1]).upper()
    for part in (_after_thought(text), text[-LAST_CHARACTERS:]):
        letter = _in_lines(part.splitlines()[-LAST_LINES:])
        if letter:
            return letter
    phrase = _PHRASE.search(text)
    if phrase:
        return phrase[1].upper()
    kept = "\n".join(line for line in text.splitlines() if not _OPTION_LINE.search(line))
    letters = set(_ANYWHERE.findall(kept))
    return letters.pop() if len(letters) == 1 else ""


def _after_thought(text: str) -> str:
    for tag in (r"</\s*think\s*>", r"<\s*think\s*>"):
        marks = list(re.finditer(tag, text, re.IGNORECASE))
        if marks:
            return text[marks[-1].end() :].strip()
    return text


def _in_lines(lines: list[str]) -> str:
    for line in reversed([line.strip() for line in lines if line.strip()]):
        if _OPTION_LINE.search(line):
            continue
        found = _LONE.fullmatch(line) or _LABELLED.match(line)
        if found:
            return str(found[1]).upper()
        letters: set[str] = {letter.upper() for letter in _INLINE.findall(line)}
        if len(letters) == 1:
            return letters.pop()
    return ""


_IN_SECTION = (
    r"[Mm]y answer is ([A-E])",
    r"[Tt]he answer is ([A-E])",
    r"(?:Answer: )?([A-E])\.",
    r"\b([A-E])\b",
)
_OFFICIAL = (
    r"(?:^|\n)(?:Answer: )?([A-E])(?:\.|$|\s)",
    r"[\*\"]([A-E])[\*\"]",
    r"\bAnswer:?\s*([A-E])\b",
    r"[Mm]y answer is ([A-E])",
    r"answer is ([A-E])",
)


def official_letter(reply: str) -> str:
    """lmms-eval's, taken from the set's authors: the last "A." anywhere, else by forms in order, the last of each."""
    text = reply.strip()
    if dotted := re.findall(r"([A-E])\.", text):
        return str(dotted[-1])
    section = re.search(r"<Answer>(.*?)(?:<|$)", text, re.DOTALL)
    for forms, where in ((_IN_SECTION, section[1] if section else ""), (_OFFICIAL, text)):
        for form in forms:
            if found := re.findall(form, where):
                return str(found[-1])
    for line in reversed(text.split("\n")):
        if alone := re.search(r"\b([A-E])\b", line):
            return alone[1]
    return ""


def vlmevalkit(row: BenchmarkRow, reply: str) -> Extracted:
    found = tail_letter(reply)
    return Extracted(found, float(found != "" and found == tail_letter(row.answer)))


def lmms_eval(row: BenchmarkRow, reply: str) -> Extracted:
    found = official_letter(reply)
    return Extracted(found, float(found != "" and found == row.answer))


MINDCUBE_TAIL = Reading(name="vlmevalkit", rule=vlmevalkit)
MINDCUBE_OFFICIAL = Reading(name="lmms-eval", rule=lmms_eval)
