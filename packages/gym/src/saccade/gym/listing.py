"""Families as lists show them."""

from collections.abc import Mapping, Sequence

from saccade.gym.extras import missing_modules
from saccade.gym.family import GymFamily
from saccade.types import Json


def as_text(family: GymFamily, *, with_programs: bool) -> str:
    """A family in a line or two; with its programs, one paraphrase and the experts of each."""
    notes = [family.domain, f"{len(family.programs)} programs", f"looks {', '.join(_looks(family))}"]
    if family.needs_closer:
        notes.append("needs a closer look")
    if family.extra:
        missing = any(missing_modules(renderer) for renderer in family.renderers)
        notes.append(f"extra {family.extra}{' (not installed)' if missing else ''}")
    lines = [f"{family.name}: {family.about}", f"    {'; '.join(notes)}"]
    if with_programs:
        lines.append(f"    axes: {', '.join(family.axes) or 'none'}")
        lines.extend(
            f"    {family.name}/{one.name}: {one.wordings[0]} (experts: {', '.join(one.experts)})"
            for one in family.programs
        )
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
    """A page in Markdown: a table of each domain, with a row for each family."""
    lines = [
        "# Families of the gym",
        "",
        f"Made by `saccade families --markdown`. {summary(families)}. `saccade families NAME` prints a family's axes, "
        "its looks, and its programs with their wordings and experts.",
    ]
    for domain in dict.fromkeys(family.domain for family in families):
        rows = [_row(family) for family in families if family.domain == domain]
        head = ["| family | what it shows | programs | looks | needs |", "|---|---|---|---|---|"]
        lines += ["", f"## {domain[0].upper()}{domain[1:]}", "", *head, *rows]
    return "\n".join(lines) + "\n"


def _row(family: GymFamily) -> str:
    needs = ["a closer look"] * family.needs_closer + [f"extra `{family.extra}`"] * bool(family.extra)
    cells = (f"`{family.name}`", family.about, len(family.programs), len(_looks(family)), ", ".join(needs))
    return f"| {' | '.join(map(str, cells))} |"
