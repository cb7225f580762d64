"""Numbers as answers write them: signs, thousands separators, percent, currency, units, millions."""

import math
import re
from dataclasses import dataclass

from saccade.characters import half_width

MAX_NUMBER_CHARACTERS = 64

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<currency>[$€£¥]?)\s*"
    r"(?P<digits>(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)"
    r"(?P<exponent>(?:[eE][+-]?[0-9]{1,4})?)\s*(?P<suffix>[^0-9]*)"
)

FRACTION = re.compile(r"[+-]?(?:[0-9]{1,9}\s+)?[0-9]{1,9}\s*/\s*[0-9]{1,9}")
"""``3/4``, or a mixed number such as ``1 3/4``."""

_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALE_LETTERS = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9}

_COUNTERS = "个個只隻条條张張本位名人件棵朵座辆輛匹头頭块塊片根颗顆把架艘つ台枚개명대"
"""What stands behind the number of things counted in Chinese, Japanese and Korean: ``12个`` are 12."""

_UNIT_SPELLINGS = {
    "%": "% percent",
    "°": "° deg degree degrees 度",
    "px": "px pixel pixels",
    "mm": "mm millimeter millimeters millimetre millimetres 毫米",
    "cm": "cm centimeter centimeters centimetre centimetres 厘米",
    "m": "m meter meters metre metres 米",
    "km": "km kilometer kilometers kilometre kilometres 千米 公里",
    "in": "in inch inches 英寸",
    "ft": "ft foot feet 英尺",
    "mi": "mi mile miles 英里",
    "g": "g gram grams 克",
    "kg": "kg kilogram kilograms 千克 公斤",
    "s": "s sec second seconds 秒",
    "min": "min minute minutes 分钟 分鐘",
    "h": "h hour hours 小时 小時",
    "$": "dollar dollars usd",
    "€": "euro euros eur",
    "¥": "元 円",
    "unit": f"unit units {' '.join(_COUNTERS)}",
}
UNITS = {spelling: unit for unit, spellings in _UNIT_SPELLINGS.items() for spelling in spellings.split()}
"""Accepted spelling to unit."""

_WORDS_TO_TWENTY = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty
"""
NUMBER_WORDS = tuple(_WORDS_TO_TWENTY.split())

_TENS = {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_MAX_WORDS = 12

_HAN_DIGITS = "零一二三四五六七八九"
_HAN_NUMBER = re.compile(rf"(?:([{_HAN_DIGITS[1:]}]?)(十))?([{_HAN_DIGITS}两兩]?)[{_COUNTERS}]?[。.]?")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A finite number and its unit; the empty unit agrees with every unit."""

    value: float
    unit: str = ""


def parse_quantity(text: str) -> Quantity | None:
    """The number that the whole text is, or None: nothing is ever searched for inside a sentence.

    ``-1,234.5``, ``45%``, ``$3.2 million``, ``60°``, ``12 cm``, ``1e3`` are numbers; ``1,23``, ``3 or 4``, ``about 5``,
    ``nan``, ``1e999`` and digits that are neither ASCII nor wide are not.
    """
    if len(text) > MAX_NUMBER_CHARACTERS:
        return None
    match = _QUANTITY.fullmatch(half_width(text).strip().replace("−", "-").removesuffix(".").removesuffix("。"))
    if match is None:
        return None
    scale_and_unit = _scale_and_unit(match["suffix"])
    if scale_and_unit is None:
        return None
    scale, unit = scale_and_unit
    value = float(match["sign"] + match["digits"].replace(",", "") + match["exponent"]) * scale
    if not math.isfinite(value):
        return None
    return Quantity(value, unit or match["currency"])


def number_in_words(text: str) -> int | None:
    """The whole number below a million that English words name: ``twenty-one``, ``one hundred and five``.

    Or one below a hundred in Chinese or Japanese signs, perhaps with what counts things: ``三``, ``十二个``.
    """
    if not text.isascii():
        return _number_in_signs(text.strip())
    words = text.strip().casefold().removesuffix(".").replace("-", " ").split()
    if not words or len(words) > _MAX_WORDS:
        return None
    if "thousand" not in words:
        return _below_thousand(words)
    place = words.index("thousand")
    thousands, rest = _below_thousand(words[:place]), words[place + 1 :]
    below = _below_thousand(rest[1:] if rest[:1] == ["and"] else rest) if rest else 0
    return None if not thousands or below is None or (rest and not below) else 1000 * thousands + below


def _number_in_signs(text: str) -> int | None:
    match = _HAN_NUMBER.fullmatch(text)
    if match is None or match.group(2, 3) in ((None, ""), ("十", "零")):
        return None
    tens = 0 if match[2] is None else _HAN_DIGITS.index(match[1] or "一")
    ones = 2 if match[3] in ("两", "兩") else _HAN_DIGITS.index(match[3] or "零")
    return 10 * tens + ones


def _below_thousand(words: list[str]) -> int | None:
    if "hundred" not in words:
        return _below_hundred(words)
    place = words.index("hundred")
    hundreds, rest = _below_hundred(words[:place]), words[place + 1 :]
    below = _below_hundred(rest[1:] if rest[:1] == ["and"] else rest) if rest else 0
    if hundreds is None or below is None or not 1 <= hundreds <= 9 or (rest and not below):
        return None
    return 100 * hundreds + below


def _below_hundred(words: list[str]) -> int | None:
    match words:
        case [one] if one in NUMBER_WORDS:
            return NUMBER_WORDS.index(one)
        case [tens] if tens in _TENS:
            return _TENS[tens]
        case [tens, one] if (tens in _TENS or tens == "twenty") and one in NUMBER_WORDS[1:10]:
            return _TENS.get(tens, 20) + NUMBER_WORDS.index(one)
    return None


def parse_integer(text: str) -> int | None:
    """A whole number in digits, with or without a unit, or in English words."""
    in_words = number_in_words(text)
    if in_words is not None:
        return in_words
    quantity = parse_quantity(text)
    if quantity is None or not quantity.value.is_integer():
        return None
    return int(quantity.value)


def quantities_agree(predicted: Quantity, gold: Quantity, tolerance: float) -> bool:
    """Within a relative tolerance of the gold value, and in the same unit where both name one.

    When only one of them carries ``%`` the sign may mean hundredths or just be the axis unit: 45% agrees with 45 and
    with 0.45. A gold of zero is met by zero alone.
    """
    if predicted.unit and gold.unit and predicted.unit != gold.unit:
        return False
    if predicted.unit == "%" and not gold.unit:
        return any(_close(value, gold.value, tolerance) for value in (predicted.value, predicted.value / 100))
    if gold.unit == "%" and not predicted.unit:
        return any(_close(predicted.value, value, tolerance) for value in (gold.value, gold.value / 100))
    return _close(predicted.value, gold.value, tolerance)


def _close(predicted: float, gold: float, tolerance: float) -> bool:
    # The slack is for decimal fractions: 0.315 - 0.3 is a little more than 5 % of 0.3 in binary.
    return abs(predicted - gold) <= abs(gold) * (tolerance + 1e-9)


def _scale_and_unit(suffix: str) -> tuple[float, str] | None:
    """The text after the digits: an optional scale, then an optional unit; None when it is anything else."""
    words = suffix.split()
    scale = 1.0
    if words and words[0] in _SCALE_LETTERS:
        scale = _SCALE_LETTERS[words.pop(0)]
    elif words and words[0].casefold() in _SCALES:
        scale = _SCALES[words.pop(0).casefold()]
    if not words:
        return scale, ""
    unit = UNITS.get(words[0].casefold())
    return (scale, unit) if unit is not None and len(words) == 1 else None
