"""The commands by name, each imported when it is asked for."""

from importlib import import_module
from importlib.util import find_spec

import click

from saccade.distribution import __version__

GROUPS = {
    "Start": {
        "init": "init:init",
        "demo": "train:demo",
        "chat": "chat:chat",
        "recipes": "recipes:recipes",
        "settings": "recipes:settings",
    },
    "Train": {
        "train": "train:train",
        "plan-memory": "plan_memory:plan_memory",
        "plan-fleet": "plan_fleet:plan_fleet",
        "verifier": "verifier:verifier",
        "bench": "bench:bench",
    },
    "Measure": {
        "eval": "evaluate:evaluate",
        "benchmarks": "benchmarks:benchmarks",
        "compare": "measured:compare",
        "figures": "measured:figures",
        "contamination": "contamination:contamination",
        "judge-agreement": "judge_agreement:judge_agreement",
        "reread": "benchmarks:reread",
        "check-family": "check_family:check_family",
    },
    "Look": {"view": "view:view", "show": "show:show", "report": "report:report", "check": "check:check"},
    "Data": {
        "check-data": "check_data:check_data",
        "families": "families:families",
        "audit-family": "audit_family:audit_family",
        "curate": "curate:curate",
        "import": "exports:import_",
        "export": "exports:export",
        "index": "index:index",
        "search": "index:search",
        "retrieve": "retrieve:retrieve",
    },
    "Serve and share": {
        "tools": "tools:tools",
        "serve": "serve:serve",
        "mcp": "serve:mcp",
        "openenv": "serve:openenv",
        "serve-agent": "serve_agent:serve_agent",
        "tinker": "tinker:tinker",
        "engine": "engine:engine",
        "merge": "merge:merge",
        "push": "push:push",
    },
}
"""As the help shows them: of each command its module in this folder, and its name there."""

COMMANDS = dict(sorted((name, place) for group in GROUPS.values() for name, place in group.items()))


_WHOLE = 1000
"""Characters of a command's first sentence, which are more than any has."""


def _module(place: str) -> str:
    return f"saccade.cli.{place.partition(':')[0]}"


class CommandsByName(click.Group):
    """A group whose commands are imported one by one; its help imports them all, for their first lines."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        # The parts of Saccade that are not installed have no commands.
        return sorted(name for name, place in COMMANDS.items() if find_spec(_module(place)) is not None)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None or find_spec(_module(place)) is None:
            return None
        command = getattr(import_module(_module(place)), place.partition(":")[2])
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each group of commands under its title, with whole first sentences."""
        width = max(map(len, COMMANDS))
        for title, names in GROUPS.items():
            found = [(name, one) for name in names if (one := self.get_command(ctx, name)) is not None]
            rows = [(f"{name:<{width}}", one.get_short_help_str(_WHOLE)) for name, one in found]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            # Click looks for close names among commands that are already there.
            raise click.NoSuchCommand(error.command_name, possibilities=self.list_commands(ctx), ctx=ctx) from error


@click.group(cls=CommandsByName, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="saccade")
def saccade() -> None:
    """Post-train vision-language models to think with images."""
