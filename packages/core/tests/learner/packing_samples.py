"""Groups of trajectories as a rollout leaves them, and what transformers' own forward says of each one alone."""

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from saccade.algorithms.algorithm import Aggregation
from saccade.learner.sequences import TrainingSequence, weighted
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Message, Observation

FAMILIES: tuple[TinyFamily, ...] = ("qwen3_vl", "qwen2_5_vl", "qwen3_5", "internvl", "gemma3", "gemma4", "gemma4_large")


def model_of(family: TinyFamily, *, head_dim: int = 8) -> VisionLanguageModel:
    """Native kernels take head dimensions of 16 and its multiples."""
    heads = 32 // head_dim
    size = TinySize(
        hidden=32,
        # The last two of a small one look at the keys of the first.
        layers=4 if family == "gemma4" else 2,
        heads=heads,
        kv_heads=heads // 2,
        mlp=64,
        vision_hidden=32,
        vision_mlp=48,
        deepstack=family == "qwen3_vl",
        max_tiles=3,
    )
    return tiny_model(["Which plate is red? Look closer."] * 9, MediaStore(), family=family, size=size, seed=1)


def picture(model: VisionLanguageModel, number: int) -> ImageRef:
    """Of its own content and shape."""
    pixels = np.random.default_rng(number).integers(0, 255, (40 + 24 * (number % 5), 64, 3), dtype=np.uint8)
    return model.media.add(Image.fromarray(pixels))


def played(
    model: VisionLanguageModel, question: str, pictures: Sequence[int], turns: Sequence[str], looks: Sequence[int]
) -> TrainingSequence:
    """A trajectory: turns of the policy, a picture shown after each as long as there is one."""
    asked = model.chat.prompt([Message(role="user", parts=(*(picture(model, n) for n in pictures), question))])
    ids, is_action, images = list(asked.ids), [False] * len(asked.ids), list(asked.images)
    for turn, text in enumerate(turns):
        said = model.chat.encode(text)
        ids += said
        is_action += [True] * len(said)
        if turn < len(looks):
            shown = Observation(text="Here:", images=(picture(model, looks[turn]),))
            seen = model.chat.observation(shown, ends_with_eos=False)
            ids += seen.ids
            is_action += [False] * len(seen.ids)
            images += seen.images
    count = sum(is_action)
    generator = np.random.default_rng(count)
    return TrainingSequence(
        ids=tuple(ids),
        is_action=tuple(is_action),
        images=tuple(images),
        prompt_tokens=len(asked.ids),
        prompt_images=len(asked.images),
        sampled_logprobs=(-1.0,) * count,
        advantages=tuple(generator.normal(size=count).tolist()),
        token_weight=1.0,
    )


def groups(model: VisionLanguageModel) -> list[TrainingSequence]:
    """Three groups, mixed: shared and own pictures, many lengths, a single token, pictures that come too late."""
    first = ("Which plate is red?", [0])
    third = ("Look closer. Which of both?", [0, 3])
    sequences = [
        played(model, *first, ["<think>look", "<answer>red"], [1]),
        played(model, *third, ["a", "b", "<answer>red</answer>"], [4, 0]),
        played(model, *first, ["<think>seek", "<answer>two"], [2]),
        played(model, *first, ["x"], []),
        played(model, "Alone?", [2], ["<think>yes", "<answer>no"], [2]),
        played(model, *third, ["look closer", "<answer>"], [1, 4]),
        played(model, *first, ["<think>look closer at the plate", "<answer>red"], [2, 3]),
    ]
    return weighted(sequences, Aggregation())


def inputs(model: VisionLanguageModel, sequence: TrainingSequence) -> dict[str, Tensor]:
    """What transformers' own forward takes."""
    ids = torch.tensor([sequence.ids])
    if model.family.model_type == "gemma4":
        pictures = [model.media.get(image) for image in sequence.images]
        shown = model.image_processor(images=pictures, return_tensors="pt")
        names = ("pixel_values", "image_position_ids")
        kinds = (ids == model.image_token_id).int()
        return {"input_ids": ids, "mm_token_type_ids": kinds, **{name: shown[name] for name in names}}
    patches = model.patches.get(sequence.images)
    made = {"input_ids": ids, "pixel_values": torch.cat([patch.values for patch in patches])}
    if model.family.model_type == "gemma3":
        made["token_type_ids"] = (ids == model.image_token_id).int()
    elif model.family.model_type != "internvl":
        made["image_grid_thw"] = torch.tensor([[1, patch.rows, patch.columns] for patch in patches])
        made["mm_token_type_ids"] = (ids == model.image_token_id).int()
    return made


def plain_logprobs(model: VisionLanguageModel, sequence: TrainingSequence, *, temperature: float = 1.0) -> Tensor:
    """Of the action tokens, from one forward of transformers' own model on ids and pixels; differentiable."""
    logits = model.hf(**inputs(model, sequence)).logits[0].index_fill(-1, model.forbidden_ids, -torch.inf)
    logprobs = (logits / temperature).log_softmax(dim=-1)[:-1].gather(-1, torch.tensor(sequence.ids)[1:, None])[:, 0]
    return logprobs[torch.tensor(sequence.is_action)[1:]]


def gradient(model: VisionLanguageModel) -> Tensor:
    """Of all parameters, as one vector."""
    return torch.cat([p.grad.flatten() for p in model.hf.parameters() if p.grad is not None])
