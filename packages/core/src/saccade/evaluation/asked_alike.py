"""What two evaluations were asked otherwise, by name: how, which questions, graded by what, how often."""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter, ne

from saccade.evaluation.samples import SampleHeader, StoredSample
from saccade.types import Json

_MAX_SHOWN = 90
_SENT_ANYWAY = ("top_p", "top_k")
"""Fields of a server's requests that stand in what was asked under their own names."""


Questions = Mapping[str, Sequence[StoredSample]]
"""Samples by the id of their question."""
PairedSamples = tuple[Sequence[StoredSample], Sequence[StoredSample]]
"""The samples of one question in both evaluations."""


def asked_differences(
    first: SampleHeader, second: SampleHeader, of_first: Questions, of_second: Questions
) -> dict[str, str]:
    """Each difference by the name under which it can be accepted, with both values."""
    before, after = _asked_settings(first), _asked_settings(second)
    found = {
        name: _both(before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    }
    both = [(of_first[name], of_second[name]) for name in of_first if name in of_second]
    are_single = all(sum(map(len, of.values())) == len(of) for of in (of_first, of_second))
    differing = partial(_differing, both, are_single=are_single)
    said = []
    if changed := differing("q"):
        said.append(
            f"{changed:,} of {len(both):,} questions with the same id have different words, options or pictures"
        )
    if missing := len(of_first.keys() ^ of_second.keys()):
        said.append(f"{missing:,} questions are in only one of them, {len(both):,} in both")
    if said:
        found["questions"] = "; ".join(said)
    # Older samples and imported ones do not say by what they were graded.
    says_grading = all(one.graded for of in (of_first, of_second) for samples in of.values() for one in samples)
    if graded := differing("gold"):
        found["answers"] = f"{graded:,} of {len(both):,} questions have a different right answer"
    elif says_grading and (graded := differing("graded")):
        found["answers"] = f"{graded:,} of {len(both):,} questions are graded by a different kind, tolerance or metric"
    if uneven := differing("sample"):
        found.setdefault("samples", f"{uneven:,} of {len(both):,} questions have different samples")
    return found


def _differing(pairs: Sequence[PairedSamples], field: str, *, are_single: bool) -> int:
    """How many questions have other values of this field in their samples, of which each has one alone or not."""
    value = attrgetter(field)
    if are_single:
        return sum(map(ne, [value(early[0]) for early, _ in pairs], [value(late[0]) for _, late in pairs]))
    return sum(frozenset(map(value, early)) != frozenset(map(value, late)) for early, late in pairs)


def _asked_settings(header: SampleHeader) -> Mapping[str, Json]:
    """What was asked, and what a server was sent beside it."""
    body = header.model.get("extra_body")
    sent = (
        {name: value for name, value in body.items() if name not in _SENT_ANYWAY} if isinstance(body, Mapping) else {}
    )
    return {**header.asked, **({"extra_body": sent} if sent else {})}


def _both(before: Json, after: Json) -> str:
    """Both values, of mappings what differs in them."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        names = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
        return "; ".join(f"{name} {_both(before.get(name), after.get(name))}" for name in names)
    texts = [repr(before), repr(after)]
    alike = next(
        (place for place, (one, other) in enumerate(zip(texts[0], texts[1])) if one != other), min(map(len, texts))
    )
    # What is the same in both is no help to see what is not.
    start = alike - _MAX_SHOWN // 3 if alike > _MAX_SHOWN * 2 // 3 else 0
    return " and ".join(_excerpt(text, start) for text in texts)


def _excerpt(text: str, start: int) -> str:
    end = start + _MAX_SHOWN
    return f"{'...' if start else ''}{text[start:end]}{'...' if len(text) > end else ''}"
