"""Texts in whole characters: JSON can spell halves of surrogate pairs, which no UTF-8 file could hold."""


def whole_characters(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
