"""``saccade serve-agent``: a policy with its tools behind the chat interface of OpenAI's clients."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.machine import existing, telling_of_waits
from saccade.cli.options import PATH, served_or_none
from saccade.cli.shown import printable

if TYPE_CHECKING:
    from typing import Literal


@click.command("serve-agent")
@click.option("--model", type=PATH, help="Checkpoint directory of the policy.")
@click.option("--server", metavar="URL", help="Or: a server of the policy alone (vLLM, SGLang, a cloud).")
@options.server_model
@click.option("--protocol", type=options.PROTOCOL, help="Protocol, by default the recorded one.")
@options.agent_tools
@options.allow
@click.option("--turns", type=click.IntRange(min=1), help="Override the number of turns.")
@click.option(
    "--temperature",
    type=click.FloatRange(0, 2),
    default=0.0,
    show_default=True,
    help="Temperature of requests that give none.",
)
@click.option("--name", default="saccade", show_default=True, help="Name that requests give as model.")
@click.option(
    "--reply",
    type=click.Choice(["answer", "transcript"]),
    default="answer",
    show_default=True,
    help="Reply with the final answer alone, or with all turns and tool results.",
)
@options.listening_options(8403)
@click.option(
    "--queue",
    type=click.IntRange(min=1),
    default=512,
    show_default=True,
    help="Maximum open episodes; requests beyond that get 429.",
)
@click.option("--https", "allows_https", is_flag=True, help="Fetch pictures that are named by https addresses.")
@click.option("--traces", type=click.IntRange(min=0), default=256, show_default=True, help="Requests kept for /traces.")
@options.token_env
@options.overrides
@options.threads
def serve_agent(
    model: Path | None,
    server: str | None,
    server_model: str | None,
    protocol: str | None,
    tools: tuple[str, ...],
    allowed: tuple[str, ...],
    turns: int | None,
    temperature: float,
    name: str,
    reply: "Literal['answer', 'transcript']",
    host: str,
    port: int,
    queue: int,
    allows_https: bool,
    traces: int,
    token_env: str,
    overrides: tuple[str, ...],
) -> None:
    """Serve a policy with its whole tool loop as /v1/chat/completions until SIGTERM; each request is an episode."""
    at_server = served_or_none(model, server, server_model) or ("", "")
    path = existing("--model", model)
    from saccade.services.http.listening import check_reach, listening
    from saccade.serving.settings import AgentServerSettings

    settings = AgentServerSettings(
        host=host, port=port, name=name, reply=reply, queue=queue, allows_https=allows_https, traces=traces
    )
    token = os.environ.get(token_env) or None
    check_reach(host, token, variable=token_env)
    # Before the model is loaded, which takes longer than to find the port taken.
    with listening(host, port) as listener, contextlib.ExitStack() as entered:
        with telling_of_waits("starting"):
            from saccade.engines.local import local_engine
            from saccade.recipes.evaluation_settings import ServedModel
            from saccade.recipes.serving import served_policy
            from saccade.serving.server import serve_agent as serve

            given = [tool.strip() for text in tools for tool in text.split(",")]
            policy_at = path if path is not None else ServedModel(url=at_server[0], name=at_server[1])
            policy = served_policy(
                policy_at,
                local_engine,
                protocol=protocol,
                tools=given,
                turns=turns,
                temperature=temperature,
                overrides=overrides,
                allowed=allowed,
            )
            click.echo(printable(f"saccade: {policy.in_words}"), err=True)
            for resource in policy.resources:
                entered.enter_context(resource)
        serve(policy.agent, settings, media=policy.media, tool_names=policy.tool_names, token=token, listener=listener)
