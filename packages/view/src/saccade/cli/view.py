"""``saccade view`` shows runs in a browser while they train."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.machine import open_in_browser
from saccade.cli.options import PATH
from saccade.cli.unread_options import refuse_unread
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.viewer.store.field_map import FieldMap


@click.command()
@click.argument("paths", type=PATH, nargs=-1, metavar="[PATH]...")
@options.page_options
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="NAME=KEY",
    help="Fields of JSON lines of messages: messages=talk, reward=score, id=uid, images=pics, right=ok. Repeatable.",
)
@click.option(
    "--checkpoint",
    type=PATH,
    metavar="DIR",
    help="The model of runs that keep no checkpoint, an evaluation say: prompts as sent, pictures as it saw them.",
)
@click.option("--export", type=PATH, metavar="OUT.html", help="Write one file that needs no server instead.")
@click.option(
    "--filter",
    "query",
    default="",
    metavar="QUERY",
    help="Trajectories that --export writes, as in a list's address: right=0&stage=rl.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1, max=500),
    default=200,
    show_default=True,
    help="Maximum number of trajectories that --export writes.",
)
def view(
    paths: tuple[Path, ...],
    host: str,
    port: int | None,
    token_env: str | None,
    no_open: bool,
    fields: tuple[str, ...],
    checkpoint: Path | None,
    export: Path | None,
    query: str,
    limit: int,
) -> None:
    """Show runs, evaluations and other trainers' trajectories below each PATH (by default this folder).

    Curves and lists grow while a run trains. Files of TRL, Trackio, verl, EasyR1, LLaMA-Factory, ms-swift, verifiers,
    prime-rl, inspect, VLMEvalKit and lmms-eval are shown too, and messages in JSON; they are known by what they hold.
    """
    paths = paths or (Path(),)
    if checkpoint is not None and not (checkpoint / "tokenizer.json").is_file():
        raise UserError(
            f"--checkpoint {checkpoint} has no tokenizer.json; give the folder of the model that was evaluated"
        )
    if export is not None:
        refuse_unread("with --export, which serves nothing", "host", "port", "token_env", "no_open")
        refuse_unread("with --export, which reads runs", "fields")
        from saccade.viewer.app.exporting import write_export

        click.echo(f"Export: {export}, {write_export(export, paths, query, limit, checkpoint=checkpoint).describe()}")
        return
    refuse_unread("without --export OUT.html, of which it says what is written", "query", "limit")
    named = _field_map(fields)
    from saccade.viewer.app.door import open_door, token_from

    door = open_door(host, port, token_from(token_env))

    def announce() -> None:
        click.echo(f"Viewer: {door.address}")
        if not no_open:
            open_in_browser(door.address)

    # Folders are looked into, whatever they hold: the browser may start while the server is imported.
    if not all(path.is_dir() for path in paths):
        from saccade.viewer.app.server import serve_view

        serve_view(paths, door=door, on_ready=announce, fields=named, checkpoint=checkpoint)
        return
    announce()
    from saccade.viewer.app.early import EarlyAnswers

    with EarlyAnswers(door) as early:
        from saccade.viewer.app.server import serve_view

        serve_view(paths, door=door, early=early, fields=named, checkpoint=checkpoint)


def _field_map(pairs: tuple[str, ...]) -> "FieldMap":
    from saccade.viewer.store.field_map import FieldMap

    if wrong := next((pair for pair in pairs if "=" not in pair), None):
        raise UserError(f"--field {wrong!r} is no NAME=KEY, such as messages=conversation")
    return FieldMap.read(dict(pair.split("=", 1) for pair in pairs))
