"""``saccade verifier``: is a reward open to known hacks, and does a verifier agree with ground truth?"""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.machine import existing
from saccade.cli.options import PATH
from saccade.cli.running import task_context
from saccade.cli.unread_options import refuse_unread
from saccade.errors import UserError
from saccade.strict_json import strict_json
from saccade.types import Task

if TYPE_CHECKING:
    from saccade.media.store import MediaStore
    from saccade.rewards.argos import Verifier


@click.group()
def verifier() -> None:
    """Check a reward before it trains a model."""


@verifier.command()
@click.argument("reward", metavar="[FILE.py:NAME]", required=False)
@click.option("--data", type=PATH, help="Your own tasks with boxes: a file or a folder. By default tasks are drawn.")
@options.image_root
@options.skip_bad_rows
@click.option("-n", "--n", "count", type=click.IntRange(min=1), default=16, show_default=True, help="Number of tasks.")
@options.seed
@options.threads
@options.tells_of_waits
def hacks(
    reward: str | None, data: Path | None, image_root: Path | None, skip_bad_rows: bool, count: int, seed: int
) -> int:
    """Test a reward, by default Argos' with exact regions and Lang2Act's, against the known hacks; exit status 1 if any
    pays."""
    from saccade.miniature.reading import TOOLS
    from saccade.miniature.video_facts import DrawnVideos
    from saccade.protocols import LinguisticToolbox
    from saccade.protocols.toolchain import toolchain_protocol
    from saccade.rewards.argos import ArgosReward, ExactRegions, Verifier
    from saccade.rewards.chain_hacks import chain_hacks
    from saccade.rewards.hack_check import check_verifier, drawn_videos
    from saccade.rewards.lang2act import Lang2ActReward
    from saccade.rewards.reward import own_reward
    from saccade.rewards.video_hacks import VIDEO_HACKS

    exact = ArgosReward(verifier=Verifier(regions=ExactRegions(), video=DrawnVideos()), reasoning_weight=0.0)
    played = exact if reward is None else own_reward(reward)
    tasks, _ = asked_tasks(data, image_root, skip_bad_rows, count, seed)
    reports = {"Argos on pictures": check_verifier(played, tasks)}
    if reward is None and data is None:
        reports["Argos on videos"] = check_verifier(exact, drawn_videos(4, seed=seed), hacks=VIDEO_HACKS)
        toolbox = LinguisticToolbox(tuple(TOOLS.values()))
        chains = Lang2ActReward(toolbox=toolbox)
        protocol = toolchain_protocol(toolbox=toolbox, style="brief")
        reports["Lang2Act"] = check_verifier(chains, tasks, hacks=chain_hacks(toolbox), protocol=protocol)
    texts = [f"{name}\n{one.describe()}" if len(reports) > 1 else one.describe() for name, one in reports.items()]
    click.echo("\n\n".join(texts))
    return int(any(one.paying for one in reports.values()))


@verifier.command()
@click.option("--data", type=PATH, help="Your own tasks with boxes: a file or a folder. By default tasks are drawn.")
@options.image_root
@options.skip_bad_rows
@click.option("-n", "--n", "count", type=click.IntRange(min=1), default=64, show_default=True, help="Number of tasks.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="The verifier's back ends, as detector=DIR segmenter=DIR, or service=URL service_models=NAME. Repeatable.",
)
@click.option(
    "--wrong",
    "shares",
    type=click.FloatRange(0, 1),
    multiple=True,
    help="Or: exact regions, this share of them wrong; by default 0, 0.1 and 0.3. Repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@options.seed
@options.threads
@options.tells_of_waits
def agreement(
    data: Path | None,
    image_root: Path | None,
    skip_bad_rows: bool,
    count: int,
    overrides: tuple[str, ...],
    shares: tuple[float, ...],
    as_json: bool,
    seed: int,
) -> None:
    """Compare a verifier's verdicts on points, and its scores, with exact regions."""
    if overrides and shares:
        raise UserError("--set names a verifier's models and --wrong takes exact regions; give one of them")
    from saccade.rewards.argos import ExactRegions, NoisyRegions, Verifier
    from saccade.rewards.argos.ground_truth import agreement_with_truth

    tasks, media = asked_tasks(data, image_root, skip_bad_rows, count, seed)
    with ExitStack() as opened:
        if overrides:
            compared = {"models": _verifier_of(overrides, media, seed, opened)}
        else:
            compared = {
                f"{share:g} wrong": Verifier(regions=NoisyRegions(inner=ExactRegions(), share=share, seed=seed))
                for share in shares or (0.0, 0.1, 0.3)
            }
        for name, one in compared.items():
            found = agreement_with_truth(one, tasks, seed=seed)
            click.echo(strict_json({"verifier": name, **found.to_json()}) if as_json else f"{name}: {found.describe()}")


def _verifier_of(overrides: tuple[str, ...], media: "MediaStore", seed: int, opened: ExitStack) -> "Verifier":
    from saccade.config import apply_overrides
    from saccade.recipes.argos_back_end_settings import BackEndSettings
    from saccade.recipes.argos_back_ends import back_ends
    from saccade.rewards.argos import VerifierForms
    from saccade.rewards.judges import JudgeSettings
    from saccade.rollout.conversation import ORIGINAL_VIEW

    settings = apply_overrides(BackEndSettings(), overrides)
    judge = JudgeSettings(kind="none")
    ends = back_ends(settings, judge, VerifierForms(), media=media, view=ORIGINAL_VIEW, seed=seed, group="")
    if not settings.finds:
        raise UserError("no model is set that finds regions; set detector and segmenter, or service, by --set")
    for resource in ends.resources:
        opened.enter_context(resource)
    return ends.verifier


def asked_tasks(
    data: Path | None, image_root: Path | None, skip_bad_rows: bool, count: int, seed: int
) -> "tuple[tuple[Task, ...], MediaStore]":
    """The user's own tasks with boxes, or drawn ones, and the store of their pictures."""
    from saccade.config.context import read_own_tasks
    from saccade.media.store import MediaStore
    from saccade.rewards.hack_check import drawn_tasks

    path = existing("--data", data)
    if path is None:
        refuse_unread("without --data", "image_root", "skip_bad_rows")
        media = MediaStore()
        return tuple(drawn_tasks(count, seed=seed, media=media)), media
    context = task_context(
        data=path, model=None, overrides=(), seed=seed, skip_bad_rows=skip_bad_rows, image_root=image_root
    )
    rows = read_own_tasks(path, context)
    # Where none has any, the check itself says so.
    known = [row for row in rows if row.targets] or rows
    if len(known) < len(rows):
        click.echo(f"{len(rows) - len(known)} of {len(rows)} rows have no boxes and are left out", err=True)
    return tuple(known[:count]), context.media
