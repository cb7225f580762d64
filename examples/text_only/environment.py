"""An environment without images: prices are asked, a table has them, and the model may look them up."""

import re
from collections.abc import Mapping

from saccade.envs import EnvironmentContext
from saccade.seeding import generator_for
from saccade.types import (
    Action,
    Answer,
    Example,
    ExpertTurn,
    Malformed,
    Message,
    Observation,
    Task,
    ToolCall,
    ToolResult,
    Turn,
)

GOODS = ("tea", "rice", "salt", "oil", "corn", "wool", "iron", "silk", "wax", "hemp", "figs", "rye", "tin", "oats")
TOWNS = ("Ulm", "Bern", "Cork", "Oslo", "Riga", "Lyon", "Graz", "Rome", "Porto", "Bath", "Jena", "Kiel", "Pisa", "York")
PRICES = range(10, 100)

_TURN = re.compile(r"(look up|answer) (\w[\w ]{0,40})")


def price_table(seed: int) -> dict[str, int]:
    """A price for each good in each town, in an order of the seed's."""
    rng = generator_for(seed, "prices")
    rows = [f"{good} in {town}" for good in GOODS for town in TOWNS]
    return {rows[index]: int(rng.integers(PRICES.start, PRICES.stop)) for index in rng.permutation(len(rows))}


def price_task(row: str, price: int) -> Task:
    return Task(
        id=row.replace(" ", "-"), family="prices", question=row, answer=str(price), answer_kind="integer", images=()
    )


def looks_up(task: Task) -> Example:
    """The task with the turns of an expert."""
    look = ExpertTurn(thought="", action=ToolCall(name="look up", arguments={"row": task.question}))
    return Example(task=task, turns=(look, ExpertTurn(thought="", action=Answer(text=task.answer))))


class TableEnv:
    """Two kinds of turns: ``look up ROW`` shows the price in that row, ``answer NUMBER`` ends the episode."""

    stop: tuple[str, ...] = ()

    def __init__(self, table: Mapping[str, int], context: EnvironmentContext) -> None:
        self._table, self._max_turns = table, context.max_turns
        self.prompt: tuple[Message, ...] = ()
        self.turns: tuple[Turn, ...] = ()

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[str, dict[str, object]]:
        task = (options or {})["task"]
        assert isinstance(task, Task)
        self.prompt, self.turns = (Message(role="user", parts=(f"price of {task.question}?",)),), ()
        return task.question, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        taken, is_last = _read(action), len(self.turns) + 1 == self._max_turns
        is_answered, shown = isinstance(taken, Answer), "look up ROW or answer NUMBER"
        result: ToolResult | None = None
        if isinstance(taken, ToolCall) and not is_last:
            price = self._table.get(str(taken.arguments["row"]))
            shown = "no such row" if price is None else str(price)
            result = ToolResult(text=shown, is_ok=price is not None)
        turn = Turn(
            index=len(self.turns),
            text=action,
            thought="",
            action=taken,
            is_well_formed=not isinstance(taken, Malformed),
            result=result,
            observation=None if is_answered or is_last else Observation(text=shown),
        )
        self.turns = (*self.turns, turn)
        return shown, 0.0, is_answered, is_last and not is_answered, {}

    def write_turn(self, turn: ExpertTurn) -> str:
        action = turn.action
        return f"answer {action.text}" if isinstance(action, Answer) else f"look up {action.arguments['row']}"

    def close(self) -> None: ...


def _read(text: str) -> Action:
    found = _TURN.fullmatch(text.strip())
    if found is None:
        return Malformed(why="neither a row to look up nor an answer")
    word, rest = found.groups()
    return Answer(text=rest) if word == "answer" else ToolCall(name=word, arguments={"row": rest})
