"""Programs on receipts: what is printed below the items, and whether it adds up."""

from collections.abc import Callable, Mapping

from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.quantity_words import quantities, question_with
from saccade.gym.state import SceneState, as_state
from saccade.types import AnswerKind


def _line(key: str, kind: AnswerKind = "exact") -> Callable[[Asking], ProgramQuestion | None]:
    def ask(asking: Asking) -> ProgramQuestion | None:
        state = quantities(asking)
        others = [value for other, value in state.printed.items() if other != key]
        return question_with(state, 0, state.printed[key], kind=kind, near=others[:3], evidence=[key])

    return ask


def _printer_of(key: str) -> Callable[[SceneState, Mapping[str, str]], str]:
    return lambda state, words: as_state(state, QuantityState).printed[key]


@program("What would the total have been without {name}?", "How much is the total less the price of {name}?")
def _without_item(asking: Asking) -> ProgramQuestion | None:
    """The sum of an item's price and the change: two places far from each other."""
    state = quantities(asking)
    values = state.measures[0].values
    index = int(asking.rng.integers(len(values)))
    answer = f"{float(state.printed['Total']) - values[index]:.2f}"
    words = {"name": state.entries[index]}
    return question_with(
        state, 0, answer, kind="number", seen=[index], words=words, near=[state.printed["Total"]], evidence=["Total"]
    )


@program("How many items cost more than {name}?", "Count the items with a price above that of {name}.")
def _dearer_items(asking: Asking) -> ProgramQuestion | None:
    state = quantities(asking)
    index = int(asking.rng.integers(len(state.entries)))
    prices = state.measures[0].values
    count = sum(price > prices[index] for price in prices)
    seen = [index, *(i for i, price in enumerate(prices) if price > prices[index])]
    words = {"name": state.entries[index]}
    near = [str(count + 1), str(len(prices) - count)]
    return question_with(state, 0, str(count), kind="integer", seen=seen, words=words, near=near)


RECEIPT_PROGRAMS = (
    Program(
        name="total_paid",
        wordings=("What is the total of the receipt?", "How much had to be paid in all?"),
        ask=_line("Total", "number"),
        solve=_printer_of("Total"),
    ),
    Program(
        name="change",
        wordings=("How much change was given?", "How much money was given back as change?"),
        ask=_line("Change", "number"),
        solve=_printer_of("Change"),
    ),
    Program(
        name="date",
        wordings=("What is the date of the receipt, as it is printed?", "On which date were these things bought?"),
        ask=_line("Date"),
        solve=_printer_of("Date"),
    ),
    Program(
        name="time",
        wordings=("At what time was the receipt printed?", "Read the time on the receipt."),
        ask=_line("Time"),
        solve=_printer_of("Time"),
    ),
    Program(
        name="receipt_number",
        wordings=("What is the number of the receipt?", "Read the receipt's number."),
        ask=_line("Receipt"),
        solve=_printer_of("Receipt"),
    ),
    Program(
        name="till_number",
        wordings=("At which till was the receipt paid?", "What is the number of the till?"),
        ask=_line("Till", "integer"),
        solve=_printer_of("Till"),
    ),
    _without_item,
    _dearer_items,
)
