"""A client's chunks as tokens of the model, and its examples as sequences that the learner takes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.learner.sequences import TrainingSequence
from saccade.media.decode import MediaError
from saccade.media.store import MediaStore
from saccade.models.vlm import VisionLanguageModel
from saccade.serving.tinker.losses import LossKind
from saccade.serving.tinker.messages import InputChunk, LossExample, TokenChunk
from saccade.types import ImageRef, Tokens


def tokens_of(chunks: Sequence[InputChunk], model: VisionLanguageModel, media: MediaStore) -> Tokens:
    """Ids with placeholders where pictures stand, as the engine's own prompts have them.

    A picture is its placeholders alone: what a chat template writes around it is the client's text. UserError for an id
    that the model does not have, a placeholder in the text, a picture that is none, or one of another number of tokens
    than the client expects.
    """
    ids: list[int] = []
    images: list[ImageRef] = []
    for chunk in chunks:
        if isinstance(chunk, TokenChunk):
            _check_ids(chunk.ids, model)
            ids += chunk.ids
            continue
        try:
            image = media.add_encoded(chunk.raw, f"picture {len(images)}")
        except MediaError as error:
            raise UserError(str(error)) from error
        before = len(ids)
        for part in model.chat.image_layout(image):
            own = model.tokenizer.encode(part, add_special_tokens=False) if isinstance(part, str) else None
            ids += [model.image_token_id] * part if isinstance(part, int) else own or []
        if chunk.expected_tokens is not None and chunk.expected_tokens != len(ids) - before:
            raise UserError(
                f"picture {len(images)} of {image.width} x {image.height} pixels is {len(ids) - before} tokens and "
                f"expected_tokens says {chunk.expected_tokens}; count them with the checkpoint's own image processor"
            )
        images.append(image)
    if not ids:
        raise UserError("the input is empty; send at least one token")
    if model.longest_sequence and len(ids) > model.longest_sequence:
        raise UserError(f"the input has {len(ids)} tokens; the model takes {model.longest_sequence}")
    return Tokens(ids=tuple(ids), images=tuple(images))


def _check_ids(ids: Sequence[int], model: VisionLanguageModel) -> None:
    for one in ids:
        if not 0 <= one < model.vocab_size:
            raise UserError(f"token {one} is none of the model's {model.vocab_size}; encode with its own tokenizer")
        if one == model.image_token_id:
            raise UserError(f"token {one} stands for a picture; send the picture as a chunk of its own")


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedSequence:
    """A sequence for the learner, and where its log-probabilities go among those of its example."""

    sequence: TrainingSequence
    places: NDArray[np.int64]
    """In the example's targets, flattened."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedExample:
    """An example as sequences: one, or several that share one forward."""

    shape: tuple[int, ...]
    """Of its targets."""
    sequences: tuple[AskedSequence, ...]


def asked_example(
    example: LossExample, kind: LossKind, model: VisionLanguageModel, media: MediaStore, *, index: int
) -> AskedExample:
    """UserError, which names the example, where its inputs do not fit the loss, the model or each other."""
    try:
        return _asked(example, kind, model, media)
    except UserError as error:
        raise UserError(f"data[{index}]: {error}") from error


def _asked(example: LossExample, kind: LossKind, model: VisionLanguageModel, media: MediaStore) -> AskedExample:
    tokens = tokens_of(example.chunks, model, media)
    inputs = _checked_inputs(example, kind, len(tokens.ids))
    targets, weights = inputs["target_tokens"], inputs[kind.weight]
    is_asked = inputs[kind.mask] != 0 if kind.mask else np.ones(targets.shape, bool)
    if (weights[~is_asked] != 0).any():
        raise UserError(
            f"advantages must be 0 where {kind.mask} is 0: the ratio of the sequence is not of those tokens"
        )
    _check_targets(targets, weights, model)
    columns = 1 if targets.ndim == 1 else targets.shape[1]
    is_single = columns == 1 and bool(is_asked.all())
    shared = _prompt_of(tokens, weights, model) if is_single else (len(tokens.ids), len(tokens.images))
    sampled = inputs.get("logprobs", np.zeros(targets.shape))
    sequences = []
    for column in range(columns):
        for chosen, weight in ((is_asked, 1.0), (~is_asked, 0.0)):
            rows = np.flatnonzero(chosen.reshape(len(tokens.ids), columns)[:, column])
            if not len(rows):
                continue
            places = rows * columns + column
            is_action = np.zeros(len(tokens.ids) + 1, bool)
            is_action[rows + 1] = True
            sequence = TrainingSequence(
                # What the last place predicts is asked for, and never read.
                ids=(*tokens.ids, model.eos_id),
                is_action=tuple(is_action.tolist()),
                images=tokens.images,
                prompt_tokens=shared[0],
                prompt_images=shared[1],
                sampled_logprobs=tuple(sampled.reshape(-1)[places].tolist()),
                advantages=tuple(weights.reshape(-1)[places].tolist()),
                token_weight=weight,
                targets=tuple(targets.reshape(-1)[places].tolist()),
            )
            sequences.append(AskedSequence(sequence=sequence, places=places))
    return AskedExample(shape=targets.shape, sequences=tuple(sequences))


def _checked_inputs(example: LossExample, kind: LossKind, length: int) -> dict[str, NDArray[np.float64 | np.int64]]:
    inputs = dict(example.inputs)
    if unknown := sorted(set(inputs) - set(kind.inputs)):
        raise UserError(f"loss_fn_inputs has {unknown[0]!r}; this loss takes {', '.join(kind.inputs)}")
    targets = inputs.get("target_tokens")
    if targets is not None and "weights" in kind.inputs:
        inputs.setdefault("weights", np.ones(targets.shape))
    if missing := [name for name in kind.inputs if name not in inputs]:
        raise UserError(f"loss_fn_inputs lacks {missing[0]!r}; this loss takes {', '.join(kind.inputs)}")
    targets = inputs["target_tokens"]
    is_wide = targets.ndim == 2 and kind.inputs == ("target_tokens", "weights") and targets.shape[1] > 0
    if targets.dtype.kind != "i" or not (targets.ndim == 1 or is_wide) or len(targets) != length:
        raise UserError(
            f"target_tokens has the shape {list(targets.shape)} and must be whole numbers, one for each of the "
            f"{length} tokens of model_input (for cross_entropy perhaps several for each)"
        )
    for name, values in inputs.items():
        if values.shape != targets.shape:
            raise UserError(f"{name} has the shape {list(values.shape)}, and target_tokens {list(targets.shape)}")
        if not np.isfinite(values).all():
            raise UserError(f"{name} has a number that is not finite")
    return inputs


def _check_targets(
    targets: NDArray[np.float64 | np.int64], weights: NDArray[np.float64 | np.int64], model: VisionLanguageModel
) -> None:
    if ((targets < 0) | (targets >= model.vocab_size)).any():
        raise UserError(f"target_tokens has an id that is none of the model's {model.vocab_size}")
    is_never = np.isin(targets, model.forbidden_ids.cpu().numpy()) & (weights != 0)
    if is_never.any():
        one = int(targets[is_never][0])
        raise UserError(
            f"target_tokens has {one} ({model.tokenizer.convert_ids_to_tokens(one)}), which this model never writes; "
            "give it a weight or an advantage of 0"
        )


def _prompt_of(tokens: Tokens, weights: NDArray[np.float64 | np.int64], model: VisionLanguageModel) -> tuple[int, int]:
    """Leading tokens, with their images, before the first target that counts: examples of a group share them."""
    counted = np.flatnonzero(weights)
    for length in range(int(counted[0]) + 1 if len(counted) else len(tokens.ids), len(tokens.ids)):
        left, images = tokens.ids[:length].count(model.image_token_id), 0
        while left > 0:
            left -= model.view.token_count(tokens.images[images])
            images += 1
        # Not inside a picture.
        if left == 0:
            return length, images
    return len(tokens.ids), len(tokens.images)
