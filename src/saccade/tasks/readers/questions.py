"""The question of a row: its text without image markers, and its other wordings.

====================  =================================================================================================
``problem``           ``Task.question``: what the grounded stream is asked, with the options of a multiple choice
``query``             ``Task.wordings["textual"]``, where it says anything else: what the textual stream is asked; and
                      the question itself where ``problem`` is empty
``question``          unread: it may lack the options that an answer's letter names
====================  =================================================================================================

So TreeVGR-RL-37K, which has ``problem`` alone, and iVGR-RL-51K ask the same question by the same id.
"""

import re
from collections.abc import Mapping

from saccade.tasks.readers.fields import is_encodable, optional_text
from saccade.tasks.readers.rows import Row, RowError, RowValue

IMAGE_MARKER = "<image>"
MAX_QUESTION_CHARACTERS = 100_000

TEXTUAL = "textual"
"""The protocol that asks in ``query``'s words."""

_LETTER = re.compile(r"\s*[(\[]?[A-Za-z][)\].:]?\s*")
_CHOICE_TYPES = frozenset(["choice", "choices", "multiplechoice", "singlechoice", "mcq", "mc", "multichoice"])


def asked_in(row: Row) -> tuple[str, str]:
    """The key that holds the question of the two-stream layouts, and its text with markers."""
    for key in ("problem", "query"):
        text = optional_text(row, key)
        if text:
            return key, text
    raise RowError("problem", "is missing or empty")


def other_wordings(row: Row, question: str, images: int) -> Mapping[str, str]:
    """The textual wording where ``query`` differs from the question once markers are gone."""
    query = optional_text(row, "query")
    if not query:
        return {}
    bare = without_markers(query, images, "query")
    return {} if " ".join(bare.split()) == " ".join(question.split()) else {TEXTUAL: bare}


def kind_by_question_type(question_type: RowValue, answer: RowValue) -> str | None:
    """``choice`` for an option's letter to a multiple-choice question; None where the answer alone decides.

    The type is a hint: a multiple choice answered in any other way than by a letter is not one for us.
    """
    if not isinstance(question_type, str) or not isinstance(answer, str):
        return None
    named = "".join(character for character in question_type.casefold() if character.isalpha())
    return "choice" if named in _CHOICE_TYPES and _LETTER.fullmatch(answer) else None


def without_markers(question: str, images: int, key: str = "question") -> str:
    """Markers at either end say nothing; one in the middle of a sentence becomes the image's number."""
    if not is_encodable(question):
        raise RowError(key, "holds half a surrogate pair, which is no text")
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise RowError(key, f"has {len(question)} characters, more than {MAX_QUESTION_CHARACTERS}")
    pieces = question.split(IMAGE_MARKER)
    if len(pieces) > 1 and len(pieces) - 1 != images:
        raise RowError("images", f"{len(pieces) - 1} {IMAGE_MARKER} markers in the text but {images} images")
    body = pieces[0]
    for number, piece in enumerate(pieces[1:], start=1):
        is_inside = body.strip() and any(later.strip() for later in pieces[number:])
        body += (f"[image {number}]" if is_inside else "") + piece
    body = body.strip()
    if not body:
        raise RowError(key, "is empty but for image markers")
    return body
