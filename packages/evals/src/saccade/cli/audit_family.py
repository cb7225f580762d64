"""``saccade audit-family``: what a policy could answer without looking, and what an author may have done wrong."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import completion, options
from saccade.cli.machine import log_to_stderr, prepare_machine
from saccade.cli.options import PATH
from saccade.cli.unread_options import refuse_unread
from saccade.codec.codecs import plain_json
from saccade.errors import UserError
from saccade.strict_json import strict_json

if TYPE_CHECKING:
    from saccade.evaluation.audit.audit import AuditSettings
    from saccade.evaluation.audit.findings import FamilyAudit
    from saccade.evaluation.audit.golden import GoldenHashes


@click.command("audit-family")
@click.argument("names", metavar="[NAME|FILE.py:NAME]...", nargs=-1, shell_complete=completion.family_items)
@click.option("--all", "takes_all", is_flag=True, help="All shipped families that can be drawn on this machine.")
@click.option(
    "-n", "--n", "tasks", type=click.IntRange(min=50), default=400, show_default=True, help="Training tasks to draw."
)
@click.option("--experts", type=click.IntRange(min=1), default=40, show_default=True, help="Experts to play.")
@options.seed
@click.option("--check", "checks", multiple=True, metavar="NAME", help="Run this check only. Repeatable.")
@click.option("--golden", type=PATH, metavar="FILE", help="Golden hashes of your own families to compare with.")
@click.option("--write-golden", type=PATH, metavar="FILE", help="Write the hashes of these families and exit.")
@click.option("--pages", type=PATH, metavar="DIR", help="Write a page with samples for each family, and a table.")
@click.option(
    "--keep",
    type=PATH,
    metavar="DIR",
    help="Save each finished audit there; the next call continues from the saved ones.",
)
@options.as_json
@options.tells_of_waits
def audit_family(
    names: tuple[str, ...],
    takes_all: bool,
    tasks: int,
    experts: int,
    seed: int,
    checks: tuple[str, ...],
    golden: Path | None,
    write_golden: Path | None,
    pages: Path | None,
    keep: Path | None,
    as_json: bool,
) -> None:
    """Audit task families: your own or shipped ones. Exit status 1 if a check convicts a family.

    Each check reports a figure, a bound and an example. The checks look for: answers from the prior, from the words,
    from a thumbnail or on another picture; ambiguous questions; missing evidence; splits and families that share
    pictures; bytes that differ in another process; experts that fail; difficulty that does not rise.
    """
    log_to_stderr(is_quiet=True)
    prepare_machine(None)
    from saccade.evaluation.audit.audit import AuditSettings
    from saccade.evaluation.audit.golden import SHIPPED, GoldenHashes, golden_of
    from saccade.evaluation.audit.gym_programs import drawable_families
    from saccade.evaluation.audit.pages import finding_lines, overview
    from saccade.gym.drawn import ALL_FAMILIES
    from saccade.tasks.procedural import family_named

    if takes_all == bool(names):
        raise UserError("name the families to audit, or give --all for those that ship")
    families = [*ALL_FAMILIES, *drawable_families()] if takes_all else list(dict.fromkeys(names))
    named = [(family_named(family)[0], family) for family in families]
    if write_golden is not None:
        audits_only = ("tasks", "experts", "seed", "checks", "golden", "pages", "keep", "as_json")
        refuse_unread("with --write-golden, which audits nothing", *audits_only)
        golden_of(named).write(write_golden)
        click.echo(f"Golden hashes: {write_golden}")
        return
    known = GoldenHashes.read(golden or SHIPPED)
    settings = AuditSettings(tasks=tasks, experts=experts, seed=seed, only=checks)
    audits = _audit_families(families, settings, known, pages, keep)
    if as_json:
        click.echo(strict_json([plain_json(audit) for audit in audits], indent=1))
    else:
        for audit in audits:
            click.echo("\n".join([f"{audit.family} ({audit.tasks} tasks)", *finding_lines(audit)]))
            click.echo(f"Not judged: {', '.join(audit.not_checked) or 'nothing'}\n")
    if pages is not None:
        _write_overview(pages, overview(audits))
    convicted = [audit for audit in audits if audit.convictions]
    if not as_json:
        click.echo(f"{len(audits) - len(convicted)} of {len(audits)} families pass")
    for audit in convicted:
        click.echo(f"{audit.family}: convicted by {', '.join(one.check for one in audit.convictions)}", err=True)
    if convicted:
        click.get_current_context().exit(1)


def _audit_families(
    families: list[str], settings: "AuditSettings", golden: "GoldenHashes", pages: Path | None, folder: Path | None
) -> "list[FamilyAudit]":
    from saccade.evaluation.audit import kept
    from saccade.evaluation.audit.audit import audited_family, with_shared_looks
    from saccade.evaluation.audit.pages import write_page
    from saccade.tasks.procedural import family_named

    audits, looks = [], []
    for family in families:
        done = None if folder is None else kept.kept_audit(folder, family_named(family)[0], settings)
        if done is None:
            found = audited_family(family, settings, golden)
            done = (found.audit, found.look)
            if folder is not None:
                kept.keep(folder, settings, *done)
            if pages is not None:
                write_page(found.drawn, found.audit, pages)
            click.echo(f"audited {found.audit.family}", err=True)
        audits.append(done[0])
        looks.append(done[1])
    return with_shared_looks(audits, looks)


def _write_overview(folder: Path, table: str) -> None:
    from saccade.atomic import write_text_atomic

    head = (
        "# Task families\n\nWritten by `saccade audit-family --all --pages studies/families`. A bold figure is beyond "
        "its bound; - says that a check does not apply. [What each check means](../../docs/audit.md).\n\n"
    )
    write_text_atomic(folder / "README.md", head + table)
