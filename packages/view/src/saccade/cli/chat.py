"""``saccade chat``: your own pictures and questions to a policy, followed live in a browser and kept as a run."""

import contextlib
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.characters import shell_words
from saccade.cli import options
from saccade.cli.machine import existing, open_in_browser, telling_of_waits
from saccade.cli.options import PATH
from saccade.cli.shown import printable
from saccade.cli.unread_options import refuse_unread
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.recipes.evaluation_settings import ServedModel


@click.command()
@click.argument("model", metavar="CHECKPOINT|URL")
@options.server_model
@click.option(
    "--picture", "pictures", type=PATH, multiple=True, help="A picture to begin with, beside uploads. Repeatable."
)
@click.option("--protocol", type=options.PROTOCOL, help="Protocol to begin with, by default the recorded one.")
@options.agent_tools
@options.allow
@click.option("--turns", type=click.IntRange(min=1), help="Override the number of turns.")
@click.option(
    "--temperature",
    type=click.FloatRange(0, 2),
    default=0.7,
    show_default=True,
    help="Sampling temperature; the page can change it.",
)
@click.option("--out", type=PATH, help="Directory of the run, by default runs/chat-DATE; an existing one is continued.")
@options.page_options
@options.overrides
@options.threads
def chat(
    model: str,
    server_model: str | None,
    pictures: tuple[Path, ...],
    protocol: str | None,
    tools: tuple[str, ...],
    allowed: tuple[str, ...],
    turns: int | None,
    temperature: float,
    out: Path | None,
    host: str,
    port: int | None,
    token_env: str | None,
    no_open: bool,
    overrides: tuple[str, ...],
) -> None:
    """Ask a checkpoint, or a model at an OpenAI-compatible server, about pictures of your own.

    Tokens, calls and crops appear as they come; stop, edit a turn and go on from there, or sample several at once. The
    chat is saved as a run that `saccade view` opens.
    """
    policy_at = _policy_at(model, server_model)
    with telling_of_waits("starting"):
        from saccade.engines.local import local_engine
        from saccade.playground.routes import PlaygroundOffer
        from saccade.playground.serving import Playground, picture_bytes, serve_playground
        from saccade.recipes.serving import served_policy
        from saccade.viewer.app.door import token_from

    token = token_from(token_env)
    for picture in pictures:
        picture_bytes(picture)
    with telling_of_waits("starting"):
        policy = served_policy(
            policy_at,
            local_engine,
            protocol=protocol,
            tools=[tool.strip() for text in tools for tool in text.split(",")],
            turns=turns,
            temperature=temperature,
            overrides=overrides,
            offers_all=True,
            allowed=allowed,
        )
    click.echo(printable(f"saccade: {policy.in_words}"), err=True)
    kept = out or Path("runs") / f"chat-{datetime.now():%Y%m%d-%H%M%S}"

    def ready(address: str) -> None:
        click.echo(f"Chat: {address}")
        click.echo(f"saccade: kept in {kept}; later: saccade view {shell_words(kept)}", err=True)
        if not no_open:
            open_in_browser(address)

    playground = Playground(
        agent=policy.agent,
        media=policy.media,
        offer=PlaygroundOffer(
            model=server_model or Path(model).name, protocols=policy.protocols, usual=policy.episodes.protocol.name
        ),
        how=policy.in_words,
        checkpoint=policy_at if isinstance(policy_at, Path) else None,
        out=kept,
        pictures=pictures,
        command=("saccade", *sys.argv[1:]),
    )
    with contextlib.ExitStack() as entered:
        for resource in policy.resources:
            entered.enter_context(resource)
        serve_playground(playground, host=host, port=port, token=token, on_ready=ready)


def _policy_at(model: str, server_model: str | None) -> "Path | ServedModel":
    if model.startswith(("http://", "https://")):
        if not server_model:
            raise UserError(f"{model} needs --server-model NAME, one of those that {model}/models lists")
        from saccade.recipes.evaluation_settings import ServedModel

        return ServedModel(url=model, name=server_model)
    refuse_unread("on a checkpoint", "server_model")
    path = existing("--model", Path(model))
    assert path is not None
    return path
