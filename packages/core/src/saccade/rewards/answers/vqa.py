"""VQA's soft accuracy: agreement with the answers of several annotators."""

import re
from collections.abc import Sequence
from itertools import combinations

from saccade.quantities import NUMBER_WORDS
from saccade.rewards.answers.rules import MAX_ANSWER_CHARACTERS

MATCHES_FOR_FULL_CREDIT = 3

_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
_DIGIT_COMMA = re.compile(r"[0-9],[0-9]")
_FULL_STOP = re.compile(r"\.(?![0-9])")
_NUMBER_WORDS = {"none": "0"} | {word: str(number) for number, word in enumerate(NUMBER_WORDS[:11])}
_ARTICLES = frozenset({"a", "an", "the"})
_WITH_APOSTROPHES = """
ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd
he'd've he's how'd how'll how's i'd've i'm i've isn't it'd it'd've it'll let's ma'am mightn't mightn't've
might've mustn't must've needn't not've o'clock oughtn't shan't she'd've should've shouldn't shouldn't've
somebody'd've somebody'll somebody's someone'd someone'd've someone'll someone's something'd something'd've
something'll that's there'd there'd've there're there's they'd they'd've they'll they're they've 'twas wasn't
we'd've we've weren't what'll what're what's what've when's where'd where's where've who'd who'd've who'll who's
who've why'll why're why's won't would've wouldn't wouldn't've y'all y'all'll y'all'd've you'd you'd've you'll
you're you've
"""


def _contractions() -> dict[str, str]:
    """Every spelling with an apostrophe left out, to the full spelling."""
    spellings: dict[str, str] = {}
    for word in _WITH_APOSTROPHES.split():
        places = [index for index, letter in enumerate(word) if letter == "'"]
        for count in range(1, len(places) + 1):
            for left_out in combinations(places, count):
                spellings["".join(c for i, c in enumerate(word) if i not in left_out)] = word
    return spellings


_CONTRACTIONS = _contractions()


def normalise_vqa(answer: str) -> str:
    """Lower case, without punctuation and articles, number words as digits, contractions with apostrophes."""
    text = answer.replace("\n", " ").replace("\t", " ").strip()
    has_digit_comma = _DIGIT_COMMA.search(text) is not None
    cleaned = text
    for sign in _PUNCTUATION:
        stands_free = sign + " " in text or " " + sign in text
        cleaned = cleaned.replace(sign, "" if stands_free or has_digit_comma else " ")
    return vqa_words(_FULL_STOP.sub("", cleaned))


def vqa_words(text: str) -> str:
    """A text without punctuation, without articles, number words as digits, contractions with apostrophes."""
    words = [_NUMBER_WORDS.get(word, word) for word in text.lower().split()]
    return " ".join(_CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES)


def vqa_soft_accuracy(prediction: str, annotators: Sequence[str]) -> float:
    """Mean over annotators left out in turn of min(1, matches among the others / 3); between 0 and 1.

    With one annotator there is no other, and the answer counts when it is the same. The public script normalises only
    where annotators differ; here it is always done.
    """
    if not annotators:
        raise ValueError("no annotator's answer to compare with; pass at least one")
    if len(prediction) > MAX_ANSWER_CHARACTERS:
        return 0.0
    given = normalise_vqa(prediction)
    matches = [given == normalise_vqa(answer) for answer in annotators]
    return float(matches[0]) if len(matches) == 1 else left_out_in_turn(matches)


def left_out_in_turn(matches: Sequence[bool]) -> float:
    """Mean over annotators of min(1, matches among the others / 3)."""
    credit = [min(1.0, (sum(matches) - match) / MATCHES_FOR_FULL_CREDIT) for match in matches]
    return sum(credit) / len(credit)
