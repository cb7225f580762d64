"""``saccade tools``: which tools there are, whether they are ready, and a call of one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.characters import shell_words
from saccade.cli import options
from saccade.cli.options import PATH
from saccade.cli.unread_options import refuse_unread
from saccade.errors import ToolError, UserError
from saccade.strict_json import strict_json

if TYPE_CHECKING:
    from saccade.tools.catalogue.entries import Entry
    from saccade.tools.catalogue.settings import ToolSettings, ToolsFile
    from saccade.tools.tool import Tool
    from saccade.types import Json, ToolResult

REFUSED = 1
"""Exit status of a call that the tool refuses."""


@click.command("tools")
@click.argument("name", required=False)
@click.option("--config", type=PATH, help="A tools.toml with the back ends and models of tools.")
@click.option("--image", "images", type=PATH, multiple=True, help="An image for a call of NAME. Repeatable.")
@click.option("--arguments", help="Arguments to call NAME with: a JSON object; coordinates in pixels of the image.")
@click.option("--out", type=PATH, help="Folder for the pictures that a call returns.")
@options.as_json
@options.tells_of_waits
def tools(
    name: str | None,
    config: Path | None,
    images: tuple[Path, ...],
    arguments: str | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """List all tools, show the arguments of one, or call it.

    Without NAME: every tool with its back end, and whether it is ready or how to configure it. With NAME: its schema
    and an example. With --image or --arguments it is called.
    """
    from saccade.tools.catalogue.catalogue import CATALOGUE, entry_of
    from saccade.tools.catalogue.settings import ToolsFile, read_tools_file

    tools_file = read_tools_file(config) if config else ToolsFile(tools=())
    if name is None:
        refuse_unread("without the NAME of a tool to call", "images", "arguments", "out")
        for settings in tools_file.tools:
            entry_of(settings.name)
        _list(CATALOGUE, tools_file, as_json=as_json)
        return 0
    entry = entry_of(name)
    if not images and arguments is None:
        refuse_unread("without --image or --arguments, by which a tool is called", "out")
        _describe(entry, tools_file, as_json=as_json)
        return 0
    return _call(entry, tools_file, images, _arguments(arguments), out, as_json=as_json)


def _settings(name: str, tools_file: "ToolsFile") -> "ToolSettings":
    from saccade.tools.catalogue.settings import ToolSettings

    return next((one for one in tools_file.tools if one.name == name), ToolSettings(name=name))


def _about(entry: "Entry", tools_file: "ToolsFile") -> "dict[str, Json]":
    from saccade.tools.catalogue.catalogue import why_not

    settings = _settings(entry.name, tools_file)
    why = why_not(settings, tools_file.folder)
    return {
        "name": entry.name,
        "family": entry.family,
        "summary": entry.summary,
        "source": entry.source,
        "back_ends": list(entry.backends),
        "back_end": settings.backend or entry.backends[0],
        "configured": any(one.name == entry.name for one in tools_file.tools),
        "ready": why is None,
        "why_not": why,
    }


def _list(entries: "tuple[Entry, ...]", tools_file: "ToolsFile", *, as_json: bool) -> None:
    listed = [_about(entry, tools_file) for entry in entries]
    if as_json:
        click.echo(json.dumps({"tools": listed}, indent=2))
        return
    columns = ("name", "family", "back_end")
    widths = [max(len(column), *(len(str(one[column])) for one in listed)) for column in columns]
    rows = [(*(str(one[column]) for column in columns), "yes" if one["ready"] else "no") for one in listed]
    for row in [("name", "family", "back end", "ready"), *rows]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)).rstrip())
    missing = [one for one in listed if not one["ready"]]
    click.echo(f"\n{len(listed)} tools, {len(listed) - len(missing)} ready.")
    for one in missing:
        click.echo(f"  {one['why_not']}")
    if missing:
        click.echo(
            "Write sections like these into a tools.toml (examples/tools_with_models.toml shows all) and give it by "
            "--config."
        )


def _describe(entry: "Entry", tools_file: "ToolsFile", *, as_json: bool) -> None:
    tool, about = entry.outline(), _about(entry, tools_file)
    command = f"saccade tools {entry.name}"
    if any(parameter.kind == "image" for parameter in tool.parameters):
        command += " --image picture.png"
    command += f" --arguments {shell_words(json.dumps(entry.example))}"
    call: dict[str, Json] = {"name": entry.name, "arguments": dict(entry.example)}
    if as_json:
        schema = dict(tool.spec.parameters)
        described = {**about, "description": tool.spec.description, "parameters": schema, "example": call}
        click.echo(json.dumps({**described, "command": command}, indent=2))
        return
    state = "ready" if about["ready"] else f"not ready: {about['why_not']}"
    click.echo(f"{entry.name} ({entry.family}): {tool.spec.description}")
    click.echo(f"Source: {entry.source}")
    click.echo(f"Back ends: {', '.join(entry.backends)}; {about['back_end']} is {state}")
    click.echo(f"\nArguments:\n{json.dumps(tool.spec.parameters, indent=2)}")
    click.echo(f"\nA call:\n{json.dumps(call)}\n\n{command}")


def _arguments(text: str | None) -> "Mapping[str, Json]":
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise UserError(f"--arguments is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UserError(f"--arguments must be a JSON object, such as {{}}, not {text!r}")
    return value


def _call(
    entry: "Entry",
    tools_file: "ToolsFile",
    images: tuple[Path, ...],
    arguments: "Mapping[str, Json]",
    out: Path | None,
    *,
    as_json: bool,
) -> int:
    from saccade.media.store import MediaStore

    media = MediaStore()
    shown = [media.add_file(path) for path in images]
    tool: Tool = entry.build(_settings(entry.name, tools_file), tools_file.folder)
    try:
        result: ToolResult = tool.call(arguments, shown, media)
    except ToolError as error:
        click.echo(json.dumps({"is_ok": False, "text": str(error)}) if as_json else f"refused: {error}")
        return REFUSED
    pictures = [media.export(one, out) if out else None for one in result.images]
    if as_json:
        paths = [None if path is None else str(path) for path in pictures]
        sizes = [[one.width, one.height] for one in result.images]
        reply = {"is_ok": result.is_ok, "text": result.text, "data": result.data, "images": paths, "sizes": sizes}
        click.echo(strict_json(reply, indent=2))
        return 0
    click.echo(result.text)
    for one, path in zip(result.images, pictures, strict=True):
        click.echo(f"picture of {one.width} x {one.height} px" + (f": {path}" if path else " (--out DIR keeps it)"))
    if result.data:
        click.echo(f"data: {strict_json(result.data)}")
    return 0
