"""What a run will take in memory, from its sizes and settings alone, part by part and phase by phase.

The formulas count what the code keeps; ``benchmarks/memory_sizes.py`` prints them beside what was measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from saccade.learner.logprobs import logits_at_once
from saccade.learner.optimizer import OptimizerSettings
from saccade.models.checkpoint import LoadSettings
from saccade.models.loading import DEFAULT_MAX_PIXELS
from saccade.models.shape import ChosenShape, ModelShape
from saccade.rollout.episodes import RolloutSettings
from saccade.train.memory_learning import LearnerMemory
from saccade.train.memory_process import PHASES, Load, MemoryPart, Phase, Place
from saccade.train.memory_roles import Role
from saccade.train.stage_settings import RLSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryPlan:
    """One process of a run."""

    parts: tuple[MemoryPart, ...]

    def peak(self, place: Place = "device") -> int:
        return max(self.in_phase(phase, place) for phase in PHASES)

    def in_phase(self, phase: Phase, place: Place = "device") -> int:
        return sum(part.bytes for part in self.parts if part.place == place and part.phase in ("always", phase))

    def highest_phase(self, place: Place = "device") -> Phase:
        return max(PHASES, key=lambda phase: self.in_phase(phase, place))


def usual_load(shape: ModelShape, model: LoadSettings, rl: RLSettings, rollout: RolloutSettings) -> Load:
    """The most that the settings allow: trajectories as long as they may be, half of a pack pictures."""
    longest = rollout.max_tokens
    pack = max(rl.optimizer.micro_batch_tokens, longest)
    rows = min(model.engine.max_rows, rl.tasks_per_step * rl.group_size)
    picture = max(1, _max_pixels(shape, model) // (shape.patch_px * shape.merge) ** 2)
    return Load(
        pack_tokens=pack,
        pack_image_tokens=min(pack, max(picture, pack // 2 // picture * picture)),
        rows=rows,
        row_tokens=longest,
    )


def memory_plan(
    shape: ModelShape,
    *,
    model: LoadSettings,
    optimizer: OptimizerSettings,
    load: Load,
    on_gpu: bool = False,
    role: Role = Role(),
    needs_reference: bool = False,
    needs_critic: bool = False,
    teacher: ModelShape | None = None,
    compares_whole: bool = False,
) -> MemoryPlan:
    """Parts of the process of this role; learners share the learner's weights (FSDP2).

    ``teacher`` is one with weights of its own, which the first learner holds whole; ``compares_whole`` says that its
    distributions are compared with the policy's.
    """
    is_half = model.dtype == "bfloat16" or (model.dtype == "auto" and on_gpu and shape.is_half)
    width = 2 if is_half else 4
    one = LearnerMemory(
        shape=shape, model=model, optimizer=optimizer, load=load, on_gpu=on_gpu, role=role, width=width,
        chosen=_chosen(shape, optimizer),
    )  # fmt: skip
    parts = [*one.program()]
    if role.learners:
        parts += [*one.states(needs_reference=needs_reference, needs_critic=needs_critic), *one.learning()]
        if teacher is not None and role.is_first_learner:
            parts.append(MemoryPart(name="teacher", bytes=width * teacher.weights))
        if compares_whole:
            # Ten arrays of a quarter of the logits: two distributions, what their comparison keeps, and gradients.
            logits = 10 * logits_at_once(on_gpu=on_gpu)
            parts.append(MemoryPart(name="distributions of policy and teacher", bytes=logits, phase="learning"))
    if role.samples:
        parts += one.sampling()
    return MemoryPlan(parts=tuple(part for part in parts if part.bytes))


def _chosen(shape: ModelShape, settings: OptimizerSettings) -> ChosenShape:
    if settings.trained is not None:
        return shape.chosen(settings.trained)
    if settings.lora is not None:
        return ChosenShape(weights=0, has_vision=False, has_tower=False, has_head=False)
    sees = not settings.frozen_vision
    weights = shape.weights - (0 if sees else shape.vision_weights)
    return ChosenShape(weights=weights, has_vision=sees, has_tower=sees, has_head=True)


def _max_pixels(shape: ModelShape, model: LoadSettings) -> int:
    own = shape.max_pixels or DEFAULT_MAX_PIXELS
    if model.max_pixels == "checkpoint":
        return own
    return min(own, DEFAULT_MAX_PIXELS) if model.max_pixels is None else model.max_pixels


def grouped(plan: MemoryPlan) -> Mapping[Place, tuple[MemoryPart, ...]]:
    """Parts by where they are, the largest first."""
    ordered = sorted(plan.parts, key=lambda part: -part.bytes)
    return {place: tuple(part for part in ordered if part.place == place) for place in ("device", "host")}
