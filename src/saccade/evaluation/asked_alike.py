"""What two evaluations were asked otherwise, by name: how, which questions, graded by what, how often."""

from collections.abc import Callable, Hashable, Mapping

from saccade.evaluation.samples import SampleSet, StoredSample
from saccade.types import Json

_MAX_SHOWN = 90
_SENT_ANYWAY = ("top_p", "top_k")
"""Fields of a server's requests that stand in what was asked under their own names."""


def asked_differences(first: SampleSet, second: SampleSet) -> dict[str, str]:
    """Each difference by the name under which it can be accepted, with both values."""
    before, after = _asked(first), _asked(second)
    found = {
        name: f"{_shown(before.get(name))} and {_shown(after.get(name))}"
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    }
    of_first, of_second = _by_question(first), _by_question(second)
    both = [name for name in of_first if name in of_second]

    def differing(what: Callable[[list[StoredSample]], Hashable]) -> int:
        return sum(what(of_first[name]) != what(of_second[name]) for name in both)

    said = []
    if changed := differing(lambda of: frozenset(one.q for one in of)):
        said.append(
            f"{changed:,} of {len(both):,} questions with the same id have different words, options or pictures"
        )
    if missing := len(of_first.keys() ^ of_second.keys()):
        said.append(f"{missing:,} questions are in only one of them, {len(both):,} in both")
    if said:
        found["questions"] = "; ".join(said)
    # Older samples and imported ones do not say by what they were graded.
    says_grading = all(one.graded for of in (first, second) for one in of.samples)
    if graded := differing(lambda of: frozenset(one.gold for one in of)):
        found["answers"] = f"{graded:,} of {len(both):,} questions have a different right answer"
    elif says_grading and (graded := differing(lambda of: frozenset(one.graded for one in of))):
        found["answers"] = f"{graded:,} of {len(both):,} questions are graded by a different kind, tolerance or metric"
    if uneven := differing(lambda of: frozenset(one.sample for one in of)):
        found.setdefault("samples", f"{uneven:,} of {len(both):,} questions have different samples")
    return found


def _asked(found: SampleSet) -> Mapping[str, Json]:
    """What was asked, and what a server was sent beside it."""
    body = found.header.model.get("extra_body")
    sent = (
        {name: value for name, value in body.items() if name not in _SENT_ANYWAY} if isinstance(body, Mapping) else {}
    )
    return {**found.header.asked, **({"extra_body": sent} if sent else {})}


def _by_question(found: SampleSet) -> dict[str, list[StoredSample]]:
    questions: dict[str, list[StoredSample]] = {}
    for one in found.samples:
        questions.setdefault(one.id, []).append(one)
    return questions


def _shown(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
