"""One trajectory as JSON: its scene, with what stands around it in the run."""

from collections.abc import Mapping

from saccade.errors import UserError
from saccade.runs.asking import read_asked
from saccade.runs.signals import by_turn
from saccade.types import Json, TurnClock
from saccade.viewer.app.annotating import shown_mark
from saccade.viewer.app.lists import across, row_of, rows_json
from saccade.viewer.scene.parts import Identity, TokenSignals
from saccade.viewer.scene.scene import scene_json, scene_of
from saccade.viewer.store.filters import group_mask
from saccade.viewer.store.run import Opened, Run
from saccade.viewer.words import visible


def trajectory_json(run: Run, identity: str) -> dict[str, Json]:
    """GoneError where it is not there, UserError where its record is damaged."""
    opened = run.open(identity)
    view = run.table.view()
    row = row_of(run, view, identity)
    stage = view.words["stage"][int(view.columns["stage"][row])]
    of = Identity(id=identity, run=run.id, stage=stage, step=int(view.columns["step"][row]))
    try:
        scene = scene_of(
            opened.attempt,
            of,
            signals=_signals(opened),
            policy=run.policy,
            has_verdict=int(view.columns["right"][row]) >= 0,
            offered=_offered_tools(run, stage, opened.attempt.trajectory.stream),
        )
    except (ValueError, OverflowError) as error:
        # Numbers that are none, in places that only a page looks at.
        raise UserError(f"the trajectory {identity} cannot be shown: {str(error)[:300]}") from error
    members = [int(member) for member in group_mask(row, view).nonzero()[0][:256]]
    standing = [shown_mark(item) for item in run.annotations.read().standing if item.trajectory == identity]
    return {
        **scene_json(scene),
        "run_name": visible(run.source.name, 120),
        "row": rows_json(run, view, [row])[0],
        "across": across(run, view, row),
        "group": rows_json(run, view, members),
        "annotations": standing,
        "notes": [visible(note, 500) for note in opened.notes],
    }


def _offered_tools(run: Run, stage: str, stream: str) -> tuple[str, ...] | None:
    """Names of the tools that the model was told of; None where the run has no record of it."""
    try:
        asked = read_asked(run.paths.asked)
    except UserError:
        return None
    way = asked.evaluations[stage].way if stage in asked.evaluations else asked.streams.get(stream)
    return None if way is None else tuple(spec.name for spec in way.specs)


def _signals(opened: Opened) -> TokenSignals:
    attempt, found, clock = opened.attempt, opened.signals, opened.clock
    segments = attempt.trajectory.segments
    return TokenSignals(
        advantages=attempt.advantages or (),
        token_advantages=(by_turn(found.advantages, segments) or ()) if found else (),
        entropy=(by_turn(found.entropy, segments) or ()) if found else (),
        reference_logprobs=(by_turn(found.reference_logprobs, segments) or ()) if found else (),
        teacher_logprobs=(by_turn(found.teacher_logprobs, segments) or ()) if found else (),
        clocks=[_seconds(turn) for turn in clock.turns] if clock else (),
    )


def _seconds(turn: TurnClock) -> Mapping[str, float]:
    return {"start": turn.start_s, "prefill": turn.prefill_s or 0.0, "decode": turn.decode_s, "tools": turn.tool_s}
