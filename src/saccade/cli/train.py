"""``saccade demo`` and ``saccade train``: a recipe from its settings to a trained checkpoint."""

from pathlib import Path

import click

from saccade.cli.running import PATH, prepare_machine, run_options, start, task_context


@click.command()
@run_options(default_out=Path("runs/demo"))
def demo(
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    accepted: tuple[str, ...],
    threads: int | None,
    quiet: bool,
) -> None:
    """Train a small model from scratch until it looks closer by itself: minutes on a CPU."""
    threads = prepare_machine(threads)
    from saccade.config.context import RecipeContext
    from saccade.train.recipe_loading import load_recipe

    context = RecipeContext(overrides=overrides, seed=seed)
    recipe = load_recipe("demo")
    start(
        recipe.function,
        context,
        target="demo",
        source=recipe.source,
        out=out,
        resume=resume,
        accepted=accepted,
        threads=threads,
        quiet=quiet,
    )


@click.command()
@click.argument("recipe", metavar="FILE.py:FUNCTION|NAME")
@click.option("--data", type=PATH, help="Your own tasks: a file or a folder.")
@click.option("--model", type=PATH, help="Checkpoint directory to start from.")
@click.option(
    "--env",
    metavar="gymnasium:ID|...",
    help="An environment to train in: gymnasium:ID, verifiers:NAME, openenv:URL, FILE.py:NAME.",
)
@click.option("--image-root", type=PATH, help="Folder that relative image paths of --data start from.")
@click.option("--max-frames", type=click.IntRange(min=1), help="Maximum frames of a video in --data, by default 32.")
@click.option("--skip-bad-rows", is_flag=True, help="Skip bad rows of --data and report how many.")
@run_options(default_out=None)
def train(
    recipe: str,
    data: Path | None,
    model: Path | None,
    env: str | None,
    image_root: Path | None,
    max_frames: int | None,
    skip_bad_rows: bool,
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    accepted: tuple[str, ...],
    threads: int | None,
    quiet: bool,
) -> None:
    """Run a recipe: a function of yours in FILE.py, or one that ships with Saccade by NAME."""
    threads = prepare_machine(threads)
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
    )
    loaded = load_recipe(recipe)
    start(
        loaded.function,
        context,
        target=recipe,
        source=loaded.source,
        out=out,
        resume=resume,
        accepted=accepted,
        threads=threads,
        quiet=quiet,
    )
