"""The claims of the papers, each an experiment that could fail.

python -m studies.claims argos_accuracy --out runs/claims --json runs/claims/argos_accuracy.json
"""

import argparse
import json
from pathlib import Path

from studies.claims import argos, codedance, ivgr, lang2act, vista_r1
from studies.claims.design import DRAWS, IMITATIONS, report, rows_of_others, run_claim
from studies.seed_runs import write_results

CLAIMS = {
    claim.name: claim
    for claim in (
        *(argos.ACCURACY, argos.COLLAPSE, argos.REASONING),
        *(ivgr.AGREEMENT, ivgr.WORDS_OVER_BOXES),
        codedance.REWARDS,
        *(lang2act.STAGES, lang2act.GOLD_PAGES),
        vista_r1.STAGES,
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claim", choices=list(CLAIMS))
    parser.add_argument("--imitations", type=int, default=IMITATIONS)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--variants", nargs="+", default=(), metavar="NAME")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1, help="Imitations at the same time.")
    parser.add_argument("--out", type=Path, default=Path("runs/claims"))
    parser.add_argument("--json", type=Path, help="Rows of whole imitations are kept and written here.")
    parser.add_argument("--set", dest="smaller", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    claim = CLAIMS[arguments.claim]
    has_rows = arguments.json is not None and arguments.json.is_file()
    stored = json.loads(arguments.json.read_text(encoding="utf-8"))["runs"] if has_rows else []
    others = rows_of_others(
        claim, stored, variants=arguments.variants, smaller=arguments.smaller, draws=arguments.draws
    )
    if others:
        parser.error(f"{arguments.json} has {len(others)} rows of other settings, which would go; name another file")
    rows = run_claim(
        claim,
        arguments.out,
        imitations=arguments.imitations,
        draws=arguments.draws,
        threads=arguments.threads,
        at_once=arguments.at_once,
        variants=arguments.variants,
        smaller=arguments.smaller,
        stored=stored,
    )
    print(report(claim, rows))
    if arguments.json:
        write_results(arguments.json, rows, claim=claim.paper, end_point=claim.end_point.label)


if __name__ == "__main__":
    main()
