"""``saccade verifier``: is a reward open to known hacks, and does a verifier agree with ground truth?"""

from pathlib import Path

import click

from saccade.cli.running import PATH, existing, prepare_machine, task_context
from saccade.types import Task


@click.group()
def verifier() -> None:
    """Check a reward before it trains a model."""


@verifier.command()
@click.argument("reward", metavar="[FILE.py:NAME]", required=False)
@click.option("--data", type=PATH, help="Your own tasks with boxes: a file or a folder. By default tasks are drawn.")
@click.option("--image-root", type=PATH, help="Folder in which relative image paths of --data begin.")
@click.option("--skip-bad-rows", is_flag=True, help="Leave bad rows of --data out and say how many.")
@click.option("-n", "--n", "count", type=click.IntRange(min=1), default=16, show_default=True, help="Number of tasks.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads, by default 1.")
def hacks(
    reward: str | None,
    data: Path | None,
    image_root: Path | None,
    skip_bad_rows: bool,
    count: int,
    seed: int,
    threads: int | None,
) -> int:
    """Play the known hacks against a reward of yours, by default Argos' with exact regions; status 1 if any pays."""
    prepare_machine(threads)
    from saccade.rewards.argos import ArgosReward, ExactRegions, Verifier
    from saccade.rewards.hack_check import check_verifier
    from saccade.rewards.reward import own_reward

    exact = ArgosReward(verifier=Verifier(regions=ExactRegions()), reasoning_weight=0.0)
    played = exact if reward is None else own_reward(reward)
    report = check_verifier(played, asked_tasks(data, image_root, skip_bad_rows, count, seed))
    click.echo(report.describe())
    return int(bool(report.paying))


def asked_tasks(
    data: Path | None, image_root: Path | None, skip_bad_rows: bool, count: int, seed: int
) -> tuple[Task, ...]:
    """The user's own tasks, or drawn ones."""
    from saccade.config.context import read_own_tasks
    from saccade.rewards.hack_check import drawn_tasks

    path = existing("--data", data)
    if path is None:
        return tuple(drawn_tasks(count, seed=seed))
    context = task_context(
        data=path, model=None, overrides=(), seed=seed, skip_bad_rows=skip_bad_rows, image_root=image_root
    )
    return read_own_tasks(path, context)[:count]
