"""``saccade push``: a checkpoint of a run as a repository on a Hugging Face hub, with its model card."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.characters import shell_words
from saccade.cli.options import PATH
from saccade.cli.unread_options import refuse_unread
from saccade.errors import UserError
from saccade.plain_files import check_plain, plain_text
from saccade.types import Json

if TYPE_CHECKING:
    from saccade.runs.runinfo import RunPaths
    from saccade.viewer.model_card import Rights

_TRAINER = "trainer"


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN_DIR")
@click.argument("repo", metavar="OWNER/NAME")
@click.option("--checkpoint", metavar="NAME", help="One of RUN_DIR/checkpoints; by default the last one.")
@click.option("--branch", metavar="NAME", help="An existing branch; by default main.")
@click.option("--base", metavar="OWNER/NAME", help="The base on the hub of a run that began from your own folder.")
@click.option("--license", "licence", metavar="ID", help="The weights' licence by its name on the hub.")
@click.option("--private", is_flag=True, help="Make the repository private, if it is created now.")
@click.option("--report", is_flag=True, help="Push report.html too; it contains questions, pictures and the command.")
@click.option("--message", default="A run of Saccade", show_default=True, help="Commit message.")
@click.option("--only-write", type=PATH, metavar="DIR", help="Write the repository's files here and push nothing.")
def push(
    run_directory: Path,
    repo: str,
    checkpoint: str | None,
    branch: str | None,
    base: str | None,
    licence: str | None,
    private: bool,
    report: bool,
    message: str,
    only_write: Path | None,
) -> None:
    """Put a checkpoint on the Hugging Face hub: weights, model card with figures and a trajectory, settings."""
    from saccade.interop.hub import publish
    from saccade.runs.runinfo import RunPaths
    from saccade.viewer.model_card import Rights

    if only_write is not None:
        refuse_unread("with --only-write, which pushes nothing", "branch", "private", "message")
    paths = RunPaths(root=run_directory)
    rights = Rights(base=_hub_base(base), licence=licence)
    files = _files(paths, _chosen_checkpoint(paths, checkpoint), repo, rights, with_report=report)
    if only_write is not None:
        _write(files, only_write)
        click.echo(f"Written: {len(files)} files in {only_write}; nothing was pushed")
        return
    click.echo(f"Pushed: {publish(repo, files, message=message, branch=branch, is_private=private)}")


def _hub_base(text: str | None) -> str | None:
    from saccade.interop.hub import hub_name

    name = None if text is None else hub_name(text)
    if text is not None and (name is None or name.revision or name.split):
        raise UserError(f"--base {text} is no name on the hub; give OWNER/NAME")
    return None if name is None else name.repo


def _chosen_checkpoint(paths: "RunPaths", name: str | None) -> Path:
    from saccade.runs.checkpoints import checkpoints, latest_checkpoint
    from saccade.runs.runinfo import read_info, read_json_object

    read_info(paths)
    there = {one.path.name: one for one in checkpoints(paths.checkpoints)}
    if not there:
        raise UserError(f"{paths.root} has no checkpoint; it was stopped before the first one")
    if name is not None:
        if name not in there:
            raise UserError(f"{paths.checkpoints} has no checkpoint {name!r}; it has {', '.join(sorted(there))}")
        return there[name].path
    stages = read_json_object(paths.settings).get("stages")
    order = tuple(stages) if isinstance(stages, dict) else tuple(one.position.stage for one in there.values())
    latest = latest_checkpoint(paths.checkpoints, order)
    return there[max(there)].path if latest is None else latest.path


def _files(
    paths: "RunPaths", checkpoint: Path, repo: str, rights: "Rights", *, with_report: bool
) -> dict[str, Path | bytes]:
    """Files of the repository by their names there."""
    import yaml

    from saccade.atomic import refuse_link
    from saccade.checksums import CHECKSUMS
    from saccade.viewer.evidence import collect
    from saccade.viewer.model_card import PICTURE, model_card, short_paths

    _refuse_links_out(checkpoint)
    files: dict[str, Path | bytes] = {
        str(file.relative_to(checkpoint)): file
        for file in sorted(checkpoint.rglob("*"))
        if file.is_file() and file.relative_to(checkpoint).parts[0] not in (_TRAINER, CHECKSUMS)
    }
    files |= _adapter(checkpoint, rights.base)
    files |= _checksums(checkpoint, files)
    card = model_card(collect(paths), repo=repo, checkpoint=checkpoint, rights=rights)
    files["README.md"] = card.text.encode()
    if card.picture is not None:
        files[PICTURE] = card.picture
    if paths.config.is_file():
        refuse_link(paths.config)
        text = plain_text(paths.config)
        head = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
        settings = short_paths(_settings(paths.config, text))
        files["config.yaml"] = (head + yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)).encode()
    if with_report:
        if not paths.report_html.is_file():
            raise UserError(f"{paths.root} has no report.html; run `saccade report {shell_words(paths.root)}` first")
        refuse_link(paths.report_html)
        files["report.html"] = paths.report_html
    return files


def _refuse_links_out(checkpoint: Path) -> None:
    """UserError for a link by which a file from elsewhere would be published."""
    for file in checkpoint.rglob("*"):
        if file.is_symlink() and not file.resolve().is_relative_to(checkpoint.resolve()):
            raise UserError(
                f"{file} is a link to {file.readlink()}, outside the checkpoint, and would be published; put the file "
                "itself in its place"
            )


def _settings(file: Path, text: str) -> Mapping[str, Json]:
    from saccade.config.yaml_text import yaml_value

    try:
        found = yaml_value(text)
    except ValueError as error:
        raise UserError(f"{file} is not the YAML that a run writes: {error}") from None
    if not isinstance(found, Mapping):
        raise UserError(f"{file} must hold settings, not {type(found).__name__}")
    return found


def _adapter(checkpoint: Path, base: str | None) -> dict[str, Path | bytes]:
    """The configuration of an adapter with the name of its base on the hub; nothing for a whole model."""
    from saccade.runs.runinfo import read_json_object
    from saccade.viewer.model_card import hub_base

    file = checkpoint / "adapter_config.json"
    if not file.is_file():
        return {}
    config = read_json_object(file)
    trained_on = str(config.get("base_model_name_or_path", ""))
    name = base or hub_base(trained_on)
    if name is None:
        raise UserError(
            f"{checkpoint} is an adapter of {trained_on}, which others do not have: name its base on the hub by --base "
            "OWNER/NAME, after `hf upload` of that folder if it is not there yet"
        )
    return {file.name: json.dumps({**config, "base_model_name_or_path": name}, indent=2).encode()}


def _checksums(checkpoint: Path, files: dict[str, Path | bytes]) -> dict[str, Path | bytes]:
    """The checksums of what is pushed of a checkpoint; nothing where it has none. UserError for a damaged file."""
    from saccade.checksums import CHECKSUMS, read_sums, refuse_damaged, sum_of_bytes, whole_file_of

    if not (checkpoint / CHECKSUMS).exists():
        return {}
    refuse_damaged(checkpoint, of=files.__contains__)
    kept = [one for one in read_sums(checkpoint) if one.file in files]
    changed = {name: content for name, content in files.items() if isinstance(content, bytes)}
    sums = [sum_of_bytes(changed[one.file], one.file) if one.file in changed else one for one in kept]
    return {CHECKSUMS: whole_file_of(sums)}


def _write(files: dict[str, Path | bytes], folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UserError(f"--only-write {folder}: this is no empty folder; give another one")
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            place.write_bytes(content)
        else:
            shutil.copyfile(check_plain(content), place)
