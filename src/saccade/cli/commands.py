"""The commands by name, each imported when it is asked for."""

from importlib import import_module

import click

from saccade import __version__

COMMANDS = {
    "audit-family": "audit_family:audit_family",
    "bench": "bench:bench",
    "benchmarks": "benchmarks:benchmarks",
    "chat": "chat:chat",
    "check": "check:check",
    "check-data": "check_data:check_data",
    "compare": "measured:compare",
    "contamination": "contamination:contamination",
    "curate": "curate:curate",
    "demo": "train:demo",
    "engine": "engine:engine",
    "eval": "evaluate:evaluate",
    "export": "exports:export",
    "families": "families:families",
    "figures": "measured:figures",
    "import": "exports:import_",
    "index": "index:index",
    "init": "init:init",
    "judge-agreement": "judge_agreement:judge_agreement",
    "mcp": "serve:mcp",
    "merge": "merge:merge",
    "openenv": "serve:openenv",
    "plan-fleet": "plan_fleet:plan_fleet",
    "plan-memory": "plan_memory:plan_memory",
    "push": "push:push",
    "recipes": "recipes:recipes",
    "report": "report:report",
    "reread": "benchmarks:reread",
    "retrieve": "retrieve:retrieve",
    "search": "index:search",
    "serve": "serve:serve",
    "serve-agent": "serve_agent:serve_agent",
    "settings": "recipes:settings",
    "show": "show:show",
    "tools": "tools:tools",
    "train": "train:train",
    "verifier": "verifier:verifier",
    "view": "view:view",
}
"""Where each one is: a module of this folder, and its name there."""


class CommandsByName(click.Group):
    """A group whose commands are imported one by one; its help imports them all, for their first lines."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command = getattr(import_module(f"saccade.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            # Click looks for close names among commands that are already there.
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from error


@click.group(cls=CommandsByName, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="saccade")
def saccade() -> None:
    """Post-train vision-language models to think with images."""
