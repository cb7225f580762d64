"""Invoices: letterhead, customer, lines with quantity and price, sums; somebody ticked and struck out lines by hand.

Axes: ``fields`` (how many lines), ``print`` (how small letters are).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.grammars.words import FIRMS, MONTHS, PEOPLE, SURNAMES, TOWNS
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState

WARES = (
    "Desk lamp", "Office chair", "Paper, A4", "Toner, black", "Printer cable", "Whiteboard", "Filing cabinet",
    "Window cleaning", "Delivery", "Wall clock", "Coffee beans", "Shelf, oak", "Door handle", "Paint, white",
    "Garden hose", "Work gloves", "Light bulbs", "Extension lead", "Ladder", "Tool box", "Monitor stand", "Key copies",
)  # fmt: skip
KINDS = ("Trading", "Supplies", "Services", "& Sons", "Works")
TAXES = (5, 10, 20)


@dataclass(frozen=True, kw_only=True, slots=True)
class InvoiceLine:
    """A line: prices in cents."""

    ware: str
    quantity: int
    unit: int
    is_ticked: bool
    is_struck: bool

    @property
    def amount(self) -> int:
        return self.quantity * self.unit


@dataclass(frozen=True, kw_only=True, slots=True)
class InvoiceState(SceneState):
    """Elements ``ware:I``, ``quantity:I``, ``unit:I``, ``amount:I``, ``tick:I``, ``strike:I`` for lines; one for each
    key of ``printed``."""

    seller: str
    buyer: str
    lines: tuple[InvoiceLine, ...]
    printed: dict[str, str]
    """What stands beside the lines, by its label."""


def money(cents: int) -> str:
    """As the invoice prints it."""
    return f"{cents / 100:,.2f}"


def draw_invoice(rng: Generator, levels: Levels) -> InvoiceState:
    """Four to fourteen lines with different amounts; one is struck out, some are ticked."""
    count = int(rng.integers(levels.whole("fields", 4, 7, 10), levels.whole("fields", 6, 10, 15)))
    struck = int(rng.integers(count))
    ticks = {int(row) for row in rng.permutation(count)[: int(rng.integers(1, count))]} - {struck}
    lines: list[InvoiceLine] = []
    for index, ware in enumerate(shuffled(rng, WARES)[:count]):
        while True:
            quantity, unit = int(rng.integers(1, 13)), int(rng.integers(15, 900)) * 10
            if all(quantity * unit != one.amount for one in lines):
                break
        lines.append(
            InvoiceLine(ware=ware, quantity=quantity, unit=unit, is_ticked=index in ticks, is_struck=index == struck)
        )
    subtotal, tax = sum(line.amount for line in lines), TAXES[int(rng.integers(len(TAXES)))]
    day, month = int(rng.integers(1, 29)), int(rng.integers(12))
    printed = {
        "Invoice no.": f"{chosen(rng, 'ABCDEFGH')}-{int(rng.integers(1000, 10000))}",
        "Date": f"{day} {MONTHS[month]} 2026",
        "Due date": f"{int(rng.integers(1, 29))} {MONTHS[(month + 1) % 12]} {2026 + (month == 11)}",
        "Order": str(int(rng.integers(10_000, 100_000))),
        "Subtotal": money(subtotal),
        f"VAT {tax} %": money(round(subtotal * tax / 100)),
        "Total due": money(subtotal + round(subtotal * tax / 100)),
    }
    elements = [Element(id=key, kind="printed", name=key, attributes={"value": said}) for key, said in printed.items()]
    elements += [Element(id="seller", kind="name", name="seller"), Element(id="buyer", kind="name", name="buyer")]
    for index, line in enumerate(lines):
        elements += [
            Element(id=f"{part}:{index}", kind=part, name=f"{part} {line.ware}")
            for part in ("ware", "quantity", "unit", "amount")
        ]
        elements += [
            Element(id=f"{part}:{index}", kind=part, name=f"{part} {line.ware}")
            for part, is_there in (("tick", line.is_ticked), ("strike", line.is_struck))
            if is_there
        ]
    return InvoiceState(
        elements=tuple(elements),
        width=720,
        height=480 + 30 * count,
        seller=f"{chosen(rng, FIRMS)} {chosen(rng, KINDS)}",
        buyer=f"{chosen(rng, PEOPLE)} {chosen(rng, SURNAMES)}, {chosen(rng, TOWNS)}",
        lines=tuple(lines),
        printed=printed,
    )


INVOICE = Grammar(name="invoices", draw=draw_invoice, axes=("fields",))
