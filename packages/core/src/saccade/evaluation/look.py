"""A benchmark of looking: 2,000 fixed drawn questions, and how well the evidence was looked at.

The questions are drawn from a seed on the machine that measures; their hash says that they are the ones of the card.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from saccade.errors import UserError
from saccade.evaluation.statistics import wilson_interval
from saccade.media.store import MediaStore
from saccade.rewards.evidence import SHOWN, look_of
from saccade.rewards.reward import told_right
from saccade.runs.task_json import task_to_json
from saccade.tasks.procedural import generate
from saccade.types import Attempt, Example, ToolCall

NAME = "look"


@dataclass(frozen=True, kw_only=True, slots=True)
class LookSet:
    """A version of the benchmark: families in turn, each at the difficulties in turn."""

    version: str
    seed: int
    families: tuple[str, ...]
    difficulties: tuple[float, ...]
    questions: int
    sha256: str
    """Of all tasks with the hashes of their pictures."""
    drawn_with: Mapping[str, str]
    """Versions of the libraries that drew them first."""


LOOK = LookSet(
    version="1.0",
    seed=20_261_124,
    families=(
        "visual_search",
        "attributes",
        "counting",
        "spatial_relation",
        "chart_bars",
        "chart_lines",
        "chart_pie",
        "table_lookup",
        "document_text",
        "geometry_angle",
        "geometry_length",
        "map_regions",
        "plate_pair",
        "plate_relation",
        "dot_table",
        "scale_bar",
    ),
    difficulties=(0.5, 0.75, 1.0),
    questions=2000,
    sha256="29dd8d1a86ff1d1effa133d5bba33de63296818310a9db162d4ff2c6374538e0",
    drawn_with={"numpy": "2.4.6", "pillow": "13.0.0"},
)


def look_examples(media: MediaStore, count: int | None = None, *, split: str = "held_out") -> list[Example]:
    """The first ``count`` questions with their experts; all are checked against the hash of the version.

    UserError where they differ: another library drew other pixels, and figures could not be compared.
    """
    wanted = LOOK.questions if count is None else min(count, LOOK.questions)
    found = [_example(number, split, media) for number in range(wanted)]
    if split == "held_out" and wanted == LOOK.questions and (digest := digest_of(found)) != LOOK.sha256:
        here = ", ".join(f"{name} {version(name)} (expected {then})" for name, then in LOOK.drawn_with.items())
        raise UserError(
            f"the questions of {NAME} {LOOK.version} differ on this machine ({digest[:12]}, not "
            f"{LOOK.sha256[:12]}), drawn with {here}; install the versions in brackets, or export the questions on a "
            f"machine that has them (saccade export --suite {NAME} --to folder) and measure with --data"
        )
    return found


def _example(number: int, split: str, media: MediaStore) -> Example:
    family = LOOK.families[number % len(LOOK.families)]
    index = number // len(LOOK.families)
    difficulty = LOOK.difficulties[index % len(LOOK.difficulties)]
    return generate(family, split=split, index=index, seed=LOOK.seed, media=media, difficulty=difficulty)


def digest_of(examples: Iterable[Example]) -> str:
    """SHA-256 of all tasks, which name their pictures by the hash of their pixels."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(json.dumps(task_to_json(example.task), sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


def look_card() -> str:
    """The card of the data set, in Markdown, with the front matter of the Hugging Face Hub."""
    families = ", ".join(LOOK.families)
    made = ", ".join(f"{name} {at}" for name, at in LOOK.drawn_with.items())
    return (
        f"---\nlicense: apache-2.0\ntask_categories: [visual-question-answering]\nsize_categories: [1K<n<10K]\n---\n\n"
        f"# look {LOOK.version}\n\n{LOOK.questions:,} questions on drawn pictures of 256 x 256 pixels, each with the "
        f"regions that its answer depends on.\n\n- Families in turn: {families}.\n- Difficulties in turn: "
        f"{', '.join(map(str, LOOK.difficulties))}. Held-out split, seed {LOOK.seed}.\n- Hash of all tasks (SHA-256): "
        f"`{LOOK.sha256}`, drawn with {made}.\n- Made by `saccade export --suite look --to folder`; measured by "
        "`saccade eval --suite look`.\n- Report accuracy with and without tools, evidence hit rate (a crop shows "
        "half of a region), calls and tokens.\n- Pictures hold no person and no photograph. Do not train on the "
        "held-out split of these families with this seed.\n- A picture of 256 pixels fits whole into the view of a "
        "large model: for such a model this measures reading fine detail, not the choice of where to look.\n"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class LookFigures:
    """What an evaluation of the benchmark gives beside its accuracy."""

    questions: int
    failed: int
    """Left out: the machine failed them."""
    accuracy: float
    ci95: tuple[float, float]
    evidence_hit_rate: float
    """Share of the questions with regions of which a crop showed at least half of one."""
    calls: float
    """A question."""
    action_tokens: float
    """A question; 0 of a model at a server, whose tokens are not seen."""
    by_family: Mapping[str, float]

    def line(self) -> str:
        low, high = self.ci95
        return (
            f"{100 * self.accuracy:.1f} % right ({100 * low:.1f} to {100 * high:.1f}, {self.questions} questions), "
            f"evidence looked at in {100 * self.evidence_hit_rate:.1f} %, {self.calls:.2f} calls, "
            f"{self.action_tokens:.0f} tokens"
        )


def look_figures(attempts: Sequence[Attempt]) -> LookFigures:
    """The figures of attempts at the benchmark's questions; UserError where the machine failed all of them."""
    played = [one for one in attempts if one.trajectory.score is not None]
    if not played:
        raise UserError(f"none of {len(attempts)} questions of {NAME} was scored: all failed with machine errors")
    right = [one.trajectory.score is not None and told_right(one.trajectory.score) for one in played]
    located = [one for one in played if one.task.targets]
    looks = [look_of(one.task, one.trajectory) for one in located]
    families: dict[str, list[bool]] = {}
    for one, is_right in zip(played, right):
        families.setdefault(one.task.family, []).append(is_right)
    return LookFigures(
        questions=len(played),
        failed=len(attempts) - len(played),
        accuracy=sum(right) / len(right),
        ci95=wilson_interval(sum(right), len(right)),
        evidence_hit_rate=sum(look is not None and look.coverage >= SHOWN for look in looks) / max(1, len(located)),
        calls=sum(_calls(one) for one in played) / len(played),
        action_tokens=sum(_tokens(one) for one in played) / len(played),
        by_family={family: sum(of) / len(of) for family, of in sorted(families.items())},
    )


def _calls(attempt: Attempt) -> int:
    return sum(isinstance(turn.action, ToolCall) for turn in attempt.trajectory.turns)


def _tokens(attempt: Attempt) -> int:
    return sum(len(part.ids) for part in attempt.trajectory.segments if part.role == "action")
