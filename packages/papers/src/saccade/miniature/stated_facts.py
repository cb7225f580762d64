"""Facts that a text states of objects whose names and possible values are known, by rules of words.

A text is read clause by clause; a clause ends at a mark such as a comma or a stop, and at a word such as "but".

===================================================  ================================================================
a value stands                                       it is said of
===================================================  ================================================================
after a name, up to the next one                     that object
before the first name of the text                    that first object
in its clause after a word that denies ("not",       the object, and denied; so are values that follow with "or",
"never", "isn't", "nicht" ...)                       "nor" and "and". Two such words deny nothing, and "no doubt" and
                                                     "not only" do not either
before the first name, and "not" between             the object, and denied
in a clause that is called wrong ("it is false       the object, and denied
that ...", "... is not true", in the next one too)
===================================================  ================================================================

An object that is itself denied ("not the red plate") is not named at all.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from saccade.types import SceneObject

_WORD = re.compile(r"[^\W_]+(?:['’]t\b)?")
# A well-formed box is never longer, and a bound keeps the search linear.
_TOKEN = re.compile(r"<box>.{0,256}?</box>|[^\W_]+(?:['’]t\b)?|[.,;:!?\n]", re.DOTALL)
_DENYING = frozenset(
    (
        *("not", "no", "never", "neither", "nor", "without", "cannot", "isnt"),
        *("isn't", "aren't", "wasn't", "weren't", "doesn't", "don't", "hasn't", "haven't", "can't"),
        *("nicht", "kein", "keine", "keinen", "nie", "non", "pas", "jamais", "sin", "sem", "não", "nunca"),
        *("не", "нет", "ни", "geen", "niet", "ei"),
    )
)
_TURNS = frozenset(
    ("but", "however", "though", "although", "yet", "instead", "rather", "sondern", "aber", "sino", "pero")
)
_LINKS = frozenset(("or", "nor", "and", "a", "an", "the", "at", "in", "on", "of", "is", "it", "to", "be"))
_WRONG = frozenset(("false", "untrue", "wrong", "incorrect", "mistaken"))
_NO_DENIALS = (("no", "doubt"), ("not", "only"), ("without", "doubt"), ("without", "question"), ("no", "question"))
_RIGHT = frozenset(("true", "so", "case", "correct"))


_MARKS = frozenset(".,;:!?\n")

Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    kind: str
    """Kind of attribute."""
    value: str
    is_denied: bool = False


@dataclass(kw_only=True, slots=True)
class _Reading:
    """State of reading a text."""

    boxes: Iterator[Mapping[str, str]]
    name: str | None = None
    is_placed: bool = False
    waiting: list[tuple[Mapping[str, str], bool]] = field(default_factory=list)
    """Values that stand before the first name, and whether they are denied."""


class FactReader:
    """Reads facts about these objects. Of several phrases at a place the longest counts, and a name before a value."""

    def __init__(self, objects: Sequence[SceneObject], values: Mapping[str, Sequence[str]]) -> None:
        """``values``: by kind, what texts may state besides the attributes of the objects."""
        self._truth = {one.name: one.attributes for one in objects}
        self._names = {_words(one.name): one.name for one in objects}
        self._values: dict[tuple[str, ...], dict[str, str]] = {}
        true = [(kind, value) for one in objects for kind, value in one.attributes.items()]
        others = [(kind, value) for kind, several in values.items() for value in several]
        for kind, value in true + others:
            self._values.setdefault(_words(value), {}).setdefault(kind, value)
        self._longest = max(len(phrase) for phrase in (*self._names, *self._values))

    @property
    def truth(self) -> frozenset[Fact]:
        """All facts that are true of the objects."""
        return frozenset(
            Fact(name, kind, value) for name, attributes in self._truth.items() for kind, value in attributes.items()
        )

    def facts(self, text: str, boxes: Iterable[Mapping[str, str]] = ()) -> set[Fact]:
        """``boxes`` has what each box of the text states, by kind; without them boxes state nothing."""
        found: set[Fact] = set()
        reading = _Reading(boxes=iter(boxes))
        latest: set[Fact] = set()
        for clause in self._clauses(text):
            is_wrong = _is_called_wrong(clause)
            if is_wrong and not any(phrase in self._names or phrase in self._values for phrase in clause):
                # "... , which is not true" speaks of what was said before.
                found = (found - latest) | {replace(fact, is_denied=not fact.is_denied) for fact in latest}
                continue
            if said := self._of_clause(clause, reading, is_wrong=is_wrong):
                latest = said
                found |= said
        return found

    def _of_clause(self, clause: Sequence[Phrase], reading: "_Reading", *, is_wrong: bool | None) -> set[Fact]:
        found: set[Fact] = set()
        is_denying = False
        for place, phrase in enumerate(clause):
            if _is_box(phrase[0]):
                found |= self._of_box(reading)
            elif phrase in self._names:
                if is_denying and not reading.waiting:
                    is_denying = False
                    continue
                reading.name, reading.is_placed = self._names[phrase], False
                for values, was_denied in reading.waiting:
                    # "The white mark is not on the red plate" denies what stands before.
                    found |= self._fact_of(reading.name, values, was_denied != is_denying)
                reading.waiting, is_denying = [], False
            elif phrase in self._values:
                is_denied = is_denying != bool(is_wrong)
                if reading.name is None:
                    reading.waiting.append((self._values[phrase], is_denied))
                else:
                    found |= self._fact_of(reading.name, self._values[phrase], is_denied)
                is_denying = is_denying and self._goes_on(clause, place)
            elif is_wrong is None and phrase[0] in _DENYING and not _is_no_denial(clause, place):
                is_denying = phrase[0] in ("neither", "nor") or not is_denying
        return found

    def _of_box(self, reading: "_Reading") -> set[Fact]:
        stated = next(reading.boxes, None)
        # One box for each naming: a second one is about something else.
        is_new, reading.is_placed = not reading.is_placed, True
        if reading.name is None or stated is None or not is_new:
            return set()
        return self._fact_of(reading.name, stated)

    def _goes_on(self, clause: Sequence[Phrase], place: int) -> bool:
        """Whether "or", "nor" or "and" joins the next value to this one."""
        following = clause[place + 1 :]
        if not following or following[0][0] not in ("or", "nor", "and"):
            return False
        for phrase in following:
            if phrase in self._values:
                return True
            if phrase[0] not in _LINKS:
                return False
        return False

    def _clauses(self, text: str) -> Iterable[list[Phrase]]:
        """Names, values and other words; a name or value may go on beyond a comma."""
        tokens: list[str] = []
        begins: set[int] = set()
        for token in _TOKEN.findall(text):
            if token in _MARKS or token.casefold() in _TURNS:
                begins.add(len(tokens))
            else:
                tokens.append(_folded(token))
        clause: list[Phrase] = []
        at = 0
        while at < len(tokens):
            if at in begins and clause:
                yield clause
                clause = []
            phrase = self._phrase(tokens, at)
            clause.append(phrase)
            at += len(phrase)
        yield clause

    def _phrase(self, tokens: Sequence[str], at: int) -> tuple[str, ...]:
        """The longest name or value that begins here, or the single token."""
        for length in range(self._longest, 1, -1):
            phrase = tuple(tokens[at : at + length])
            if phrase in self._names or phrase in self._values:
                return phrase
        return (tokens[at],)

    def _fact_of(self, name: str, by_kind: Mapping[str, str], is_denied: bool = False) -> set[Fact]:
        """The fact of this object; a value of several kinds is meant as the kind where it is true, if there is one."""
        kinds = [kind for kind in by_kind if kind in self._truth[name]]
        if not kinds:
            return set()
        kind = next((kind for kind in kinds if self._truth[name][kind] == by_kind[kind]), kinds[0])
        return {Fact(name, kind, by_kind[kind], is_denied)}


def _is_called_wrong(clause: Sequence[Phrase]) -> bool | None:
    """Whether the clause says of something that it is wrong, or is not; None where it speaks of no such thing."""
    words = [phrase[0] for phrase in clause if len(phrase) == 1]
    denials = sum(word in _DENYING for word in words)
    if any(word in _WRONG for word in words):
        return denials % 2 == 0
    return True if denials % 2 == 1 and any(word in _RIGHT for word in words) else None


def _is_no_denial(phrases: Sequence[Phrase], place: int) -> bool:
    following = phrases[place + 1][0] if place + 1 < len(phrases) else ""
    return (phrases[place][0], following) in _NO_DENIALS


def _is_box(token: str) -> bool:
    return token.startswith("<box>")


def _folded(token: str) -> str:
    return token if _is_box(token) else token.casefold().replace("’", "'")


def _words(phrase: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(phrase.casefold()))
