"""Specification of a benchmark: the workload, a step of fixed shape, and what each framework reports of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from PIL import Image

from saccade.bench.measuring import StepWork
from saccade.errors import UserError
from saccade.media.resize import smart_resize
from saccade.models.checkpoint import MatmulPrecision
from saccade.models.lora import LoraSettings
from saccade.seeding import generator_for

# fmt: off
WORDS = (
    "and", "apple", "bear", "bird", "blue", "boat", "book", "box", "bread", "bridge", "brown", "cake", "card", "cat",
    "chair", "child", "city", "clock", "cloud", "coat", "corn", "cup", "day", "desk", "dog", "door", "dress", "duck",
    "farm", "field", "fish", "flag", "floor", "flower", "forest", "fork", "fox", "glass", "goat", "grass", "green",
    "hand", "hat", "hill", "horse", "house", "island", "kite", "lake", "lamp", "leaf", "light", "lion", "map", "milk",
    "moon", "mouse", "nest", "night", "orange", "owl", "page", "paper", "pear", "pen", "piano", "pig", "plane",
    "plate", "pond", "rain", "red", "ring", "river", "road", "rock", "roof", "rose", "sand", "ship", "shirt", "shoe",
    "sky", "snow", "sock", "spoon", "square", "star", "stone", "street", "sun", "table", "tent", "tower", "town",
    "train", "tree", "truck", "wall", "water", "wheel", "white", "wind", "window", "wolf", "wood", "yellow",
)
# fmt: on


WorkloadName = Literal["single", "multi"]

IMAGE_FACTOR = 28
"""Pixels along one side of an image token: patches of 14, merged 2 by 2, as Qwen2.5-VL has them."""
MIN_PIXELS = 56 * 56
MAX_PIXELS = 4096 * IMAGE_FACTOR**2

_SEED = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """A step: ``prompts`` questions about one image each, ``group_size`` trajectories to a question.

    Every turn has exactly ``turn_tokens`` tokens, the end-of-turn token included. In all turns but the last the model
    crops a region of its own out of the image and is shown it.
    """

    name: str
    turns: int
    prompt_tokens: int
    """Tokens of the whole opening, image tokens included."""
    observation_tokens: int = 0
    """From after the model's end-of-turn token to where it may speak again, image tokens included."""
    prompts: int = 4
    group_size: int = 8
    turn_tokens: int = 64
    image_px: int = 224
    """Side of the square image of a question."""
    crop_px: int = 112
    """Side of the square region that the tool gives back."""
    image_tokens: int = 64
    """Tokens of an image of ``image_px``, and of those that the family's processor writes around it."""
    crop_tokens: int = 16

    def check(self) -> None:
        """Raises UserError for a step that cannot be built."""
        for name in ("turns", "prompts", "image_px", "crop_px"):
            if getattr(self, name) < 1:
                raise UserError(f"{name}={getattr(self, name)} must be 1 or more")
        if self.group_size < 2:
            raise UserError(f"group_size={self.group_size} leaves nothing to compare inside a group; use 2 or more")
        if self.crop_px >= self.image_px:
            raise UserError(f"crop_px={self.crop_px} must be below image_px={self.image_px}, so that crops can differ")

    @property
    def trajectories(self) -> int:
        return self.prompts * self.group_size

    @property
    def unique_work(self) -> StepWork:
        """A step in which nothing is done twice; a prompt is trained on once per group.

        The last token of a turn is forwarded together with the observation that follows it, so it counts as prefilled.
        """
        shown = self.turns - 1
        images = self.prompts + self.trajectories * shown
        prompts = self.prompts * self.prompt_tokens
        return StepWork(
            images_preprocessed=images,
            images_encoded_rollout=images,
            images_encoded_training=images,
            tokens_prefilled=prompts + self.trajectories * shown * (self.observation_tokens + 1),
            tokens_decoded=self.trajectories * self.turns * (self.turn_tokens - 1),
            tokens_trained=prompts
            + self.trajectories * (self.turns * self.turn_tokens + shown * self.observation_tokens),
        )

    def picture(self, step: int, prompt: int) -> Image.Image:
        """The image of a question: blocks of random colours, another one in every step."""
        noise = generator_for(_SEED, "picture", step, prompt).integers(0, 256, size=(16, 16, 3), dtype=np.uint8)
        coarse = Image.fromarray(noise, "RGB")
        return coarse.resize((self.image_px, self.image_px), Image.Resampling.BICUBIC)

    def corner(self, step: int, prompt: int, sample: int, turn: int) -> tuple[int, int]:
        """(left, top) of the region that is cropped; no two of a question are the same."""
        free = self.image_px - self.crop_px + 1
        chosen = generator_for(_SEED, "corners", step, prompt).permutation(free * free)
        place = int(chosen[sample * (self.turns - 1) + turn])
        return place % free, place // free

    def reward(self, step: int, prompt: int, sample: int) -> float:
        """Between 0 and 100, so that the floors that frameworks put under a standard deviation do not show."""
        return float(100.0 * generator_for(_SEED, "reward", step, prompt, sample).random())


def image_tokens(side_px: int) -> int:
    """Tokens of a square image in the random model."""
    width, height = smart_resize(side_px, side_px, factor=IMAGE_FACTOR, min_pixels=MIN_PIXELS, max_pixels=MAX_PIXELS)
    return (width // IMAGE_FACTOR) * (height // IMAGE_FACTOR)


WORKLOADS: dict[WorkloadName, Workload] = {
    "single": Workload(name="single", turns=1, prompt_tokens=101),
    "multi": Workload(name="multi", turns=3, prompt_tokens=596, observation_tokens=68),
}
"""A question answered at once, and one answered after two looks; the lengths are those of studies/trl_step."""


def with_image(workload: Workload, image_px: int, tokens_of: Callable[[int], int] = image_tokens) -> Workload:
    """The workload with images of another size or for another model; crops keep half their side, texts their length.

    ``tokens_of`` gives the tokens of a square image by its side.
    """
    crop_px = image_px // 2
    whole, crop = tokens_of(image_px), tokens_of(crop_px)
    grown = workload.observation_tokens + crop - workload.crop_tokens
    return replace(
        workload,
        image_px=image_px,
        crop_px=crop_px,
        image_tokens=whole,
        crop_tokens=crop,
        prompt_tokens=workload.prompt_tokens + whole - workload.image_tokens,
        observation_tokens=grown if workload.turns > 1 else 0,
    )


FrameworkName = Literal["saccade", "trl", "plain"]
"""``plain`` is a training step by transformers and PEFT alone, without a rollout."""
DeviceName = Literal["cpu", "cuda"]
DtypeName = Literal["float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchSpec:
    """Specification of a benchmark, sent to every framework's process."""

    workload: Workload
    directory: Path
    """Gradients of the first step are left here; without a ``checkpoint`` it holds ``model/``."""
    steps: int
    """All steps, the first included, which warms up and is compared but not timed."""
    threads: int
    device: DeviceName
    dtype: DtypeName = "float32"
    """In half precision both frameworks train fp32 weights."""
    matmul_precision: MatmulPrecision = "highest"
    """The same for all frameworks."""
    checkpointing: bool = False
    """Whether both work activations out again in the backward pass: large models do not fit otherwise."""
    learning_rate: float = 1e-6
    micro_batch_sequences: int = 8
    """Trajectories that a framework without packing forwards at once."""
    checkpoint: Path | None = None
    """A model of one's own, which has its chat template of the benchmark in ``directory``."""
    lora_rank: int | None = None
    """Rank of the adapter that is trained; None trains all weights."""

    @property
    def model(self) -> Path:
        return self.checkpoint or self.directory / "model"

    @property
    def chat_template(self) -> Path:
        return (self.directory if self.checkpoint else self.model) / "chat_template.jinja"

    @property
    def lora(self) -> LoraSettings | None:
        return LoraSettings(rank=self.lora_rank, alpha=2.0 * self.lora_rank) if self.lora_rank else None

    def gradient_file(self, framework: FrameworkName) -> Path:
        return self.directory / f"gradient_{framework}.safetensors"


@dataclass(frozen=True, kw_only=True, slots=True)
class StepReport:
    """One step as a framework's process saw it."""

    step: int
    wall_s: float
    cpu_s: float
    """CPU time of all threads of the process."""
    training_cpu_s: float
    """The part of it after the rollout."""
    work: StepWork
    gradient_norm: float
    """Before clipping."""
    entropy: float | None
    """Mean over the sampled tokens, in nats; None where it is not worked out."""
    trained_on: str
    """SHA-256 over the sorted sequences of the step: their ids, and which of them the model chose."""
    peak_mb: float
    """Largest resident set of the process so far, or the largest allocation on a GPU."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """A process that has loaded its framework and its model."""

    versions: Mapping[str, str]
    resident_mb: float
    """Largest resident set before the first step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PeerFailed:
    """A process that had to give up."""

    why: str


PeerReply = Ready | StepReport | PeerFailed


class Channel(Protocol):
    """A framework's end of the pipe; ``multiprocessing`` provides it."""

    def send(self, answer: PeerReply, /) -> None: ...

    def recv(self) -> Literal["step", "stop"]: ...
