"""``saccade serve``: tools over HTTP, with resident models."""

import os
from pathlib import Path

import click

from saccade.cli.running import PATH, prepare_machine
from saccade.types import Json


@click.command()
@click.argument("tools_file", type=PATH, metavar="TOOLS.toml")
@click.option("--host", help="Address to listen on, by default 127.0.0.1. Beyond loopback a token is needed.")
@click.option("--port", type=click.IntRange(0, 65_535), help="By default 8400; 0 takes one that is free.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes that the light tools share, by default 1.")
@click.option(
    "--token-env", default="SACCADE_TOKEN", show_default=True, help="Variable with the token that callers must bring."
)
@click.option("--log", type=click.Choice(["calls", "events"]), help="What is logged, as JSON lines on stderr.")
@click.option("--ray", is_flag=True, help="As a Ray Serve deployment: replicas on a cluster, shares of GPUs.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads of each worker, by default 1.")
def serve(
    tools_file: Path,
    host: str | None,
    port: int | None,
    workers: int | None,
    token_env: str,
    log: str | None,
    ray: bool,
    threads: int | None,
) -> None:
    """Serve the tools of a configuration over HTTP until SIGTERM.

    Options go before what [server] in the file says.
    """
    prepare_machine(threads)
    from saccade.services.settings import serving_of
    from saccade.tools.catalogue.settings import read_tools_file

    given: dict[str, Json] = {"host": host, "port": port, "workers": workers, "log": log}
    serving = serving_of(read_tools_file(tools_file), {key: value for key, value in given.items() if value is not None})
    token = os.environ.get(token_env) or None
    if ray:
        from saccade.interop.ray_serve import serve_on_ray

        serve_on_ray(serving, token)
    else:
        from saccade.services.http.server import serve as serve_here

        serve_here(serving, token)
