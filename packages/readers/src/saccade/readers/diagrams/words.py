"""Geometry problems in words, read into logic forms: givens, goals, and what was left out.

Nothing is guessed. A question is first put into one spelling; each sentence is looked through for patterns, the more
particular ones first. What no pattern takes, but for words that say nothing, is reported as left out.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from saccade.errors import ToolError
from saccade.readers.diagrams.quantities import SUM, in_logic_form
from saccade.readers.diagrams.word_measures import MEASURES
from saccade.readers.diagrams.word_patterns import RELATIONS, SHAPES, Meaning
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.terms import Call
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import check_statement

MAX_CHARS = 4000

_LATEX_PARTS = re.compile(r"\\(?:overline|overrightarrow|overleftrightarrow|mathrm|text|operatorname)\s*\{([^{}]*)\}")
_LATEX_ARC = re.compile(r"\\(?:widehat|overset\s*\{\s*\\frown\s*\})\s*\{([^{}]*)\}")
_FRACTION = re.compile(r"\\d?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_ROOT = re.compile(r"(?:\\sqrt\s*\{([^{}]*)\}|√\s*(\d+(?:\.\d+)?|\([^()]*\)))")
_SPACED_POINTS = re.compile(r"\b([A-Z]) (?=[A-Z]\b)")
_SIGNS = (
    (r"\bRt\.? ?(?=\\triangle|△|▵|Δ|triangle)", "right "),
    (r"(?<=\b[cdkm]m)(?:²|\s*\^\s*\{?2\}?)|(?<=\d m)(?:²|\^\{?2\}?)", " "),
    (r"\bsquare (?=centimet|met|inch|feet|foot|unit)", " "),
    (r"\\angle|∠", " angle "),
    (r"\\triangle|△|▵|Δ(?=\s*[A-Z])", " triangle "),
    (r"\\odot|⊙|☉", " circle "),
    (r"▱|\\parallelogram", " parallelogram "),
    (r"\\parallel|∥|\|\||//", " is parallel to "),
    (r"\\perp|⊥", " is perpendicular to "),
    (r"\\sim|∼|∽|~", " is similar to "),
    (r"\\cong|≅|≌", " is congruent to "),
    (r"\^\s*\{?\s*\\circ\s*\}?|\\degree|°|º", " degrees "),
    (r"⌒", " arc "),
    (r"\\pi|π", " pi "),
    (r"\\cdot|\\times|×|·", "*"),
    (r"[−–]", "-"),
    (r"[＝]", "="),
    (r"[，]", ", "),
    (r"[。]", ". "),
    (r"（\s*）|\(\s*\)|_{2,}|\\underline\s*\{[^{}]*\}", " ? "),
    (r"[（]", "("),
    (r"[）]", ")"),
    (r"\\[,;: !]|\\(?:left|right|quad|mathrm)\b|[{}$]", " "),
)
_COMPILED_SIGNS = tuple((re.compile(sign), word) for sign, word in _SIGNS)
_WORD = re.compile(r"(?<![A-Za-z])[A-Z]?[a-z]{2,}(?![A-Za-z])")
_MEASURE = re.compile(r"\bm(?= angle| arc)")
_ARTICLE = re.compile(r"(^|[.?!] )A(?= (?!is\b|lies\b|and\b|to\b|on\b)[a-z])")


def in_one_spelling(question: str) -> str:
    """The question as the patterns of ``words`` expect it."""
    text = question
    is_latex = "\\" in text or "$" in text
    text = _LATEX_ARC.sub(r" arc \1 ", text)
    text = _LATEX_PARTS.sub(r"\1", text)
    text = _FRACTION.sub(r"(\1)/(\2)", text)
    text = _ROOT.sub(lambda match: f"sqrt({(match[1] or match[2]).strip('()')})", text)
    for sign, word in _COMPILED_SIGNS:
        text = sign.sub(word, text)
    text = " ".join(text.split())
    if is_latex:
        text = _SPACED_POINTS.sub(r"\1", text)
    text = _WORD.sub(lambda match: match[0].lower(), text)
    text = _ARTICLE.sub(r"\1a", text)
    text = _MEASURE.sub("", text)
    text = re.sub(r"\b(?:center|centre)\b", "centre", text)
    text = re.sub(r"\bis is\b", "is", text)
    text = re.sub(r"\s+([.,])(?!\d)", r"\1", text)
    text = re.sub(r"\s*=\s*", " = ", text)
    return " ".join(text.split())


IS = (
    r" ?(?:= ?|(?:is|are) (?:also )?(?:equal to |both )?|equals? |measures "
    r"|(?:has|have|with) (?:an? )?(?:lengths?|measures?|area|perimeter|radius) (?:of )?)"
)
_ASK = (
    r"(?:(?:please )?(?:find|determine|calculate|compute|evaluate|solve for|work out|give|what is|what are|what's"
    r"|how long is|how long are|how large is|how many degrees (?:is|are in|are there in)))"
)
_OF_WHAT = (
    r"(?:(?:the )?(?:exact |correct )?(?:values?|lengths?|measures?|measurements?|sizes?|degrees?|degree measure"
    r"|number of degrees) (?:of|in|for) )*(?:the variable )?"
)
_ANY = r"(?:an? |the )?"
_GOALS = (
    re.compile(rf"(?<![A-Za-z]){_ASK} {_OF_WHAT}(?P<goals>{SUM}(?:(?:, and |, | and ){_OF_WHAT}{SUM}){{0,2}})"),
    re.compile(rf"(?<![A-Za-z]){_OF_WHAT}(?P<goals>{SUM})(?:{IS})? ?(?:\? ?)+"),
    re.compile(rf"(?<![A-Za-z])then,? {_OF_WHAT}(?P<goals>{SUM})(?:{IS})? ?[.?:]?$"),
)
_EQUATION = re.compile(rf"(?<![A-Za-z]){_ANY}(?P<sides>{SUM}(?:{IS}{SUM}){{1,4}})(?: long| in length)?(?![A-Za-z])")
_SPLIT = re.compile(IS)
_GOAL_SPLIT = re.compile(r", and |, | and ")
_EMPTY = re.compile(
    r"(?:(?:please )?round (?:your answer |the answer |answers? |off )?to the nearest \w+(?: ?,? ?if necessary)?"
    r"|(?:assume|suppose) that (?:lines|segments) that appear to be tangent are tangent|give your answer in \w+"
    r"|leave your answer in simplest radical form|to the nearest \w+|if necessary|in degrees|in cm|in centimeters)"
)
_EMPTY_WORDS = """
    a an the in on of to and with is are as at by for if then that so such where which when it its this these those
    given known let suppose assume shown show shows figure fig diagram picture below above following there be being
    has have we know can see also find what each both side sides point points angle angles line lines segment segments
    respectively from question answer how degrees degree hence therefore since because now but located inside drawn
    please calculate determine
"""
_SAYS_NOTHING = frozenset(_EMPTY_WORDS.split())
_ROLE = re.compile(
    r"\b(chord|diameter|radius|hypotenuse|median|altitude|tangent|midsegment) (?:is )?([A-Z]{2})(?![A-Za-z])"
)
_ROLE_WORDS = re.compile(r"Is(?:Chord|Diameter|Radius|Median|Altitude)Of|Tangent")
_BEFORE = re.compile(
    r"(?:(?:bisector|extension|mid-?point|foot|projection) of (?:the )?(?:side |line |segment )?|[A-Z0-9] ?: ?)\Z"
)
_BEHIND = re.compile(r" ?: ?(?:angle |[A-Z]{2}(?![A-Za-z])|\d)")
_NEAR_CHARS = 40
_MARK = "\x00"
_LEFT = re.compile(r"[^\x00.;?!]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """Givens and goals of a question as logic forms, and the parts of it that were not understood."""

    said: tuple[Call, ...]
    goals: tuple[Call, ...]
    left_out: tuple[str, ...]


def read_words(question: str) -> Words:
    """The question as statements; ``ToolError`` when it is too long or nothing of it was understood."""
    if len(question) > MAX_CHARS:
        raise ToolError(f"question has {len(question)} characters; at most {MAX_CHARS} are read")
    text = _EMPTY.sub(_MARK, in_one_spelling(question))
    goals: list[Call] = []
    for pattern in _GOALS:
        text = pattern.sub(lambda match: _take_goals(match["goals"], match[0], goals), text)
    said: list[Call] = []
    text = _take_patterns(text, MEASURES, said)
    text = _take_patterns(text, RELATIONS, said)
    text = _EQUATION.sub(lambda match: _equal(match, said), text)
    text = _take_patterns(text, SHAPES, said)
    whole = in_one_spelling(question)
    parts = [part for found in _LEFT.findall(text) if (part := _worth_telling(found))]
    left_out = tuple(dict.fromkeys([*parts, *_roles_left_out(whole, said)]))
    if not said and not goals:
        raise ToolError(
            'nothing in question was understood; say it in short sentences such as "AB = 5", "angle ABC is 30 '
            'degrees", "AB is parallel to CD", "M is the midpoint of AB", "Find the length of AC"'
        )
    return Words(said=tuple(dict.fromkeys(said)), goals=tuple(dict.fromkeys(goals)), left_out=left_out)


def _take_patterns(text: str, patterns: Sequence[tuple[re.Pattern[str], Meaning]], said: list[Call]) -> str:
    for pattern, meaning in patterns:
        text = pattern.sub(lambda match, meaning=meaning: _take_match(match, meaning, said), text)  # type: ignore[misc]
    return text


def _is_torn_out(match: re.Match[str]) -> bool:
    """Whether the words are a piece of a larger phrase: of a ratio, of "the bisector of AB meets CD"."""
    return bool(_BEFORE.search(match.string, max(0, match.start() - _NEAR_CHARS), match.start())) or bool(
        _BEHIND.match(match.string, match.end())
    )


def _take_match(match: re.Match[str], meaning: Meaning, said: list[Call]) -> str:
    if _is_torn_out(match):
        return match[0]
    try:
        forms = meaning(match)
    except ToolError:
        return match[0]
    return _take(match[0], forms, said)


def _take_goals(words: str, whole: str, goals: list[Call]) -> str:
    try:
        forms = [f"Find({in_logic_form(part)})" for part in _GOAL_SPLIT.split(words)]
    except ToolError:
        return whole
    return _take(whole, forms, goals)


def _equal(match: re.Match[str], said: list[Call]) -> str:
    whole, sides = match[0], _SPLIT.split(match["sides"])
    if _is_torn_out(match):
        return whole
    try:
        forms = [in_logic_form(side) for side in sides]
    except ToolError:
        return whole
    if not any("Of(" in form for form in forms) and not any(form.isidentifier() for form in forms):
        return whole
    return _take(whole, [f"Equals({one},{other})" for one, other in pairwise(forms)], said)


def _take(whole: str, forms: list[str], found: list[Call]) -> str:
    """A mark in place of what was understood; the words themselves when the language has nothing for them."""
    try:
        statements = [said for form in forms for said in parse_statements(form)]
        for said in statements:
            check_statement(said, whole)
    except ToolError:
        return whole
    if not statements:
        return whole
    found.extend(statements)
    # What is taken leaves a mark, so that the words on both sides of it are not read together.
    return _MARK


def _worth_telling(words: str) -> str:
    plain = " ".join(words.split()).strip(" ,:")
    content = [word for word in re.findall(r"[A-Za-z]+|\d+", plain) if word.lower() not in _SAYS_NOTHING]
    return plain if content else ""


def _roles_left_out(text: str, said: Sequence[Call]) -> list[str]:
    """Phrases that call a line a chord or a median, where no statement says so."""
    known = {tuple(sorted(names_of(node.args[0]))) for node in said if _ROLE_WORDS.match(node.name)}
    return [f"that {names} is a {role}" for role, names in _ROLE.findall(text) if tuple(sorted(names)) not in known]
