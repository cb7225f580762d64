"""Families as lists show them."""

from collections.abc import Mapping, Sequence

from saccade.gym.extras import missing_modules
from saccade.gym.family import GymFamily
from saccade.types import Json


def as_text(family: GymFamily, *, with_programs: bool) -> str:
    """A family in a line or two; with its programs, one paraphrase of each."""
    notes = [family.domain, f"{len(family.programs)} programs", f"looks {', '.join(_looks(family))}"]
    if family.needs_closer:
        notes.append("needs a closer look")
    if family.extra:
        missing = any(missing_modules(renderer) for renderer in family.renderers)
        notes.append(f"extra {family.extra}{' (not installed)' if missing else ''}")
    lines = [f"{family.name}: {family.about}", f"    {'; '.join(notes)}"]
    if with_programs:
        lines.append(f"    axes: {', '.join(family.axes) or 'none'}")
        lines.extend(f"    {family.name}/{one.name}: {one.wordings[0]}" for one in family.programs)
    return "\n".join(lines)


def as_json(family: GymFamily) -> Mapping[str, Json]:
    """All that is said of a family."""
    return {
        "name": family.name,
        "about": family.about,
        "domain": family.domain,
        "programs": [one.name for one in family.programs],
        "looks": list(_looks(family)),
        "axes": list(family.axes),
        "extra": family.extra,
        "needs_closer": family.needs_closer,
    }


def summary(families: Sequence[GymFamily]) -> str:
    """How many there are of what."""
    programs = sum(len(family.programs) for family in families)
    closer = sum(family.needs_closer for family in families)
    domains = len({family.domain for family in families})
    return f"{len(families)} families, {programs} programs, {domains} domains; {closer} families need a closer look"


def _looks(family: GymFamily) -> tuple[str, ...]:
    return tuple(renderer.name for renderer in family.all_renderers)


def as_page(families: Sequence[GymFamily]) -> str:
    """A page in Markdown: every family with its axes, its looks and one wording of each program."""
    lines = ["# Families of the gym", "", f"Made by `saccade families --markdown`. {summary(families)}.", ""]
    for domain in dict.fromkeys(family.domain for family in families):
        lines += [f"## {domain[0].upper()}{domain[1:]}", ""]
        for family in families:
            if family.domain == domain:
                lines += [*_section(family), ""]
    return "\n".join(lines).rstrip() + "\n"


def _section(family: GymFamily) -> list[str]:
    notes = [f"looks {', '.join(_looks(family))}", f"axes {', '.join(family.axes) or 'none'}"]
    if family.extra:
        notes.append(f"extra `{family.extra}`")
    if family.needs_closer:
        notes.append("needs a closer look")
    rows = [f"| `{one.name}` | {one.wordings[0]} | {', '.join(one.experts)} |" for one in family.programs]
    head = ["| program | how it asks | experts |", "|---|---|---|"]
    return [
        f"### {family.name}",
        "",
        f"{family.about[0].upper()}{family.about[1:]}. {'; '.join(notes)}.",
        "",
        *head,
        *rows,
    ]
