"""Options that several commands have, each defined once."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import click

from saccade.cli import completion
from saccade.cli.machine import log_to_stderr, prepare_machine, telling_of_waits
from saccade.entry_points import own_targets
from saccade.errors import UserError
from saccade.own_code import own_file

Command = TypeVar("Command", bound=Callable[..., object])

PATH = click.Path(path_type=Path)
PORT = click.IntRange(0, 65_535)


class ProtocolType(click.Choice[str]):
    """One of Saccade's protocols, one that an installed package offers, or ``FILE.py:NAME``."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from saccade.protocols.named import known_name

        return value if own_file(value) or known_name(value) else super().convert(value, param, ctx)


PROTOCOL = ProtocolType(tuple(own_targets("saccade.protocols")))


def threads_option(*, is_passed: bool = False, of: str = "") -> Callable[[Command], Command]:
    """The option that prepares the machine for a number of threads; the command gets the number if it is passed."""
    return click.option(
        "--threads",
        type=click.IntRange(min=1),
        expose_value=is_passed,
        callback=lambda _context, _option, count: prepare_machine(count),
        help=f"CPU threads{of}, by default 1.",
    )


def out_option(what: str, *, default: Path | None = None) -> Callable[[Command], Command]:
    """Where a command writes, which must be given unless it has a default."""
    if default is None:
        return click.option("--out", type=PATH, required=True, help=what)
    return click.option("--out", type=PATH, default=default, show_default=True, help=what)


def family_option(what: str) -> Callable[[Command], Command]:
    """A procedural family by its name; ``what`` says what is done with it."""
    return click.option("--family", metavar="NAME|FILE.py:NAME", shell_complete=completion.family_items, help=what)


def listening_options(
    port: int | None,
    *,
    of: str = "",
    host_help: str = "address to listen on; a non-loopback one needs a token.",
    port_help: str = "port; 0 picks a free one.",
) -> Callable[[Command], Command]:
    """Address and port of a server on this machine; ``of`` says when they count."""
    helps = [f"{of}{text}" if of else f"{text[0].upper()}{text[1:]}" for text in (host_help, port_help)]
    return together(
        click.option("--host", default="127.0.0.1", show_default=True, help=helps[0]),
        click.option("--port", type=PORT, default=port, show_default=port is not None, help=helps[1]),
    )


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """The options as one decorator, in the order in which the help shows them."""

    def decorated(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


threads = threads_option()
thread_count = threads_option(is_passed=True)


def tells_of_waits(command: Command) -> Command:
    """The command, with a line on standard error on what is done once that lasts, unless ``quiet`` forbids it."""

    @functools.wraps(command)
    def run(**given: object) -> object:
        context = click.get_current_context()
        if context.meta.get(_QUIET):
            return command(**given)
        with telling_of_waits(context.command_path.partition(" ")[2]):
            return command(**given)

    return cast("Command", run)


_QUIET = "saccade.quiet"


def _take_quiet(context: click.Context, _option: click.Parameter, is_quiet: bool) -> None:
    log_to_stderr(is_quiet=is_quiet)
    context.meta[_QUIET] = is_quiet


quiet = together(
    click.option("--quiet", is_flag=True, expose_value=False, callback=_take_quiet, help="Show no progress."),
    tells_of_waits,
)
"""Sets what standard error is told; the command does not see it."""
seed = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of what is drawn.")
overrides = click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting. Repeatable.")
as_json = click.option("--json", "as_json", is_flag=True, help="Write JSON.")
data = click.option("--data", type=PATH, help="Your own tasks: a file or a folder.")
split = click.option(
    "--split",
    metavar="NAME",
    help="Split of --data that is read alone, such as train, or all; by default the one for the command's purpose.",
)
held_out = click.option(
    "--held-out",
    type=PATH,
    help="Your own questions to measure on, a file or folder; by default the validation or test split of --data, or a "
    "share of it.",
)
image_root = click.option("--image-root", type=PATH, help="Folder that relative image paths of --data start from.")
max_frames = click.option(
    "--max-frames",
    type=click.IntRange(min=1),
    help="Maximum frames of a video in --data, by default 32; of a benchmark's videos, by default its release's.",
)
answer_kind = click.option(
    "--answer-kind",
    type=click.Choice(
        ["exact", "choice", "integer", "number", "math", "boxes", "click", "list", "text", "sentence", "judge"]
    ),
    help="How answers of --data are compared, for rows without an answer_kind; by default by what each looks like.",
)
box_frame = click.option(
    "--box-frame",
    type=click.Choice(["pixels", "0-1", "0-999", "0-1000"]),
    help="Coordinates of boxes in answers of --data, for rows without a box_frame; by default by what they look like.",
)
min_iou = click.option(
    "--min-iou",
    type=click.FloatRange(0.01, 1),
    help="IoU from which on boxes are right, for rows of --data without a min_iou; by default 0.5.",
)
row_options = together(answer_kind, box_frame, min_iou)
skip_bad_rows = click.option("--skip-bad-rows", is_flag=True, help="Skip bad rows of --data and report how many.")
api_key_env = click.option(
    "--api-key-env", default="OPENAI_API_KEY", show_default=True, help="Environment variable with the servers' key."
)
judge_model = click.option("--judge-model", metavar="NAME", help="Name of the judge's model, if --judge is a server.")
server_model = click.option(
    "--server-model", metavar="NAME", help="The model's name at the server. The key is read from OPENAI_API_KEY."
)
token_env = click.option(
    "--token-env",
    default="SACCADE_TOKEN",
    show_default=True,
    help="Environment variable with the token that callers must send.",
)
page_options = together(
    listening_options(
        None,
        host_help="Address to listen on; a non-loopback one needs --token-env.",
        port_help="Port, by default 7860, or a free one if that is taken.",
    ),
    click.option("--token-env", metavar="NAME", help="Environment variable with the token that pages must send."),
    click.option("--no-open", is_flag=True, help="Do not open a browser."),
)
"""Where the viewer's pages are served."""
agent_tools = click.option(
    "--tools",
    multiple=True,
    metavar="NAME,...|tools.toml|http://...",
    help="Other tools than the checkpoint was trained with: names (`saccade tools` lists them), a configuration, or a "
    "tool service. Repeatable.",
)
allow = click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="URL|env:NAME|PATH",
    help="Let the checkpoint's recorded tools reach this, as it was printed. Repeatable.",
)
first_stage = click.option(
    "--first-stage", metavar="STAGE", help="Search in two stages, for an index made with this one."
)


def served_or_none(model: Path | None, server: str | None, name: str | None) -> tuple[str, str] | None:
    """Address and name of the server's model; None for a checkpoint."""
    if (model is None) == (server is None):
        raise UserError("give either --model DIR, a checkpoint, or --server URL with --server-model NAME")
    if server is None:
        if name is not None:
            raise UserError(f"--server-model {name} has no effect without --server URL")
        return None
    if not server.startswith(("http://", "https://")):
        raise UserError(f"--server {server} is no address; an address looks like http://localhost:8000/v1")
    if not name:
        raise UserError(f"--server {server} needs --server-model NAME, one of those that {server}/models lists")
    return server, name
