"""What happened in a trajectory, in sentences: where it looked, what went wrong, and what that did to its reward.

Each sentence says what the record shows, by rules; none guesses at what the model meant.
"""

import json
from collections.abc import Iterator, Sequence

from saccade.geometry import Box
from saccade.rewards.evidence import WHOLE, covered_share
from saccade.types import Attempt, Malformed, ToolCall, Turn
from saccade.viewer.outcomes import verdict
from saccade.viewer.scene.parts import Region, SeenPicture
from saccade.viewer.store.messages import FOREIGN
from saccade.viewer.words import number_text, percent_text, visible

MAX_FINDINGS = 12


def findings_of(
    attempt: Attempt,
    regions: Sequence[Region],
    *,
    has_verdict: bool = True,
    pictures: Sequence[SeenPicture] = (),
    offered: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """The answer first, then looking, then turns that went wrong, then the reward's lost parts.

    ``has_verdict`` is false where nothing in the record says whether the answer is right; ``offered`` names the tools
    that the model could call, where that is known.
    """
    is_foreign = attempt.task.source == FOREIGN
    turns = _turns(attempt.trajectory.turns, is_foreign=is_foreign)
    found = [
        *_answer(attempt, has_verdict=has_verdict),
        *_looking(attempt, regions, offered),
        *_sizes(attempt, regions, pictures),
        *turns,
        *_subtractions(attempt),
    ]
    return tuple(found[:MAX_FINDINGS])


def _answer(attempt: Attempt, *, has_verdict: bool) -> Iterator[str]:
    task, trajectory = attempt.task, attempt.trajectory
    if trajectory.status == "failed":
        why = visible(trajectory.failure, 300) or "no reason was recorded"
        yield f"The machine failed, so this trajectory has no score: {why}."
        return
    if trajectory.answer is None:
        ended = {"turn_limit": "ran out of turns", "token_limit": "ran out of tokens"}.get(trajectory.status, "stopped")
        yield f"The model gave no answer: it {ended} after {_count(len(trajectory.turns), 'turn')}."
        return
    given, gold = visible(trajectory.answer, 120), visible(task.answer, 120)
    if not has_verdict:
        yield f"The model answered “{given}”; nothing says whether that is right."
        return
    if verdict(attempt) == "right":
        yield f"The model answered “{given}”, which counts as right."
        return
    yield (
        f"The model answered “{given}”; “{gold}” was expected."
        if gold
        else f"The model answered “{given}”; nothing says whether that is right."
    )
    if task.choices and trajectory.answer.strip().lower() not in {choice.strip().lower() for choice in task.choices}:
        yield f"The answer matches none of the {len(task.choices)} choices as they are written."


def _looking(attempt: Attempt, regions: Sequence[Region], offered: Sequence[str] | None) -> Iterator[str]:
    targets = [one for one in regions if one.kind == "target" and one.box is not None]
    asked = [one for one in regions if one.kind == "asked" and one.box is not None]
    if targets and not asked and not any(one.kind in ("named", "hit", "miss") for one in regions):
        has_calls = any(isinstance(turn.action, ToolCall) for turn in attempt.trajectory.turns)
        could = "" if offered is None else f"; it could call {_names(offered)}" if offered else "; no tool was on offer"
        yield "No call requested a location." if has_calls else f"The model made no call{could}."
    for target in targets:
        on_it = [one for one in asked if one.picture == target.picture]
        yield from _looked_at(target, on_it, is_wrong=verdict(attempt) == "wrong")
    for one in regions:
        if one.kind == "named" and one.fate and (targets or attempt.task.source != FOREIGN):
            yield f"{_capital(one.label)}: {one.fate}."
        elif one.kind == "miss":
            yield f"The point on “{one.label}” is a miss."


def _sizes(attempt: Attempt, regions: Sequence[Region], pictures: Sequence[SeenPicture]) -> Iterator[str]:
    """How small the targets were in a picture that the policy got at less than its size."""
    views = {one.key: (one, one.seen) for one in pictures if one.seen and one.seen[0] < one.width}
    asked = [(one.picture, Box(*one.box)) for one in regions if one.kind == "asked" and one.box is not None]
    for target in regions if verdict(attempt) == "wrong" else ():
        if target.kind == "target" and target.box is not None and target.picture in views:
            picture, (width, height) = views[target.picture]
            x1, y1, x2, y2 = target.box
            if any(where == target.picture and covered_share(Box(*target.box), one) >= WHOLE for where, one in asked):
                continue
            size = f"{(x2 - x1) * width / picture.width:.0f} × {(y2 - y1) * height / picture.height:.0f}"
            whole = f"{width} × {height} px of {picture.width} × {picture.height}"
            yield f"The model saw the whole picture at {whole}: the target “{target.label}” is {size} px there."


def _names(names: Sequence[str]) -> str:
    return visible(", ".join(names[:6]), 200) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _looked_at(target: Region, asked: Sequence[Region], *, is_wrong: bool) -> Iterator[str]:
    if not asked or target.box is None:
        return
    shares = [(covered_share(Box(*target.box), Box(*one.box)), one) for one in asked if one.box is not None]
    share, best = max(shares, key=lambda pair: pair[0])
    if share <= 0:
        yield f"The model looked elsewhere: no requested location touches the target “{target.label}”."
        return
    part = "all" if share >= WHOLE else percent_text(share)
    still = ", but the answer is wrong" if is_wrong and share >= WHOLE else ""
    yield f"The location requested in turn {best.turn} contains {part} of the target “{target.label}”{still}."


def _turns(turns: Sequence[Turn], *, is_foreign: bool) -> Iterator[str]:
    for turn in turns:
        number = turn.index + 1
        if isinstance(turn.action, Malformed):
            yield f"Turn {number} is neither a call nor an answer: {visible(turn.action.why, 200)}."
        elif isinstance(turn.action, ToolCall) and turn.result is None and is_foreign:
            yield f"The file does not say what the call in turn {number} gave."
        elif isinstance(turn.action, ToolCall) and turn.result is None:
            yield f"The call in turn {number} was refused before it ran{_reason(turn)}."
        elif turn.result is not None and not turn.result.is_ok:
            kind = turn.result.data.get("error_name") or turn.result.data.get("error_kind") or "an error"
            yield f"The call in turn {number} failed: {visible(str(kind), 80)}."
        elif not turn.is_well_formed:
            yield f"Turn {number} does not follow the format, but its action could be parsed."


def _reason(turn: Turn) -> str:
    """Why, as the model was told; its arguments where it was told no more than that there was an error."""
    text = turn.observation.text.strip() if turn.observation else ""
    why = text.partition("\n")[0].removeprefix("Error: ").rstrip(".")
    if why not in ("", "error"):
        return f": {visible(why, 200)}"
    arguments = turn.action.arguments if isinstance(turn.action, ToolCall) else {}
    return f"; its arguments were {visible(json.dumps(dict(arguments), default=str), 200)}" if arguments else ""


def _subtractions(attempt: Attempt) -> Iterator[str]:
    score = attempt.trajectory.score
    for term in score.terms if score else ():
        if term.contribution < 0:
            yield f"The reward term “{visible(term.name, 40)}” subtracted {number_text(-term.contribution)}."


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
