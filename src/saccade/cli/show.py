"""``saccade show``: why a trajectory of a run got its reward."""

from pathlib import Path

import click

from saccade.cli.running import PATH


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN_DIR")
@click.option("--stage", metavar="NAME", help="A stage of training or an evaluation; by default the last training.")
@click.option("--step", type=click.IntRange(min=1), help="A step of training; by default the last one.")
@click.option("--worst", type=click.IntRange(min=1), default=5, show_default=True, help="So many lowest rewards.")
@click.option("--id", "task_id", metavar="TASK", help="All trajectories of this question instead.")
def show(run_directory: Path, stage: str | None, step: int | None, worst: int, task_id: str | None) -> None:
    """Explain rewards: turns, every term with value and weight, the group and the advantage."""
    from saccade.runs.records import read_records
    from saccade.runs.runinfo import RunPaths
    from saccade.viewer.explained import chosen_file, explained, groups_of, lowest_rewards, overview, recorded_files

    files = recorded_files(RunPaths(root=run_directory))
    file = chosen_file(files, stage=stage, step=step, task_id=task_id)
    groups = groups_of(list(read_records(file.path)))
    click.echo(overview(file, groups))
    if task_id is None:
        chosen = lowest_rewards(groups, worst)
        click.echo(
            f"the {len(chosen)} with the lowest reward:" if len(chosen) > 1 else "the one with the lowest reward:"
        )
    else:
        chosen = [(one, group) for group in groups for one in group.attempts if one.task.id == task_id]
    for attempt, group in chosen:
        click.echo()
        click.echo(explained(attempt, group, is_evaluation=file.is_evaluation))
