"""Trajectories of a recorded run: ``saccade show`` explains their rewards."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.options import PATH
from saccade.cli.unread_options import refuse_unread

if TYPE_CHECKING:
    from saccade.types import Attempt


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN_DIR")
@click.option("--stage", metavar="NAME", help="A stage of training or an evaluation; by default the last training.")
@click.option("--step", type=click.IntRange(min=1), help="A step of training; by default the last one.")
@click.option(
    "--worst", type=click.IntRange(min=1), default=5, show_default=True, help="Number of lowest rewards to show."
)
@click.option("--best", type=click.IntRange(min=1), help="Show so many of the highest rewards instead.")
@click.option("--id", "task_id", metavar="TASK", help="All trajectories of this question instead.")
@options.as_json
def show(
    run_directory: Path,
    stage: str | None,
    step: int | None,
    worst: int,
    best: int | None,
    task_id: str | None,
    as_json: bool,
) -> None:
    """Explain rewards: turns, every term with value and weight, the group and the advantage."""
    from saccade.runs.records import read_records
    from saccade.runs.runinfo import RunPaths
    from saccade.viewer.explained import by_reward, chosen_file, explanation, groups_of, overview, recorded_files

    if task_id is not None:
        refuse_unread("with --id, which shows all trajectories of a question", "worst", "best")
    if best is not None:
        refuse_unread("with --best", "worst")
    files = recorded_files(RunPaths(root=run_directory))
    file = chosen_file(files, stage=stage, step=step, task_id=task_id)
    groups = groups_of(list(read_records(file.path)))
    if task_id is None:
        chosen = by_reward(groups, best or worst, is_highest=best is not None)
    else:
        chosen = [(one, group) for group in groups for one in group.attempts if one.task.id == task_id]
    if as_json:
        rows = [_as_json(attempt, group.totals) for attempt, group in chosen]
        where = {"stage": file.position.stage, "step": None if file.is_evaluation else file.position.step}
        click.echo(json.dumps({**where, "trajectories": rows}, indent=1))
        return
    click.echo(overview(file, groups))
    if task_id is None:
        which = "lowest" if best is None else "highest"
        click.echo(f"the {len(chosen) if len(chosen) > 1 else 'one'} with the {which} reward:")
    for attempt, group in chosen:
        click.echo()
        click.echo(explanation(attempt, group, is_evaluation=file.is_evaluation))


def _as_json(attempt: "Attempt", group_totals: list[float]) -> dict[str, object]:
    from saccade.rewards.evidence import evidence_of
    from saccade.viewer.outcomes import turn_outcome

    task, trajectory, score = attempt.task, attempt.trajectory, attempt.trajectory.score
    evidence = evidence_of(task, trajectory)
    terms = () if score is None else score.terms
    return {
        "task": task.id,
        "stream": trajectory.stream,
        "sample": trajectory.sample,
        "question": task.question,
        "expected": task.answer,
        "answered": trajectory.answer,
        "status": trajectory.status,
        "failure": trajectory.failure,
        "turns": [{"text": turn.text, "outcome": " ".join(turn_outcome(turn)).strip()} for turn in trajectory.turns],
        "evidence": None
        if evidence is None
        else {
            "calls": [{**asdict(call), "is_faithful": call.is_faithful} for call in evidence.calls],
            "fit": evidence.fit and asdict(evidence.fit),
            "is_faithful": evidence.is_faithful,
        },
        "terms": [{**asdict(term), "adds": term.contribution} for term in terms],
        "reward": None if score is None else score.total,
        "right": None if score is None else score.is_right,
        "notes": {} if score is None else dict(score.notes),
        "group_rewards": group_totals,
        "advantages": attempt.advantages,
    }
