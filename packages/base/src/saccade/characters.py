"""Texts in whole characters: JSON can spell halves of surrogate pairs, which no UTF-8 file could hold.

Scripts that put no spaces between words, and the wide letters and digits that are written among them.

And words as a shell takes them; numbers and shares in short and hostile text made visible, for people.
"""

import math
import re
import shlex
import unicodedata

SPACELESS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u0fff"  # Tibetan
    "\u1000-\u109f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""Signs of scripts without spaces, for a class of a regular expression."""

_HALF_WIDTH = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)} | {0x3000: " ", 0xFFE5: "¥", 0xFFE1: "£"}


def half_width(text: str) -> str:
    """The text with wide letters, digits and signs as ASCII has them: ``（Ｂ）`` is ``(B)``, ``３５％`` is ``35%``."""
    return text if text.isascii() else text.translate(_HALF_WIDTH)


_INLINE = re.compile(r"\$(?=\S)([^$\n]*?)(?<=\S)\$(?![0-9])")


def without_inline_dollars(text: str) -> str:
    """The text without the signs around its formulas: ``$12$ cm`` is ``12 cm``. Prices, as ``$5 and $6``, stay."""
    if text.count("$") < 2:
        return text
    plain = _INLINE.sub(r"\1", text)
    return text if "$" in plain else plain


def whole_characters(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def shell_words(*words: object) -> str:
    """Words of a command that is printed to be pasted into a shell: paths with blanks or quotes stay one word each."""
    return shlex.join(map(str, words))


MAX_SHOWN_CHARACTERS = 4000
_KEPT_CONTROLS = "\n\t"
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MAX_MARKS = 3
"""Combining marks in a row; more would climb over the lines above."""


def number_text(value: float) -> str:
    """A number in four significant digits or fewer: ``0.0123``, ``1,234``, ``6.5e-4``."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    size = abs(value)
    if 1e-3 <= size < 1e7:
        return f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"
    mantissa, _, power = f"{value:.2e}".partition("e")
    return f"{float(mantissa):g}e{int(power)}"


def percent_text(share: float | None) -> str:
    """``63.3 %``, kept on one line; an en dash for None."""
    if share is None:
        return "–"
    text = f"{100 * share:.1f}".removesuffix(".0")
    return f"{text}\N{NO-BREAK SPACE}%"


def readable(name: str) -> str:
    """A name of a stage or metric for people: ``after_rl`` is ``after rl``."""
    return name.replace("_", " ").replace("/", ", ")


def visible(text: str, limit: int = MAX_SHOWN_CHARACTERS) -> str:
    """The text with invisible and direction-changing characters spelled out, cut with a note where it is long."""
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    marks = 0
    for character in text[:limit]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > _MAX_MARKS:
            continue
        is_hidden = unicodedata.category(character) in _HIDDEN_CATEGORIES and character not in _KEPT_CONTROLS
        shown.append(f"⟨U+{ord(character):04X}⟩" if is_hidden else character)
    if len(text) > limit:
        shown.append(f" … [{len(text) - limit:,} more characters are in the trajectory file]")
    return "".join(shown)
