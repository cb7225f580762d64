"""Whether probes tell a model that looks: its accuracy as it is, on blank pictures, and without its tools' results.

    saccade demo --out runs/demo
    python -m studies.evaluation.probes --model runs/demo/checkpoints/rl-000040 --family visual_search

Runs `saccade eval` with the probes blank, other-image and withheld-results in one way of asking, for one checkpoint or
several (three seeds, say). Exit status 1 when one of them is above a guess on blank pictures or without results, or no
better as it is.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

from saccade.evaluation.compare import compare
from saccade.evaluation.figures import figures
from saccade.evaluation.sample_files import read_samples, sample_files
from saccade.evaluation.samples import SampleSet
from saccade.types import Json

PROBES = ("blank", "other-image", "withheld-results")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, nargs="+", required=True)
    parser.add_argument("--family", default="visual_search")
    parser.add_argument("-n", type=int, default=256)
    parser.add_argument("--protocol", default="tagged")
    parser.add_argument("--probes", nargs="+", choices=PROBES, default=PROBES, help="Not all ways have tools.")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    told = [probed(path, arguments) for path in arguments.model]
    print(json.dumps(told, indent=1))
    if arguments.json:
        head = {"command": " ".join(sys.argv), "date": date.today().isoformat(), "cpus": os.cpu_count()}
        arguments.json.write_text(json.dumps({**head, "models": told}, indent=1) + "\n", encoding="utf-8")
    sys.exit(0 if all(one["is_better_than_a_guess"] and one["probes_are_at_a_guess"] for one in told) else 1)


def probed(model: Path, arguments: argparse.Namespace) -> dict[str, Json]:
    """The accuracy of a checkpoint as it is and under each probe."""
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "run"
        command = [
            *(sys.executable, "-m", "saccade", "eval", "--model", str(model), "--family", arguments.family),
            *("-n", str(arguments.n), "--protocol", arguments.protocol, "--quiet", "--out", str(out)),
            *(word for name in arguments.probes for word in ("--probe", name)),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        kept = {name: read_samples(path) for name, path in sample_files(out).items()}
    plain = kept[arguments.protocol]
    looks = figures(plain)
    told: dict[str, Json] = {
        "model": f"{model.parent.parent.name}/{model.name}",
        "family": arguments.family,
        "n": arguments.n,
        "as_it_is": summary(plain),
    }
    at_guess = True
    for name in arguments.probes:
        found = kept[f"{arguments.protocol}_{name.replace('-', '_')}"]
        measured = figures(found)
        told[name] = {**summary(found), "difference": difference(plain, found)}
        # The pictures of others have answers of their own, which may be right by chance: shown, not judged.
        low = measured.accuracy.ci95[0]
        at_guess &= name == "other-image" or measured.chance is None or low <= measured.chance
    is_better = looks.chance is not None and looks.accuracy.ci95[0] > looks.chance
    return {**told, "is_better_than_a_guess": is_better, "probes_are_at_a_guess": at_guess}


def summary(found: SampleSet) -> dict[str, Json]:
    """The accuracy with its interval, and how many gave an answer at all, in how many turns."""
    measured = figures(found)
    answered = [one for one in found.samples if one.status == "answered"]
    return {
        "accuracy": measured.accuracy.mean,
        "ci95": list(measured.accuracy.ci95),
        "guess": measured.chance,
        "failed": measured.failed,
        "answered": len(answered) / len(found.samples),
        "of_those_right": sum(bool(one.right) for one in answered) / len(answered) if answered else None,
        "turns": sum(one.turns for one in found.samples) / len(found.samples),
    }


def difference(plain: SampleSet, probed: SampleSet) -> Json:
    """Paired, with its interval; what was asked differs on purpose."""
    accepted = {*plain.header.asked, *probed.header.asked, "questions"}
    [found] = compare([plain, probed], ["as it is", "probed"], although=accepted)
    return {"points": 100 * (found.difference.mean or 0.0), "ci95": [100 * one for one in found.difference.ci95]}


if __name__ == "__main__":
    main()
