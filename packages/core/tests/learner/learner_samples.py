"""Small models and batches on which the learner's options are tried."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from saccade.algorithms.algorithm import Aggregation
from saccade.algorithms.losses import negative_log_likelihood
from saccade.learner.learner import Learner
from saccade.learner.sequences import TrainingSequence, weighted
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.loading import LoadSettings, load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Message, Observation

SMALL = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48)


def small_model(family: TinyFamily = "qwen3_vl", *, size: TinySize = SMALL, seed: int = 1) -> VisionLanguageModel:
    return tiny_model(["Which plate is red?"] * 9, MediaStore(), family=family, size=size, vocab_size=300, seed=seed)


def loaded_model(directory: Path, **settings: str) -> VisionLanguageModel:
    """The small model as a checkpoint on disk gives it."""
    if not directory.exists():
        small_model().save(directory)
    return load_model(directory, MediaStore(), LoadSettings(device="cpu", **settings))  # type: ignore[arg-type]


def picture(model: VisionLanguageModel, seed: int, *, height: int = 64) -> ImageRef:
    pixels = np.random.default_rng(seed).integers(0, 255, (height, 64, 3), dtype=np.uint8)
    return model.media.add(Image.fromarray(pixels))


def sequence(model: VisionLanguageModel, index: int, *, prompt: int = 0) -> TrainingSequence:
    """Looks once and answers; sequences with the same ``prompt`` share its picture and words."""
    asked = model.chat.prompt([Message(role="user", parts=(picture(model, prompt), "Which plate? " * (prompt + 1)))])
    look = model.chat.encode("<think>look" + " closer" * index)
    seen = model.chat.observation(Observation(text="", images=(picture(model, 100 + index),)), ends_with_eos=False)
    answer = model.chat.encode("<answer>red</answer>")
    parts = ((asked.ids, False), (look, True), (seen.ids, False), (answer, True))
    count = len(look) + len(answer)
    generator = np.random.default_rng(index)
    return TrainingSequence(
        ids=tuple(i for ids, _ in parts for i in ids),
        is_action=tuple(acts for ids, acts in parts for _ in ids),
        images=(*asked.images, *seen.images),
        prompt_tokens=len(asked.ids),
        prompt_images=len(asked.images),
        sampled_logprobs=tuple((-generator.random(count)).tolist()),
        advantages=tuple(generator.normal(size=count).tolist()),
        token_weight=1.0,
    )


def batch(model: VisionLanguageModel, count: int = 4) -> list[TrainingSequence]:
    """Two groups."""
    return weighted([sequence(model, index, prompt=index % 2) for index in range(count)], Aggregation())


def imitate(learner: Learner, *, steps: int, rate: float = 1e-2) -> list[float]:
    """The loss of each of these steps on one batch."""
    sequences = batch(learner.model)
    return [
        learner.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=rate)["nll"]
        for _ in range(steps)
    ]


def weights(model: VisionLanguageModel) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in model.hf.state_dict().items()}


def same_bytes(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
