"""``saccade demo`` and ``saccade train``: a recipe from its settings to a trained checkpoint."""

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from saccade.characters import shell_words
from saccade.cli import completion, options
from saccade.cli.config_option import preset_option
from saccade.cli.options import PATH
from saccade.cli.run_options import RunOptions, run_options
from saccade.cli.running import start, task_context
from saccade.errors import UserError
from saccade.own_code import own_file

if TYPE_CHECKING:
    from saccade.config.context import RecipeContext
    from saccade.train.plan import Plan
    from saccade.types import AnswerKind

logger = logging.getLogger(__name__)


@click.command()
@run_options(default_out=Path("runs/demo"))
def demo(seed: int, overrides: tuple[str, ...], **run: Unpack[RunOptions]) -> None:
    """Train a small model from scratch until it looks closer by itself: minutes on a CPU."""
    from saccade.config.context import RecipeContext
    from saccade.train.recipe_loading import load_recipe

    context = RecipeContext(overrides=overrides, seed=seed)
    recipe = load_recipe("demo")
    start(recipe.function, context, target="demo", source=recipe.source, **run)


class FileFirst(click.Command):
    """A command whose first argument may be a file of settings in the place of ``--config FILE``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_file = bool(args) and args[0].lower().endswith((".yaml", ".yml"))
        try:
            return super().parse_args(ctx, ["--config", *args] if is_file else args)
        except click.MissingParameter as error:
            if not is_file or error.param is None or error.param.name != "recipe":
                raise
            raise UserError(
                f"{args[0]} names no recipe: write `run: {{recipe: NAME}}` into it, or saccade train NAME --config "
                f"{shell_words(args[0])}; saccade settings NAME --yaml writes a whole file, saccade recipes lists NAMEs"
            ) from None


@click.command(cls=FileFirst)
@click.argument("recipe", metavar="FILE.py:FUNCTION|NAME|FILE.yaml", shell_complete=completion.recipe_items)
@options.data
@click.option("--model", type=PATH, help="Checkpoint directory to start from.")
@preset_option
@click.option(
    "--env",
    metavar="gymnasium:ID|...",
    help="An environment to train in: gymnasium:ID, verifiers:NAME, openenv:URL, FILE.py:NAME.",
)
@options.split
@options.held_out
@options.image_root
@options.max_frames
@options.row_options
@options.skip_bad_rows
@run_options(default_out=None)
def train(
    recipe: str,
    data: Path | None,
    model: Path | None,
    env: str | None,
    split: str | None,
    held_out: Path | None,
    image_root: Path | None,
    max_frames: int | None,
    answer_kind: "AnswerKind | None",
    box_frame: str | None,
    min_iou: float | None,
    skip_bad_rows: bool,
    seed: int,
    overrides: tuple[str, ...],
    **run: Unpack[RunOptions],
) -> None:
    """Run a recipe: a function of yours in FILE.py, or one that ships with Saccade by NAME; or the one of FILE.yaml."""
    from saccade.train.recipe_loading import load_recipe

    context = task_context(
        data=data,
        model=model,
        overrides=overrides,
        seed=seed,
        skip_bad_rows=skip_bad_rows,
        image_root=image_root,
        max_frames=max_frames,
        env=env,
        answer_kind=answer_kind,
        box_frame=box_frame,
        min_iou=min_iou,
        split=split,
        held_out=held_out,
    )
    loaded = load_recipe(recipe)
    start(partial(_plan_of, loaded.function, recipe), context, target=recipe, source=loaded.source, **run)


def _plan_of(function: "Callable[[RecipeContext], Plan]", name: str, context: "RecipeContext") -> "Plan":
    """The recipe's plan. UserError for options that it never reads; a warning where it is the user's own."""
    from saccade.config.context import WatchedContext

    watched = WatchedContext.of(context)
    plan = function(watched)
    if not (unread := watched.unread):
        return plan
    options, it = " and ".join(unread), "it" if len(unread) == 1 else "them"
    if own_file(name):
        # It may read them later, when its stages run.
        logger.warning("%s without effect, unless %s reads %s when its stages run", options, name, it)
        return plan
    raise UserError(
        f"{options} would have no effect: the recipe {name} does not read {it}; leave {it} out (saccade recipes says "
        "what each one reads)"
    )
