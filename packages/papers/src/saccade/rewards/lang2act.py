"""Lang2Act's reward: the answer's correctness and the validity of the chain of linguistic tools (equations 12 and 13).

=========================  =============================  =============================================================
form                       right, valid / right, not /    what is paid
                           wrong, valid / wrong, not
=========================  =============================  =============================================================
``paper``                  1, 0.8, 0.2, 0                 0.8 for the answer and 0.2 for a valid chain, each alone
``graded``                 up to 1, 0, up to 0.2, 0       0.8 for the answer, 0.1 for blocks in order, 0.1 times a
                                                          score of the tools; nothing unless the blocks are in order
=========================  =============================  =============================================================

A valid chain is paid whatever it ends with, so a chain without an answer gets 0.2. In a group where no answer is right
that is the whole difference, and an advantage divided by the group's spread makes it as large as a right answer's;
``pays_tools="answered"`` or ``"right"`` closes this.
"""

import re
from dataclasses import dataclass
from typing import Literal

from saccade.errors import UserError
from saccade.protocols.linguistic_tools import ToolboxSource, normal_name, opened_toolbox
from saccade.protocols.tool_tags import ChainCall, thought_pages
from saccade.protocols.toolchain import Chain, read_chain
from saccade.rewards.grounding import check_weights
from saccade.rewards.reward import AccuracyJudge, check_scorable, is_correct
from saccade.types import Json, Score, Task, Term, Trajectory

Lang2ActForm = Literal["paper", "graded"]
"""``paper`` is equation 12; ``graded`` follows the public code of the second stage."""

PaysTools = Literal["always", "answered", "right"]
"""Chains that are paid: all valid ones, as in the paper; those that end with an answer; with the right one."""

CHAIN_ERRORS = ("format", "no_tool", "tool_not_contained", "page")
ECHO_WORDS = 4
"""So many words in a row of the question are no chance."""
MAX_NAMED = 32

_WORD = re.compile(r"\w+")


def lang2act_reward(
    *,
    is_right: bool,
    is_valid: bool,
    answer_weight: float = 0.8,
    tool_weight: float = 0.2,
    form: Lang2ActForm = "paper",
    tool_score: float = 1.0,
) -> float:
    """Reward of a trajectory (equation 12): 1, 0.8, 0.2 or 0 by default.

    In the ``graded`` form ``is_valid`` says that the blocks are in order, and ``tool_score`` is ``graded_tools``.
    """
    terms = lang2act_terms(
        is_right=is_right,
        is_valid=is_valid,
        answer_weight=answer_weight,
        tool_weight=tool_weight,
        form=form,
        tool_score=tool_score,
    )
    return Score(terms=terms).total


def lang2act_terms(
    *,
    is_right: bool,
    is_valid: bool,
    answer_weight: float = 0.8,
    tool_weight: float = 0.2,
    form: Lang2ActForm = "paper",
    tool_score: float = 1.0,
) -> tuple[Term, ...]:
    """The terms of ``lang2act_reward``: ``answer`` and ``tool``, in the graded form ``format`` between them.

    In the graded form a right answer is credited to blocks in order alone, and ``tool_weight`` is shared by two terms.
    """
    if form == "paper":
        return Term("answer", float(is_right), answer_weight), Term("tool", float(is_valid), tool_weight)
    half = tool_weight / 2
    return (
        Term("answer", float(is_right and is_valid), answer_weight),
        Term("format", float(is_valid), half),
        Term("tool", tool_score if is_valid else 0.0, half),
    )


def graded_tools(chain: Chain, toolbox: ToolboxSource, pages: int, pageless: tuple[str, ...] = ()) -> float:
    """The score of a chain's tools in the public code's form, between 0 and 1; 0 without a tool that can be read.

    Taken off from 1: 0.3 for a tool that the toolbox has not (and nothing else for it); 0.4 for one that names no page,
    0.2 where it names it later than first; 0.5 for each page that does not exist and 0.1 for one that the thought does
    not choose; 0.2 for a ``pageless`` tool without arguments; 0.1 for an empty finding; 0.1 for more than 8 tools.
    """
    if not chain.calls:
        return 0.0
    known, free = opened_toolbox(toolbox), set(map(normal_name, pageless))
    lost = 0.1 if len(chain.calls) > 8 else 0.0
    for call in chain.calls:
        if call.name not in known:
            lost += 0.3
            continue
        if normal_name(call.name) in free:
            lost += 0.0 if call.args else 0.2
        else:
            lost += _lost_by_pages(call, chain, pages)
        lost += 0.0 if call.finding else 0.1
    return max(0.0, 1.0 - lost)


@dataclass(frozen=True, kw_only=True, slots=True)
class Lang2ActReward:
    """Lang2Act's reward of one trajectory, which waits for a judge where it has one.

    Terms as ``lang2act_terms``; with ``tool_weight=0`` the answer alone is rewarded (equation 2), and no toolbox is
    asked for. The notes ``chain/format``, ``chain/no_tool``, ``chain/tool_not_contained`` and ``chain/page`` say by 1.0
    what is wrong with the chain (Table 10 counts them); ``tools_used``, ``tools_distinct`` and ``tools_echoed`` count.
    """

    answer_weight: float = 0.8
    tool_weight: float = 0.2
    form: Lang2ActForm = "paper"
    pays_tools: PaysTools = "always"
    pays_echoes: bool = True
    """Whether a chain is rewarded if each of its tools finds what the question, its arguments or the toolbox say."""
    pageless: tuple[str, ...] = ("compute_difference", "compute_percentage")
    """Tools that need no page, in the graded form."""
    accuracy: AccuracyJudge | None = None
    """A judge of answers that rules cannot compare; None leaves them to the rules."""
    toolbox: ToolboxSource | None = None
    """None: it is to be given before the run, unless ``tool_weight`` is 0."""

    def __post_init__(self) -> None:
        check_weights(answer_weight=self.answer_weight, tool_weight=self.tool_weight)

    async def __call__(self, task: Task, trajectory: Trajectory) -> Score | None:
        """None where the judge gave no verdict. ``ValueError`` for a ``failed`` trajectory and one of another task."""
        check_scorable(task, trajectory)
        is_right = await self._is_right(task, trajectory)
        if is_right is None:
            return None
        if not self.tool_weight:
            return Score(terms=(Term("answer", float(is_right), self.answer_weight),), is_right=is_right)
        if self.toolbox is None:
            raise UserError("this reward weights tools but has no toolbox; pass toolbox=, or set tool_weight=0")
        pages, toolbox = pages_shown(task, trajectory), opened_toolbox(self.toolbox)
        chain = read_chain(trajectory.turns[-1].text if trajectory.turns else "", toolbox, pages)
        told = [text for tool in toolbox.tools for text in (tool.description, tool.args)]
        echoed = sum(is_echo(call, task.question, *told) for call in chain.calls)
        is_paid = self._is_paid(chain, is_answered=trajectory.answer is not None, is_right=is_right, echoed=echoed)
        is_graded = self.form == "graded"
        # The graded form credits a right answer to blocks in order: what is not paid must not cost it.
        terms = lang2act_terms(
            is_right=is_right,
            is_valid=chain.is_in_order and (is_paid or is_right) if is_graded else chain.is_valid and is_paid,
            answer_weight=self.answer_weight,
            tool_weight=self.tool_weight,
            form=self.form,
            tool_score=graded_tools(chain, toolbox, pages, self.pageless) if is_graded and is_paid else 0.0,
        )
        return Score(terms=terms, is_right=is_right, notes=_notes(chain, echoed), evidence=_evidence(chain))

    async def _is_right(self, task: Task, trajectory: Trajectory) -> bool | None:
        """By the rules; where they say no, by the judge if there is one; None without a verdict."""
        answer = trajectory.answer if trajectory.status == "answered" else None
        if answer is None or self.accuracy is None or is_correct(task, trajectory):
            return is_correct(task, trajectory)
        verdict = await self.accuracy(task, answer)
        return None if verdict is None else verdict >= 0.5

    def _is_paid(self, chain: Chain, *, is_answered: bool, is_right: bool, echoed: int) -> bool:
        if chain.calls and echoed == len(chain.calls) and not self.pays_echoes:
            return False
        return {"always": True, "answered": is_answered, "right": is_right}[self.pays_tools]


def pages_shown(task: Task, trajectory: Trajectory) -> int:
    """Number of images that the policy has seen: the question's, and those of the observations before its last turn."""
    later = sum(len(turn.observation.images) for turn in trajectory.turns if turn.observation is not None)
    return len(task.images) + later


def is_echo(call: ChainCall, question: str, *told: str) -> bool:
    """Whether the finding only says the arguments again, or words in a row of the question or of what was ``told``.

    At least ``ECHO_WORDS`` words; an ending of one or two letters ("rates" for "rate") makes no other word.
    """
    found, given = _WORD.findall(call.finding.casefold()), _WORD.findall(call.args.casefold())
    if len(found) < ECHO_WORDS:
        return bool(found) and found == given
    return found == given or any(_stands_in(found, _WORD.findall(text.casefold())) for text in (question, *told))


def _stands_in(found: list[str], words: list[str]) -> bool:
    for start in range(len(words) - len(found) + 1):
        if all(one == other or _are_forms(one, other) for one, other in zip(found, words[start:])):
            return True
    return False


def _are_forms(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) > 2 and long.isalpha() and long.startswith(short) and len(long) <= len(short) + 2


def _lost_by_pages(call: ChainCall, chain: Chain, pages: int) -> float:
    named = call.pages or thought_pages(call.args, pages)
    lost = 0.0 if call.pages else 0.2 if named else 0.4
    for page in named:
        lost += 0.5 if not 1 <= page <= pages else 0.0 if page in chain.chosen else 0.1
    return lost


def _notes(chain: Chain, echoed: int) -> dict[str, float]:
    errors = {f"chain/{error}": float(chain.error == error) for error in CHAIN_ERRORS}
    distinct = len({normal_name(call.name) for call in chain.calls})
    return {
        **errors,
        "tools_used": float(len(chain.calls)),
        "tools_distinct": float(distinct),
        "tools_echoed": float(echoed),
    }


def _evidence(chain: Chain) -> dict[str, Json]:
    return {
        "chain_error": chain.error or "",
        "chain_why": chain.why,
        "tools": [call.name[:64] for call in chain.calls[:MAX_NAMED]],
        "pages": list(chain.pages),
    }
