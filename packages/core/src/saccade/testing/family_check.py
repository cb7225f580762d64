"""Conformance of a model family, tried on a checkpoint: what transformers itself gives, Saccade gives too.

check_family(Path("checkpoints/my-model"))      # in a test; saccade check-family DIR prints the table
"""

import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.testing import family_inputs, family_runs, family_weights
from saccade.testing.family_case import FallsBackError, FamilyCase, NotTriedError

Outcome = Literal["passes", "fails", "falls back", "not tried"]


@dataclass(frozen=True, slots=True)
class FamilyFinding:
    """What one check found."""

    check: str
    outcome: Outcome
    figure: str
    """What was measured, or what is wrong."""


CHECKS: Mapping[str, Callable[[FamilyCase], str]] = MappingProxyType(
    {
        "tokens of pictures": family_inputs.picture_tokens,
        "pixels": family_inputs.pixels,
        "prompt and observation": family_inputs.rendering,
        "positions": family_inputs.positions,
        "forward": family_inputs.forward,
        "engine": family_runs.engine,
        "packs": family_runs.packs,
        "neighbours in a pack": family_runs.neighbours,
        "gradients of packs": family_runs.gradients,
        "native kernels": family_runs.kernels,
        "vLLM": family_runs.served,
        "parts": family_weights.parts,
        "frozen vision": family_weights.frozen,
        "LoRA on the language model": family_weights.lora_on_language,
        "LoRA on the vision tower": family_weights.lora_on_vision,
        "save and load": family_weights.saved,
        "memory plan": family_weights.planned,
    }
)
"""By name, in order: each gives a figure, or raises ``AssertionError``, ``FallsBackError`` or ``NotTriedError``."""


def family_findings(directory: Path) -> Iterator[FamilyFinding]:
    """One finding for each of ``CHECKS``, as they come. UserError for a directory that cannot be loaded."""
    case = FamilyCase(directory, MediaStore())
    if case.model.adapter is not None:
        raise UserError(f"{directory} is an adapter; check its base, or what saccade merge makes of both")
    for name, check in CHECKS.items():
        try:
            yield FamilyFinding(name, "passes", check(case))
        except FallsBackError as why:
            yield FamilyFinding(name, "falls back", str(why))
        except NotTriedError as why:
            yield FamilyFinding(name, "not tried", str(why))
        except Exception as error:  # A stranger's family may raise anything.
            said = " ".join(str(error).split())[:300]
            if not isinstance(error, AssertionError):
                said = f"{type(error).__name__}: {said} ({_place(error)})"
            yield FamilyFinding(name, "fails", said)


def _place(error: Exception) -> str:
    """The lines that raised it and called that, without torch's, which say nothing of a family."""
    calls = [
        f"{Path(call.filename).name}:{call.lineno}"
        for call in traceback.extract_tb(error.__traceback__)
        if "/torch/" not in Path(call.filename).as_posix()
    ]
    return ", from ".join(calls[:-4:-1])


def check_family(directory: Path) -> tuple[FamilyFinding, ...]:
    """What all checks found; an ``AssertionError`` names those that fail."""
    found = tuple(family_findings(directory))
    wrong = [f"{one.check}: {one.figure}" for one in found if one.outcome == "fails"]
    assert not wrong, "\n".join(wrong)
    return found
