"""``saccade view`` shows runs in a browser while they train."""

from pathlib import Path

import click

from saccade.cli.running import PATH


@click.command()
@click.argument("paths", type=PATH, nargs=-1, metavar="[PATH]...")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; beyond this machine with --token-env."
)
@click.option(
    "--port", type=click.IntRange(min=0, max=65535), help="By default 7860, or a free one where that is taken."
)
@click.option("--token-env", metavar="NAME", help="Environment variable with a token that pages must bring.")
@click.option("--no-open", is_flag=True, help="Open no browser.")
def view(
    paths: tuple[Path, ...],
    host: str,
    port: int | None,
    token_env: str | None,
    no_open: bool,
) -> None:
    """Show runs, evaluations and other trainers' trajectories below each PATH (by default this folder).

    Curves and lists grow while a run trains. Files of TRL, verl, verifiers, prime-rl and inspect are shown too, and
    JSON lines of messages.
    """
    paths = paths or (Path(),)
    from saccade.viewer.app.server import serve_view, token_from

    def ready(address: str) -> None:
        click.echo(f"Viewer: {address}")
        if not no_open:
            click.launch(address)

    serve_view(paths, host=host, port=port, token=token_from(token_env), on_ready=ready)
