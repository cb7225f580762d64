"""``saccade serve``, ``saccade mcp`` and ``saccade openenv``: tools and the environment for other programs."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.machine import log_to_stderr
from saccade.cli.options import PATH
from saccade.cli.shown import printable
from saccade.cli.unread_options import refuse_unread
from saccade.errors import UserError
from saccade.types import Json

if TYPE_CHECKING:
    from saccade.tools.tool import Tool


@click.command()
@click.argument("tools_file", type=PATH, metavar="TOOLS.toml")
@click.option("--host", help="Address to listen on, by default 127.0.0.1. A non-loopback one needs a token.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port, by default 8400; 0 picks a free one.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes that the light tools share, by default 1.")
@options.token_env
@click.option("--log", type=click.Choice(["calls", "events"]), help="What to log, as JSON lines on stderr.")
@click.option("--ray", is_flag=True, help="Run as a Ray Serve deployment: replicas on a cluster, shares of GPUs.")
@options.threads_option(of=" of each worker")
def serve(
    tools_file: Path,
    host: str | None,
    port: int | None,
    workers: int | None,
    token_env: str,
    log: str | None,
    ray: bool,
) -> None:
    """Serve the tools of a configuration over HTTP until SIGTERM.

    Options override [server] in the file.
    """
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


PORT = click.IntRange(1, 65_535)


@click.command()
@click.argument("tools_file", type=PATH, metavar="[TOOLS.toml]", required=False)
@click.option("--http", is_flag=True, help="Serve over HTTP at /mcp instead of standard input and output.")
@options.listening_options(8401, of="With --http: ")
@options.token_env
@click.option(
    "--images", "folders", type=PATH, multiple=True, help="Folder from which pictures may be named by path. Repeatable."
)
@options.threads
def mcp(tools_file: Path | None, http: bool, host: str, port: int, token_env: str, folders: tuple[Path, ...]) -> None:
    """Offer tools to any client of the Model Context Protocol: those of a configuration, or the image tools."""
    if not http:
        refuse_unread("without --http", "host", "port", "token_env")
    tools = _tools(tools_file)
    from saccade.interop.mcp.images import ReceivedImages
    from saccade.interop.mcp.server import mcp_server
    from saccade.interop.mcp.serving import MCP_PATH, serve_http, serve_stdio

    server = mcp_server(tools, images=ReceivedImages(folders=folders))
    # The end of serving, by Ctrl-C or SIGTERM, is no failure.
    with contextlib.suppress(KeyboardInterrupt):
        if http:
            click.echo(f"saccade: {len(tools)} tools at http://{host}:{port}{MCP_PATH}", err=True)
            serve_http(server, host=host, port=port, token=os.environ.get(token_env) or None)
        else:
            serve_stdio(server)


@click.command()
@options.family_option("Tasks of a procedural family.")
@click.option("--data", type=PATH, help="Or: your own tasks, a file or a folder.")
@click.option("--tools", "tools_file", type=PATH, help="Configuration of the tools, by default the image tools.")
@options.listening_options(8402, host_help="Address to listen on. A non-loopback one needs a token.")
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    help="Name under which clients reach the server, as in a cluster. Repeatable.",
)
@options.token_env
@click.option(
    "--sessions", type=click.IntRange(min=1), default=64, show_default=True, help="Maximum concurrent episodes."
)
@click.option("--max-turns", type=click.IntRange(min=1), default=6, show_default=True)
@click.option("--split", type=click.Choice(["train", "validation", "held_out"]), default="train", show_default=True)
@click.option(
    "--difficulty",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Difficulty of the family's tasks.",
)
@options.seed
@options.skip_bad_rows
@options.threads
def openenv(
    family: str | None,
    data: Path | None,
    tools_file: Path | None,
    host: str,
    port: int,
    allow_hosts: tuple[str, ...],
    token_env: str,
    sessions: int,
    max_turns: int,
    split: str,
    difficulty: float,
    seed: int,
    skip_bad_rows: bool,
) -> None:
    """Serve our environment to trainers that speak OpenEnv; each connection is an episode of its own."""
    if (data is None) == (family is None):
        raise UserError("give either --data PATH or --family NAME, so that there is something to ask")
    if data is None:
        refuse_unread("without --data", "skip_bad_rows")
    else:
        refuse_unread("with --data", "split", "difficulty")
    from saccade.interop.openenv.server import openenv_app, serve
    from saccade.services.http.listening import check_reach

    token = os.environ.get(token_env) or None
    check_reach(host, token, variable=token_env)
    tools = _tools(tools_file)
    from saccade.cli.running import task_context
    from saccade.config.context import read_own_tasks

    log_to_stderr(is_quiet=False)
    context = task_context(data=data, model=None, overrides=(), seed=seed, skip_bad_rows=skip_bad_rows)
    tasks = () if context.data is None else read_own_tasks(context.data, context)
    app = openenv_app(
        family=family,
        tasks=tasks,
        media=context.media,
        split=split,
        seed=seed,
        difficulty=difficulty,
        tools=tools,
        max_turns=max_turns,
        max_sessions=sessions,
    )
    click.echo(f"saccade: environment at http://{host}:{port}", err=True)
    with contextlib.suppress(KeyboardInterrupt):
        serve(app, host=host, port=port, allow_hosts=allow_hosts, token=token)


def _tools(tools_file: Path | None) -> "tuple[Tool, ...]":
    """Those that can be made; why the others are left out goes to standard error."""
    if tools_file is None:
        from saccade.tools.images import IMAGE_TOOLS

        return IMAGE_TOOLS
    from saccade.tools.catalogue.catalogue import toolset
    from saccade.tools.catalogue.settings import read_tools_file

    tools = toolset(read_tools_file(tools_file))
    for name, why in tools.left_out.items():
        click.echo(printable(f"saccade: {name} is left out: {why}"), err=True)
    if not tools.ready:
        raise UserError(f"no tool of {tools_file} can be made; the lines above say why")
    return tools.ready
