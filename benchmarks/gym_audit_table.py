"""The page docs/gym_audit.md, of the audits of the gym's families: one row a family, all figures.

    saccade audit-family NAMES -n 50 --experts 5 --keep audits          # in as many pieces as one likes
    python benchmarks/gym_audit_table.py --keep audits --date "26 November 2026"

``--keep`` is the folder that ``saccade audit-family`` keeps its audits in; families that are not there are listed as
not audited. The audits are also written to docs/results/gym_audit.json.
"""

import argparse
import json
import re
from pathlib import Path

from saccade.codec.codecs import plain_json
from saccade.evaluation.audit.audit import AuditSettings, compared
from saccade.evaluation.audit.findings import FamilyAudit
from saccade.evaluation.audit.kept import kept
from saccade.evaluation.audit.pages import overview
from saccade.gym.registry import gym_families

PAGE, RESULTS = Path("docs/gym_audit.md"), Path("docs/results/gym_audit.json")


def page(audits: list[FamilyAudit], missing: list[str], settings: AuditSettings, day: str) -> str:
    """The page in Markdown."""
    convicted = [audit for audit in audits if audit.convictions]
    table = re.sub(r"\[(\w+)\]\(\w+\.md\)", r"\1", overview(audits))
    command = f"saccade audit-family NAMES -n {settings.tasks} --experts {settings.experts}"
    names = ", ".join(f"`{name}`" for name in missing)
    lines = [
        "# Audit of the gym's families",
        "",
        f"This page lists, for users of [the gym](gym.md), what `{command}` found on {day},",
        f"with {audits[0].tasks} tasks per family. A bold figure is beyond its bound; a dash marks a check that does",
        "not apply. [The audit's page](audit.md) explains each check.",
        "`benchmarks/gym_audit_table.py` writes this page from the stored audits",
        f"([every number](results/{RESULTS.name})). Shares in the columns prior, words, thumbnail and",
        "other pic. come from a third of the tasks, which were held out. A family is convicted where their whole",
        "95 % interval lies above the bound: with so few tasks, smaller faults stay unseen. Experts play on a few",
        "tasks; speed and memory are those of a busy machine.",
        "",
        f"{len(audits) - len(convicted)} of {len(audits)} families pass."
        + (f" Not audited: {names}." if names else ""),
        "",
    ]
    for audit in convicted:
        said = "; ".join(f"{one.check} ({one.note or one.example})".replace("|", "/") for one in audit.convictions)
        lines.append(f"- `{audit.family}`: {said}")
    return "\n".join([*lines, "", table])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--date", required=True)
    options = parser.parse_args()
    first = json.loads(next(iter(sorted(options.keep.glob("*.json")))).read_text(encoding="utf-8"))["settings"]
    settings = AuditSettings(tasks=first["tasks"], experts=first["experts"], seed=first["seed"])
    done = {name: kept(options.keep, name, settings) for name in sorted(gym_families())}
    found = [one for one in done.values() if one is not None]
    audits = list(compared([audit for audit, _ in found], [look for _, look in found]))
    missing = [name for name, one in done.items() if one is None]
    PAGE.write_text(page(audits, missing, settings, options.date), encoding="utf-8")
    RESULTS.write_text(json.dumps([plain_json(audit) for audit in audits], indent=1) + "\n", encoding="utf-8")
    print(f"{PAGE}: {len(audits)} families, {len(missing)} not audited")


if __name__ == "__main__":
    main()
