"""Whether each process of a run fits its machine, and settings with which it would: a small search over the plan."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from saccade.config.fleet import FleetSettings
from saccade.learner.optimizer import OptimizerSettings
from saccade.models.checkpoint import LoadSettings
from saccade.models.lora import LoraSettings
from saccade.models.shape import ModelShape
from saccade.rollout.episodes import RolloutSettings
from saccade.train.memory_plan import MemoryPlan, memory_plan, usual_load
from saccade.train.memory_process import Load, Place
from saccade.train.memory_roles import Role, roles_of
from saccade.train.stage_settings import RLSettings

_SHOWN = 3
_ROWS = (64, 32, 16, 8)
_RANKS = (64, 16)


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """A run of reinforcement as far as its memory goes."""

    shape: ModelShape
    model: LoadSettings
    rl: RLSettings
    rollout: RolloutSettings
    fleet: FleetSettings
    on_gpu: bool
    is_served: bool = False
    """Whether a server samples, which is not counted."""
    teacher: ModelShape | None = None
    """A teacher with weights of its own."""
    is_taught_by_first: bool = False
    """Whether the policy that the stage began with teaches."""
    limit: Callable[[Load], Load] = lambda load: load
    """What is known to be less than the settings allow."""

    @property
    def load(self) -> Load:
        return self.limit(usual_load(self.shape, self.model, self.rl, self.rollout))

    def plans(self) -> list[tuple[Role, MemoryPlan]]:
        """The plan of one process of each role."""
        algorithm = self.rl.algorithm
        pays_kl = algorithm.options.kl_weight > 0 or algorithm.options.kl_in_reward > 0
        compares_pairs = algorithm.name == "dpo" and not algorithm.dpo.reference_free
        needs_reference = pays_kl or compares_pairs or self.is_taught_by_first
        return [
            (
                role,
                memory_plan(
                    self.shape,
                    model=self.model,
                    optimizer=self.rl.optimizer,
                    load=self.load,
                    on_gpu=self.on_gpu,
                    role=role,
                    needs_reference=needs_reference,
                    teacher=self.teacher,
                    compares_whole=algorithm.distill.compares_whole,
                    needs_critic=algorithm.name == "ppo",
                ),
            )
            for role in roles_of(self.fleet, is_served=self.is_served)
        ]

    def with_optimizer(self, **changes: object) -> "Setup":
        optimizer: OptimizerSettings = replace(self.rl.optimizer, **changes)  # type: ignore[arg-type]
        return replace(self, rl=replace(self.rl, optimizer=optimizer))


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryBounds:
    """Bytes that there are, of each GPU and of the host of all processes."""

    gpu: float
    host: float

    def of(self, role: Role, place: Place, *, on_gpu: bool) -> float:
        return self.gpu * role.gpu_share if on_gpu and place == "device" else self.host

    def fit(self, setup: Setup) -> bool:
        """Whether every process fits."""
        plans = setup.plans()
        if not setup.on_gpu:
            return host_bytes(setup, plans) <= self.host
        on_gpus = all(plan.peak() <= self.of(role, "device", on_gpu=True) for role, plan in plans)
        return on_gpus and host_bytes(setup, plans) <= self.host


def host_bytes(setup: Setup, plans: list[tuple[Role, MemoryPlan]]) -> int:
    """What all processes of one machine take of its memory; of several machines, what the largest process takes."""
    place: Place = "host" if setup.on_gpu else "device"
    peaks = [(role.count, plan.peak(place)) for role, plan in plans]
    return sum(count * peak for count, peak in peaks) if setup.fleet.is_local else max(peak for _, peak in peaks)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Change:
    """A setting as ``--set`` takes it, and how much it intrudes upon the run."""

    text: str
    cost: float
    apply: Callable[[Setup], Setup]

    @property
    def key(self) -> str:
        return self.text.partition("=")[0]


def fitting_settings(setup: Setup, bounds: MemoryBounds) -> list[tuple[str, ...]]:
    """Up to three lists of settings with which the run fits, those first that change least of what is learned and how.

    None of them asks for all that another one asks for, or more.
    """
    ways = [[None, *of_one] for of_one in _changes(setup) if of_one]
    chosen = [tuple(change for change in way if change is not None) for way in product(*ways)]
    found: list[Mapping[str, _Change]] = []
    for changes in sorted(chosen, key=lambda way: sum(change.cost for change in way)):
        way = {change.key: change for change in changes}
        if _clash([change.text for change in changes]) or any(_asks_more(way, than=known) for known in found):
            continue
        changed = setup
        for change in changes:
            changed = change.apply(changed)
        if bounds.fit(changed):
            found.append(way)
            if len(found) == _SHOWN:
                break
    return [tuple(change.text for change in way.values()) for way in found]


def _asks_more(way: Mapping[str, _Change], *, than: Mapping[str, _Change]) -> bool:
    return all(key in way and way[key].cost >= change.cost for key, change in than.items())


def _clash(texts: Sequence[str]) -> bool:
    """Several learners step fp32 moments on their own devices, from weights in full, and keep activations there; an
    adapter's moments are few."""
    saves = any("eight_bit" in text or "offload_optimizer" in text for text in texts)
    codes = any("frozen_weights" in text or "offload_activations" in text for text in texts)
    has_learners = any("learners" in text for text in texts)
    return (saves and any("lora" in text for text in texts)) or ((saves or codes) and has_learners)


def _changes(setup: Setup) -> Iterator[list[_Change]]:
    """Of each setting the changes that save memory, from the one that intrudes least."""
    optimizer, load = setup.rl.optimizer, setup.load
    yield [*_activations(setup)]
    if setup.model.dtype == "float32":
        yield [_Change(text="model.dtype=bfloat16", cost=2.0, apply=lambda one: _with_model(one, dtype="bfloat16"))]
    yield [_rows(count, 1.0 + 0.5 * place) for place, count in enumerate(_ROWS) if count < load.rows]
    packs = [setup.rollout.max_tokens * times for times in (2, 1)]
    yield [
        _optimizer("micro_batch_tokens", 1.0 + 0.5 * place, tokens)
        for place, tokens in enumerate(packs)
        if tokens < min(load.pack_tokens, optimizer.micro_batch_tokens)
    ]
    if setup.fleet.learners == 1 and optimizer.lora is None:
        if not optimizer.eight_bit_optimizer:
            yield [_optimizer("eight_bit_optimizer", 3.0, True)]
        if setup.on_gpu and not optimizer.offload_optimizer:
            yield [_optimizer("offload_optimizer", 3.5, True)]
    if setup.fleet.learners == 1 and optimizer.lora is not None and setup.model.frozen_weights == "full":
        text, less = "model.frozen_weights=int8", partial(_with_model, frozen_weights="int8")
        yield [_Change(text=text, cost=4.0, apply=less)]
    if optimizer.lora is None:
        yield [
            _Change(
                text=f"rl.optimizer.lora.rank={rank}",
                cost=6.0 + 0.1 * place,
                apply=lambda one, rank=rank: one.with_optimizer(lora=LoraSettings(rank=rank)),  # type: ignore[misc]
            )
            for place, rank in enumerate(_RANKS)
        ]
    if setup.on_gpu and not (optimizer.eight_bit_optimizer or optimizer.offload_optimizer or optimizer.compile):
        more = (2, 4, 8) if setup.fleet.learners == 1 else (2 * setup.fleet.learners,)
        yield [_learners(count, 5.0 + place) for place, count in enumerate(more)]


def _activations(setup: Setup) -> Iterator[_Change]:
    """The inputs of layers alone, and these in the host's memory."""
    optimizer = setup.rl.optimizer
    recomputes = _optimizer("activation_checkpointing", 1.0, True)
    if not optimizer.activation_checkpointing:
        yield recomputes
    if setup.on_gpu and setup.fleet.learners == 1 and not (optimizer.offload_activations or optimizer.compile):
        moves = _optimizer("offload_activations", 1.5, True)
        yield (
            moves
            if optimizer.activation_checkpointing
            else _Change(
                text=f"{recomputes.text} --set {moves.text}",
                cost=2.5,
                apply=lambda one: moves.apply(recomputes.apply(one)),
            )
        )


def _optimizer(name: str, cost: float, value: bool | int) -> _Change:
    text = f"rl.optimizer.{name}={str(value).lower()}"
    return _Change(text=text, cost=cost, apply=lambda one: one.with_optimizer(**{name: value}))


def _rows(count: int, cost: float) -> _Change:
    def fewer(one: Setup) -> Setup:
        return _with_model(one, engine=replace(one.model.engine, max_rows=count))

    return _Change(text=f"model.engine.max_rows={count}", cost=cost, apply=fewer)


def _learners(count: int, cost: float) -> _Change:
    def more(one: Setup) -> Setup:
        return replace(one, fleet=replace(one.fleet, learners=count))

    return _Change(text=f"fleet.learners={count}", cost=cost, apply=more)


def _with_model(one: Setup, **changes: object) -> Setup:
    return replace(one, model=replace(one.model, **changes))  # type: ignore[arg-type]
