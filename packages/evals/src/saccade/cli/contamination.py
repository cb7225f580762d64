"""``saccade contamination``: what test questions share with training data, with both pictures of every pair."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.machine import existing, log_to_stderr
from saccade.cli.options import PATH
from saccade.errors import UserError
from saccade.strict_json import strict_json

if TYPE_CHECKING:
    from saccade.evaluation.contamination import Contamination
    from saccade.media.store import MediaStore

MAX_SHOWN = 500
"""Pairs whose pictures stand on the page; the JSON has all."""


@click.command()
@click.argument("train", type=PATH)
@click.argument("test", type=PATH)
@options.out_option("Folder for pairs.json and pairs.html with both pictures.")
@click.option("--image-root", type=PATH, help="Folder that relative image paths start from.")
@click.option(
    "--distance",
    type=click.IntRange(0, 64),
    default=32,
    show_default=True,
    help="Bits of the hash's 256 that may differ.",
)
@click.option("--skip-bad-rows", is_flag=True, help="Skip bad rows and report how many.")
@options.tells_of_waits
def contamination(
    train: Path, test: Path, out: Path, image_root: Path | None, distance: int, skip_bad_rows: bool
) -> None:
    """Find test questions in training data: by pixels, by a perceptual hash after cutting borders off, by words.

    TRAIN and TEST are files or folders of tasks, as --data of the other commands.
    """
    log_to_stderr(is_quiet=True)
    from saccade.atomic import disk_errors, write_text_atomic
    from saccade.config.context import RecipeContext, read_own_tasks
    from saccade.evaluation.contamination import contamination as compared
    from saccade.tasks.sources import measured_part

    for name, path in (("TRAIN", train), ("TEST", test)):
        existing(name, path)
    if out.exists() and any(out.iterdir()):
        raise UserError(f"--out {out} is not empty; choose another folder")
    context = RecipeContext(image_root=existing("--image-root", image_root), skip_bad_rows=skip_bad_rows)
    trained = read_own_tasks(train, context)
    tested = read_own_tasks(test, context, split=measured_part(test))
    found = compared(trained, tested, media=context.media, max_distance=distance)
    with disk_errors(out):
        (out / "pictures").mkdir(parents=True, exist_ok=True)
    write_text_atomic(out / "pairs.json", strict_json(found.as_json(), indent=2) + "\n")
    write_text_atomic(out / "pairs.html", _page(found, context.media, out))
    click.echo(found.describe())
    click.echo(f"Pairs: {out / 'pairs.html'}")


def _page(found: "Contamination", media: "MediaStore", out: Path) -> str:
    """Both pictures of each pair side by side; names are hashes and numbers are ours, so nothing needs escaping."""
    rows = []
    for pair in found.pairs[:MAX_SHOWN]:
        for image in (pair.test, pair.train):
            media.export(image, out / "pictures")
        how = "identical" if pair.is_identical else f"{pair.distance} of 256 bits differ"
        cells = "".join(
            f'<td><img src="pictures/{image.hash}.png" alt="{what}" loading="lazy"><br>{what}, '
            f"{image.width} x {image.height}</td>"
            for what, image in (("test", pair.test), ("training", pair.train))
        )
        rows.append(f"<tr>{cells}<td>{how}</td></tr>")
    lines = "".join(f"<p>{line}</p>" for line in found.describe().splitlines())
    more = f"<p>The first {MAX_SHOWN} of {len(found.pairs):,} pairs.</p>" if len(found.pairs) > MAX_SHOWN else ""
    style = "body{font:15px sans-serif;margin:2em}img{max-width:360px;max-height:270px}td{padding:8px}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Contamination</title><style>{style}</style>'
        f"<h1>Contamination</h1>{lines}{more}<table>{''.join(rows)}</table></html>\n"
    )
