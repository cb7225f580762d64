"""Golden hashes: what a family drew where it was last looked at, by the versions of the libraries that drew it.

``python -m saccade.gym.golden [FAMILY ...]`` writes those of the families named, or of all that can be drawn here.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from saccade.gym.extras import missing_modules
from saccade.gym.family import GymFamily
from saccade.gym.levels import Levels
from saccade.gym.registry import gym_families
from saccade.gym.sample import GymSample
from saccade.seeding import generator_for

FOLDER = Path(__file__).with_name("golden_hashes")
CORE = ("numpy", "pillow")
"""Distributions that every family is drawn with."""


def sample_digest(sample: GymSample) -> str:
    """A hash of all that a sample shows and says: pixels, question, answer, targets, experts."""
    digest = hashlib.sha256()
    for image in sample.scene.images:
        digest.update(repr((image.size, image.mode)).encode() + image.tobytes())
    asked = sample.scene.asked
    digest.update(repr((sample.paraphrases, asked.question, asked.answer, asked.choices, asked.accepted)).encode())
    digest.update(repr((asked.targets, sorted(sample.experts.items()), sample.asked.near)).encode())
    return digest.hexdigest()


def golden_samples(family: GymFamily) -> Iterator[GymSample]:
    """Two samples of every program: those whose hash is on record."""
    for program in family.programs:
        for index in range(2):
            rng = generator_for(0, "golden", family.name, program.name, index)
            yield family.sample(rng, Levels(base=0.25 + 0.5 * index), program=program)


def family_digest(samples: Iterable[GymSample]) -> str:
    """A hash of a family's golden samples."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(sample_digest(sample).encode())
    return digest.hexdigest()


def library_versions(family: GymFamily) -> Mapping[str, str]:
    """The versions of the libraries that draw the family here."""
    modules = [name for renderer in family.renderers for name in renderer.modules]
    found = {}
    for name in sorted({*CORE, *(module.replace("_", "-") for module in modules)}):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not a distribution"
    return found


def golden_record(name: str) -> tuple[Mapping[str, str], str] | None:
    """Versions and hash on record; None where there is none."""
    file = FOLDER / f"{name}.json"
    if not file.is_file():
        return None
    record = json.loads(file.read_text(encoding="utf-8"))
    return record["versions"], record["sha256"]


def golden_complaint(family: GymFamily, samples: Iterable[GymSample] | None = None) -> str:
    """What is wrong with the family's golden hash; "" where it is right, or was made with other versions.

    ``samples`` are its golden samples where they have been drawn already.
    """
    record = golden_record(family.name)
    if record is None:
        return f"the family {family.name} has no golden hash; python -m saccade.gym.golden {family.name}"
    versions, sha256 = record
    if versions != library_versions(family):
        return ""
    drawn = family_digest(golden_samples(family) if samples is None else samples)
    if drawn == sha256:
        return ""
    return (
        f"the family {family.name} draws other bytes ({drawn[:12]}, not {sha256[:12]}) with the same libraries "
        f"({', '.join(f'{name} {at}' for name, at in versions.items())}): its code changed. Where that is meant, run "
        f"python -m saccade.gym.golden {family.name} and say so, for seeds now give other tasks"
    )


def write_golden(family: GymFamily) -> None:
    """Put the family's hash on record."""
    FOLDER.mkdir(exist_ok=True)
    record = {"versions": dict(library_versions(family)), "sha256": family_digest(golden_samples(family))}
    (FOLDER / f"{family.name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or list(gym_families()):
        named = gym_families()[wanted]
        if not any(missing_modules(renderer) for renderer in named.renderers):
            write_golden(named)
