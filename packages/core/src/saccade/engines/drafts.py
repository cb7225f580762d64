"""Drafts: what a text may go on with, guessed from where its last tokens have stood before.

One forward of a sequence's last token and a draft gives the distributions after each of them. Every token is then drawn
from its own distribution with its own number of the trajectory's stream, as it would be without a draft, and the draft
counts as long as it is what was drawn: the same tokens with the same log-probabilities, in fewer forwards. For a guess
that is a single token, that is the acceptance of speculative sampling (Leviathan et al. 2023, arXiv 2211.17192); the
guesses are those of Yang et al. (2023, "Inference with reference", arXiv 2304.04487), from the prompts and from all
texts that were sampled lately: rows of a group, and of a batch, write much alike.
"""

from collections.abc import Collection, Sequence

from saccade.errors import UserError
from saccade.models.vlm import VisionLanguageModel

_KNOWN_BY = 3
"""Tokens that a text must share with another for this to say how it goes on."""
_MOST_PLACES = 1 << 17
"""Beginnings that are remembered at most: about 30 MB."""


class Drafts:
    """Texts by every ``_KNOWN_BY`` tokens in a row, the latest text last."""

    def __init__(self, longest: int, *, step_tokens: int, never: Collection[int]) -> None:
        """``longest`` draft, tokens that a decode step forwards at most, and tokens that no draft holds."""
        self.step_tokens = step_tokens
        self._longest = longest
        self._never = frozenset(never)
        self._places: dict[tuple[int, ...], tuple[list[int], int]] = {}
        """A text that has these tokens, and the place after them."""

    def clear(self) -> None:
        """Forgets all texts."""
        self._places.clear()

    def note(self, text: list[int], known: int) -> int:
        """Remembers a text that may grow, of which it knows the first tokens; returns how many it knows now."""
        if len(self._places) > _MOST_PLACES:
            self.clear()
        first = max(known, _KNOWN_BY)
        keys = zip(*(text[first - back : len(text) - back] for back in range(_KNOWN_BY, 0, -1)))
        self._places.update((key, (text, first + index)) for index, key in enumerate(keys))
        return len(text)

    def after(self, text: Sequence[int], most: int) -> list[int]:
        """Up to ``most`` tokens that may follow, at most as many as lie before both places alike."""
        most = min(most, self._longest)
        found = self._places.get(tuple(text[-_KNOWN_BY:]))
        if found is None or most < 1:
            return []
        other, place = found
        alike, bound = _KNOWN_BY, min(most, place, len(text))
        while alike < bound and other[place - 1 - alike] == text[-1 - alike]:
            alike += 1
        draft: list[int] = []
        for token in other[place : place + min(most, alike)]:
            if token in self._never:
                break
            draft.append(token)
        return draft


def drafts_of(model: VisionLanguageModel, longest: int, *, step_tokens: int) -> Drafts:
    """Drafts for a model's sequences; UserError where what a draft leaves behind could not be taken back."""
    if model.recurrent_layers:
        raise UserError(
            f"model.engine.drafts={longest}, but {model.family.model_type} has recurrent layers, whose states cannot "
            "go back behind a draft that was not sampled; set model.engine.drafts=0"
        )
    # Nothing follows the end of a turn, and a picture is no guess.
    return Drafts(longest, step_tokens=step_tokens, never={*model.forbidden_ids.tolist(), *model.end_ids})
