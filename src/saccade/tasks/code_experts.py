"""Experts that write code: the same solution in several styles, slips and bad habits among them.

Every style is a function of the question alone, but for those that answer, which get what was printed.
"""

from collections.abc import Callable
from dataclasses import replace

from saccade.errors import UserError
from saccade.tasks.code_methods import Solution, solution_of
from saccade.types import Answer, Example, ExpertTurn, ToolCall

CODE_TOOL = "execute_python_code"

CodeStyle = Callable[[str], tuple[ExpertTurn, ...]]
"""From a question to the turns before the answer."""


def code_turn(thought: str, code: str) -> ExpertTurn:
    """A turn that runs Python."""
    return ExpertTurn(thought=thought, action=ToolCall(name=CODE_TOOL, arguments={"code": code}))


def one_run(question: str) -> tuple[ExpertTurn, ...]:
    """Everything at once."""
    solution = _solution(question)
    return (code_turn(solution.thought, f"{solution.find}\n{solution.report}"),)


def two_runs(question: str) -> tuple[ExpertTurn, ...]:
    """First find, then compute with the variables that the first run left."""
    solution = _solution(question)
    return (code_turn(solution.thought, solution.find), code_turn("compute", solution.report))


def with_picture(question: str) -> tuple[ExpertTurn, ...]:
    """Look at what was found before computing; as ``two_runs`` where there is nothing to look at."""
    solution = _solution(question)
    if not solution.show:
        return two_runs(question)
    return (code_turn(solution.thought, f"{solution.find}\n{solution.show}"), code_turn("compute", solution.report))


def slip_then_all(question: str) -> tuple[ExpertTurn, ...]:
    """A run that raises, undone by the sandbox, then everything again without the slip."""
    solution = _solution(question)
    return (
        code_turn(solution.thought, f"{solution.find}\n{solution.broken}"),
        code_turn("correct", f"{solution.find}\n{solution.report}"),
    )


def slip_then_report(question: str) -> tuple[ExpertTurn, ...]:
    """What was found stays when the second run raises; the third computes without the slip."""
    solution = _solution(question)
    return (
        code_turn(solution.thought, solution.find),
        code_turn("compute", solution.broken),
        code_turn("correct", solution.report),
    )


def slip(question: str) -> tuple[ExpertTurn, ...]:
    """A run that raises, and nothing after it."""
    solution = _solution(question)
    return (code_turn(solution.thought, f"{solution.find}\n{solution.broken}"),)


def coded(example: Example, style: CodeStyle = one_run) -> Example:
    """The example with an expert of this style, who answers rightly at the end."""
    answer = ExpertTurn(thought="", action=Answer(text=example.task.answer))
    return replace(example, turns=(*style(example.task.question), answer))


def gave_up(example: Example, *, other: Example) -> Example:
    """The expert slips and then guesses: it answers as another question is answered, right by chance."""
    answer = ExpertTurn(thought="", action=Answer(text=other.task.answer))
    return replace(example, turns=(*slip(example.task.question), answer))


def _solution(question: str) -> Solution:
    solution = solution_of(question)
    if solution is None:
        raise UserError(f"no expert writes code for the question {question!r}; saccade.tasks.code_methods lists them")
    return solution
