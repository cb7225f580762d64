"""MMSearch's rules for the steps of a search: the query that is asked, the page that is chosen, the answer."""

import math
import re
import string
from collections import Counter
from collections.abc import Sequence

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading
from saccade.evaluation.benchmarks.hub_rows import list_of
from saccade.evaluation.benchmarks.rules.free_text import golds

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CHOSEN = re.compile(r"<Website (\d+)>")
_TINY = 1e-8


def answer_f1(row: BenchmarkRow, reply: str) -> Extracted:
    """The best F1 of the reply's words and an answer's, each as often as it stands, without signs and articles."""
    return Extracted(reply.strip(), max(word_f1(reply, gold) for gold in golds(row)))


def word_f1(said: str, gold: str) -> float:
    """``2 P R / (P + R)`` of the words in common; without words on a side 1 where the other has none either, else 0."""
    words, wanted = (_ARTICLES.sub(" ", one.lower().translate(_PUNCTUATION)).split() for one in (said, gold))
    common = (Counter(words) & Counter(wanted)).total()
    if not words or not wanted:
        return float(words == wanted)
    return 2 * common / (len(words) + len(wanted))


def query_likeness(row: BenchmarkRow, reply: str) -> Extracted:
    """The mean of BLEU-1 and ROUGE-L's F of the query and the published one, words compared letter by letter."""
    worth = (bleu_1(reply, row.answer) + rouge_l(reply, row.answer)) / 2
    return Extracted(reply.strip(), worth, right_from=1.0 - _TINY)


def bleu_1(said: str, gold: str) -> float:
    """The share of words that the published query has, each as often as there, times ``exp(1 - r / c)`` if shorter."""
    words, wanted = said.split(), gold.split()
    if not words:
        return 0.0
    common = (Counter(words) & Counter(wanted)).total()
    return common / len(words) * (math.exp(1 - len(wanted) / len(words)) if len(words) < len(wanted) else 1.0)


def rouge_l(said: str, gold: str) -> float:
    """The package ``rouge``'s: sets of words, and of those in a longest common subsequence of any two sentences.

    Of nothing but full stops, where that package breaks off, it is 0.
    """
    sentences, wanted = ([" ".join(part.split()) for part in text.split(".") if part] for text in (said, gold))
    if not sentences or not wanted:
        return 0.0
    common = {
        word
        for reference in wanted
        for sentence in sentences
        for word in _common_subsequence(reference.split(" "), sentence.split(" "))
    }
    recall, precision = (
        len(common) / len({word for one in side for word in one.split(" ")}) for side in (wanted, sentences)
    )
    return 2 * precision * recall / (precision + recall + _TINY)


def _common_subsequence(left: Sequence[str], right: Sequence[str]) -> list[str]:
    """Of several longest ones the one that is found from the end, going left in ``right`` among equals."""
    lengths = [[0] * (len(right) + 1)]
    for one in left:
        above, row = lengths[-1], [0]
        for place, other in enumerate(right):
            row.append(above[place] + 1 if one == other else max(above[place + 1], row[-1]))
        lengths.append(row)
    found, i, j = [], len(left), len(right)
    while i and j:
        if left[i - 1] == right[j - 1]:
            found.append(left[i - 1])
            i, j = i - 1, j - 1
        elif lengths[i - 1][j] > lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return found


def chosen_website(row: BenchmarkRow, reply: str) -> Extracted:
    """1 where the reply names one website, as ``<Website 3>``, that holds the answer, 1/2 where it may; else 0."""
    chosen = [str(int(one)) for one in _CHOSEN.findall(reply)]
    if len(chosen) != 1:
        return Extracted("", 0.0)
    worth = 1.0 if chosen[0] in list_of(row.fields.get("helpful", "")) else 0.0
    return Extracted(chosen[0], worth or 0.5 * (chosen[0] in list_of(row.fields.get("unsure", ""))))


ANSWER_F1 = Reading(name="official", rule=answer_f1)
QUERY_LIKENESS = Reading(
    name="official", rule=query_likeness, differs="an empty query, at which its script breaks off, is worth nothing"
)
CHOSEN_WEBSITE = Reading(name="official", rule=chosen_website)
