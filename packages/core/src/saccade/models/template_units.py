"""What a chat template may use while it is rendered: units, charged for steps, texts and entries beforehand."""

import re
from collections.abc import ItemsView, KeysView, Mapping, Sequence, Sized, ValuesView
from types import NoneType

from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext
from jinja2.utils import Namespace

from saccade.models.chat import TemplateLimitError

UNITS, UNITS_OF_CHARACTER = 50_000_000, 200
"""What a render may use, with so many for each character of the conversation: about a second, and 100 MB."""
STEP = 20
"""Units of one step of a program, and of one entry of a list; of a text each character has one."""
_ENTRY = 50
"""Of one entry of a dictionary."""
_MOST_BITS = 4096
"""Of a whole number."""
_PLAIN = frozenset({int, float, bool, NoneType})
PERCENT = re.compile(r"%(\([^)]*\))?[^a-zA-Z%]*(\d{4}|\*)")
BRACES = re.compile(r"\{[^{}]*(\d{4}|\{)")
"""Formats whose width has four digits or is an argument."""


def length(value: object) -> int:
    """Of a text or container; 0 for anything else."""
    return len(value) if isinstance(value, Sized) else 0


def check_bits(bits: int) -> None:
    """SecurityError for a whole number of so many bits, where these are too many."""
    if bits > _MOST_BITS:
        raise SecurityError(f"whole numbers of more than {_MOST_BITS:,} bits are not rendered")


class Units:
    """Those that are left to one render."""

    def __init__(self) -> None:
        self.left = UNITS

    def begin(self, variables: Mapping[str, object]) -> None:
        """Has as many again as a render with these variables may use."""
        self.left = 1 << 62
        self.weigh(variables)
        self.left = UNITS + UNITS_OF_CHARACTER * ((1 << 62) - self.left)

    def charge(self, units: int) -> None:
        """Takes so many off; ``TemplateLimitError`` when there are no more."""
        self.left -= units
        if self.left < 0:
            raise TemplateLimitError(
                "the checkpoint's chat template takes too much time or memory (a template is a program); use the "
                "template of the instruct model of this family, or one of your own (model.chat_template)"
            )

    def weigh(self, value: object) -> None:
        """Charges a value by its size, with all that lies in it."""
        if type(value) is str:
            self.charge(len(value))
        elif type(value) not in _PLAIN:
            waiting = [value]
            while waiting:
                self._weigh_one(waiting.pop(), waiting)

    def _weigh_one(self, value: object, waiting: list[object]) -> None:
        if type(value) in _PLAIN:
            return
        if isinstance(value, str):
            self.charge(len(value))
        elif isinstance(value, dict):
            self.charge(STEP + _ENTRY * len(value))
            waiting += value.keys()
            waiting += value.values()
        elif isinstance(value, list | tuple | set | frozenset | KeysView | ValuesView | ItemsView):
            self.charge(STEP + STEP * len(value))
            waiting.extend(value)
        elif isinstance(value, Namespace):
            waiting.append(object.__getattribute__(value, "_Namespace__attrs"))
            self.charge(STEP)
        elif isinstance(value, Sized) and not isinstance(value, LoopContext):
            self.charge(STEP * len(value))

    def weight_of(self, value: object) -> int:
        """What ``weigh`` has charged for it."""
        before = self.left
        self.weigh(value)
        return before - self.left

    def charge_replacing(self, text: str, given: Sequence[object]) -> None:
        """For ``text.replace(old, new)``."""
        if len(given) > 1:
            self.charge(text.count(str(given[0])) * length(given[1]))

    def charge_format(self, text: str, wide: re.Pattern[str], fields: int, values: object) -> None:
        """For a format with so many fields: each may show all values, in up to 999 characters more."""
        if wide.search(text):
            raise SecurityError("a format whose width has four digits or is an argument is not rendered")
        self.charge(len(text) + fields * (1000 + self.weight_of(values)))

    def charge_operation(self, operator: str, left: object, right: object) -> None:
        """For ``left operator right``."""
        if operator == "%" and isinstance(left, str):
            self.charge_format(left, PERCENT, left.count("%"), right)
        elif isinstance(left, int) and isinstance(right, int):
            other = max(right, 0) if operator == "**" else right.bit_length()
            check_bits(left.bit_length() * other if operator == "**" else left.bit_length() + other)
        elif operator == "*":
            times = [one for one in (left, right) if isinstance(one, int)]
            self.charge(STEP * (length(left) + length(right)) * max([0, *times]))
        elif operator == "+":
            self.charge(STEP * (length(left) + length(right)))
