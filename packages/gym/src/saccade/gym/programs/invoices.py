"""Programs on invoices: single values, sums over lines, and what was ticked or struck out by hand."""

from collections.abc import Mapping, Sequence

from saccade.gym.grammars.invoices import InvoiceLine, InvoiceState, money
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import count_of, told_of, yes_or_no
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState, as_state
from saccade.types import AnswerKind

Words = Mapping[str, str]


def _invoice(state: SceneState) -> InvoiceState:
    return as_state(state, InvoiceState)


def _seen(state: SceneState, *identities: str) -> list[Element]:
    return [state.element(identity) for identity in identities]


def _line_of(state: SceneState, words: Words) -> InvoiceLine:
    return next(line for line in _invoice(state).lines if line.ware == words["ware"])


def _index(state: SceneState, *, is_struck: bool = True) -> int:
    return next(index for index, line in enumerate(_invoice(state).lines) if line.is_struck == is_struck)


def _printed(name: str, key: str, kind: AnswerKind, *wordings: str) -> Program:
    """A value with a label of its own."""

    def solve(state: SceneState, words: Words) -> str:
        return _invoice(state).printed[key]

    def ask(asking: Asking) -> ProgramQuestion:
        printed = _invoice(asking.state).printed
        like = {"Total due": ["Subtotal"], "Due date": ["Date"], "Invoice no.": ["Order"]}
        near = [printed[other] for other in like[key]]
        return told_of(printed[key], _seen(asking.state, key), kind=kind, near=near)

    return program(*wordings, name=name, solve=solve)(ask)


def _cell(name: str, part: str, kind: AnswerKind, *wordings: str) -> Program:
    """What stands in a column for a ware."""

    def say(line: InvoiceLine) -> str:
        return {"quantity": str(line.quantity), "unit": money(line.unit), "amount": money(line.amount)}[part]

    def solve(state: SceneState, words: Words) -> str:
        return say(_line_of(state, words))

    def ask(asking: Asking) -> ProgramQuestion:
        lines = _invoice(asking.state).lines
        index, other = shuffled(asking.rng, range(len(lines)))[:2]
        seen = _seen(asking.state, f"ware:{index}", f"{part}:{index}")
        words = {"ware": lines[index].ware}
        return told_of(say(lines[index]), seen, kind=kind, words=words, near=[say(lines[other])])

    return program(*wordings, name=name, solve=solve)(ask)


@program(
    "Which item was crossed out by hand?",
    "Somebody struck out one line with a pen. Which item is it?",
    solve=lambda state, words: _invoice(state).lines[_index(state)].ware,
)
def _struck_item(asking: Asking) -> ProgramQuestion:
    lines, index = _invoice(asking.state).lines, _index(asking.state)
    near = [lines[index - 1].ware]
    return told_of(lines[index].ware, _seen(asking.state, f"strike:{index}", f"ware:{index}"), near=near)


@program(
    "What does the subtotal come to without the line that was crossed out?",
    "Leave the struck-out item away: what is the subtotal then?",
    solve=lambda state, words: money(sum(line.amount for line in _invoice(state).lines if not line.is_struck)),
)
def _without_struck(asking: Asking) -> ProgramQuestion:
    lines, index = _invoice(asking.state).lines, _index(asking.state)
    total = sum(line.amount for line in lines)
    seen = _seen(asking.state, "Subtotal", f"strike:{index}", f"amount:{index}")
    near = [money(total), money(total + lines[index].amount)]
    return told_of(money(total - lines[index].amount), seen, kind="number", near=near)


@program(
    "How many lines were ticked by hand?",
    "Count the ticks at the left of the lines.",
    solve=lambda state, words: str(sum(line.is_ticked for line in _invoice(state).lines)),
    spread=12,
)
def _count_ticks(asking: Asking) -> ProgramQuestion:
    lines = _invoice(asking.state).lines
    seen = _seen(asking.state, *(f"tick:{index}" for index, line in enumerate(lines) if line.is_ticked))
    return count_of(len(seen), {}, seen, wrong=[len(lines) - len(seen)])


@program(
    "Is there a hand-drawn tick beside the line \u201c{ware}\u201d?",
    "Was the item \u201c{ware}\u201d ticked off?",
    solve=lambda state, words: "yes" if _line_of(state, words).is_ticked else "no",
)
def _is_ticked(asking: Asking) -> ProgramQuestion | None:
    lines = _invoice(asking.state).lines
    found = [index for index, line in enumerate(lines) if line.is_ticked == asking.is_wanted and not line.is_struck]
    if not found:
        return None
    index = chosen(asking.rng, found)
    parts = [f"ware:{index}"] + [f"tick:{index}"] * lines[index].is_ticked
    return yes_or_no(lines[index].is_ticked, {"ware": lines[index].ware}, _seen(asking.state, *parts))


@program(
    "What do \u201c{first}\u201d and \u201c{second}\u201d cost together, before tax?",
    "Add up the amounts of \u201c{first}\u201d and \u201c{second}\u201d.",
    solve=lambda state, words: money(sum(_line_of(state, {"ware": words[key]}).amount for key in ("first", "second"))),
)
def _two_amounts(asking: Asking) -> ProgramQuestion:
    lines = _invoice(asking.state).lines
    pair = shuffled(asking.rng, range(len(lines)))[:2]
    first, second = (lines[index] for index in pair)
    seen = _seen(asking.state, *(f"{part}:{index}" for index in pair for part in ("ware", "amount")))
    words = {"first": first.ware, "second": second.ware}
    near = [money(first.amount), money(first.unit + second.unit)]
    total = money(first.amount + second.amount)
    return told_of(total, seen, kind="number", words=words, near=[one for one in near if one != total])


def _dearest(lines: Sequence[InvoiceLine]) -> list[InvoiceLine]:
    return sorted(lines, key=lambda line: -line.amount)


@program(
    "Which line has the largest amount?",
    "On which item of this invoice is the most money spent?",
    solve=lambda state, words: _dearest(_invoice(state).lines)[0].ware,
)
def _largest_amount(asking: Asking) -> ProgramQuestion:
    lines = _invoice(asking.state).lines
    best, second = (lines.index(line) for line in _dearest(lines)[:2])
    seen = _seen(asking.state, f"amount:{best}", f"ware:{best}")
    return told_of(lines[best].ware, seen, near=[lines[second].ware])


INVOICE_PROGRAMS = (
    _printed(
        "total_due", "Total due", "number", "How much is to be paid in all?", "What is the total due, tax included?"
    ),
    _printed("due_date", "Due date", "exact", "By which day must this be paid?", "When is the payment due?"),
    _printed(
        "invoice_number",
        "Invoice no.",
        "exact",
        "What is the number of this invoice?",
        "Which invoice number should the payment name?",
    ),
    _cell(
        "quantity_of",
        "quantity",
        "integer",
        "How many units of \u201c{ware}\u201d are on the invoice?",
        "What quantity is billed for \u201c{ware}\u201d?",
    ),
    _cell(
        "amount_of",
        "amount",
        "number",
        "What is the amount for \u201c{ware}\u201d?",
        "How much does the line \u201c{ware}\u201d come to?",
    ),
    _struck_item,
    _without_struck,
    _count_ticks,
    _is_ticked,
    _two_amounts,
    _largest_amount,
)
