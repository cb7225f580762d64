"""Why a page was found: the parts of MaxSim, by the tokens of a question and by the patches of the page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.retrieval.late_interaction import Vectors, maxsim_parts
from saccade.vision_models.kinds import NamesTokens, PageEncoder, PageVectors

Patch = tuple[int, int]
"""Row and column on a page, from 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchedToken:
    """A vector of a question with the vector of a page that it is most like."""

    text: str
    """Its token as the tokenizer writes it, or a number where the encoder does not tell."""
    similarity: float
    """Its part of the page's score."""
    patch: Patch | None
    """None where the page's vector belongs to no place on it, or where nobody knows to which."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PageMatch:
    """The parts of a page's MaxSim for a question."""

    tokens: tuple[MatchedToken, ...]
    grid: tuple[int, int] | None
    """Rows and columns of the page's patches."""

    @property
    def score(self) -> float:
        """MaxSim: the sum of all parts."""
        return math.fsum(one.similarity for one in self.tokens)

    @property
    def heat(self) -> dict[Patch, float]:
        """The sum of the parts that each patch gives, of those that give any."""
        parts: dict[Patch, list[float]] = {}
        for one in self.tokens:
            if one.patch is not None:
                parts.setdefault(one.patch, []).append(one.similarity)
        return {patch: math.fsum(found) for patch, found in parts.items()}

    @property
    def elsewhere(self) -> float:
        """The part of the score that belongs to no place on the page."""
        return math.fsum(one.similarity for one in self.tokens if one.patch is None)


def page_match(query: Vectors, tokens: Sequence[str], page: PageVectors) -> PageMatch:
    """The parts of a page's score; ``tokens`` name the query's vectors, in their order.

    Of equal vectors of the page the first counts, as in ``maxsim_parts``.
    """
    parts = maxsim_parts(query, page.vectors)
    found = zip(tokens, parts.best.tolist(), parts.similarity.tolist(), strict=True)
    return PageMatch(
        tokens=tuple(
            MatchedToken(text=text, similarity=similarity, patch=_patch(best, page)) for text, best, similarity in found
        ),
        grid=page.grid,
    )


def named_query(encoder: PageEncoder, question: str) -> tuple[Vectors, Sequence[str]]:
    """A question's vectors, each with its token, or with its number where the encoder does not name tokens."""
    (query,) = encoder.encode_questions([question])
    named = encoder.question_tokens(question) if isinstance(encoder, NamesTokens) else ()
    if len(named) != len(query):
        return query, [f"vector {number}" for number in range(1, len(query) + 1)]
    return query, named


def _patch(place: int, page: PageVectors) -> Patch | None:
    if page.grid is None:
        return None
    rows, columns = page.grid
    patch = place - page.first
    return divmod(patch, columns) if 0 <= patch < rows * columns else None
