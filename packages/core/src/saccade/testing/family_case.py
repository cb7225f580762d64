"""What a model family is checked with: odd pictures, a conversation, and what transformers itself makes of both."""

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from saccade.algorithms.algorithm import Aggregation
from saccade.learner.sequences import TrainingSequence, weighted
from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings
from saccade.models.loading import load_model
from saccade.models.own_processor import own_processor
from saccade.models.quiet import quiet_transformers
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Message, Observation

SAID = "It is too small to read."
_SIZES = ((96, 64), (64, 64), (200, 100), (30, 170), (7, 5), (640, 90), (1, 1), (3, 10), (190, 1), (33, 1000))
_SIDES = (9, 49, 97, 161, 343, 720, 1080)
"""Of plain pictures of every shape between them, whose tokens alone are counted: rounding differs in few."""
_MODES = ("L", "LA", "RGBA", "P", "1", "I;16")
_TURNED = 6
"""EXIF's orientation of a picture that lies on its side."""


class FallsBackError(Exception):
    """What a family has not, and what is done in its place."""


class NotTriedError(Exception):
    """Why a check cannot be made here."""


@dataclass(frozen=True)
class FamilyCase:
    """A checkpoint that is checked."""

    directory: Path
    media: MediaStore

    def load(self, directory: Path | None = None) -> VisionLanguageModel:
        """The checkpoint, or another of the same model, with weights of its own."""
        settings = LoadSettings(device="cpu", dtype="float32", max_pixels="checkpoint")
        return load_model(directory or self.directory, self.media, settings)

    @cached_property
    def model(self) -> VisionLanguageModel:
        return self.load()

    @cached_property
    def pictures(self) -> dict[str, ImageRef]:
        """By what is odd about them, as files that somebody gives."""
        sizes = {f"{width} x {height}": _noise(width, height) for width, height in _SIZES}
        found = {name: self.media.add_encoded(_file(picture), name) for name, picture in sizes.items()}
        for mode in _MODES:
            grey = _noise(70, 90).convert("L" if mode == "I;16" else "RGB")
            found[mode] = self.media.add_encoded(_file(grey.convert(mode)), mode)
        found["turned by EXIF"] = self.media.add_encoded(_file(_noise(90, 40), turned=True), "EXIF")
        return found

    @cached_property
    def plain_pictures(self) -> dict[str, ImageRef]:
        """One of each size, by it."""
        sizes = [(width, height) for width in _SIDES for height in _SIDES]
        return {f"{width} x {height}": self.media.add(Image.new("RGB", (width, height))) for width, height in sizes}

    @cached_property
    def shown(self) -> tuple[ImageRef, ...]:
        """Pictures of the conversation, the last in an observation."""
        return tuple(self.media.add(_noise(*size)) for size in ((96, 64), (50, 120), (72, 72)))

    @cached_property
    def said(self) -> str:
        """A turn, with a thought where the template writes an empty one for a turn that has none."""
        chat = self.model.chat
        return f"<think>hm</think>\n{SAID}" if chat.has_empty_thoughts else chat.opening + SAID

    @cached_property
    def in_pieces(self) -> tuple[int, ...]:
        """A prompt, a turn and an observation, as an episode makes them."""
        chat, (first, second, last) = self.model.chat, self.shown
        prompt = chat.prompt([Message(role="user", parts=(first, "Which?", second, "What is written there?"))])
        seen = chat.observation(Observation(text="Here", images=(last,)), ends_with_eos=False)
        return (*prompt.ids, *chat.encode(self.said), *seen.ids)

    @cached_property
    def written_again(self) -> tuple[int, ...]:
        """The same as it is shown to a model whose template leaves thoughts out of earlier turns."""
        chat, (first, second, last) = self.model.chat, self.shown
        asked = Message(role="user", parts=(first, "Which?", second, "What is written there?"))
        said = Message(role="assistant", parts=(self.said,))
        return chat.history.prompt([asked, said, Message(role="tool", parts=(last, "Here"))]).ids

    @cached_property
    def whole_text(self) -> str:
        """The same conversation by the checkpoint's own template at once."""
        image, chat = {"type": "image"}, self.model.chat
        asked = [image, {"type": "text", "text": "Which?"}, image, {"type": "text", "text": "What is written there?"}]
        messages = [{"role": "user", "content": asked}, chat.as_content("assistant", self.said)]
        head, whole = (
            str(self.model.tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True))
            for said in (messages[:1], [*messages, chat.observation_message("Here", 1)])
        )
        begin = whole.find(self.said)
        # A head that was written otherwise when it was asked for stays so.
        return head + whole[begin:] if whole[:begin].split() == head.split() and not whole.startswith(head) else whole

    def own_inputs(self, images: Sequence[ImageRef], text: str | None = None) -> dict[str, Tensor]:
        """What the family's own processor makes of pictures and a text; without one the pictures stand alone in it."""
        model = self.model
        try:
            processor = own_processor(
                model.family.model_type,
                model.image_processor,
                model.tokenizer,
                model.family.processor_config(model.hf.config),
            )
        except ImportError as error:
            raise NotTriedError(f"{type(error).__name__}: {str(error).strip()[:120]}") from error
        written = (model.family.written_image or model.chat.image_token) * len(images) if text is None else text
        pictures = [model.media.get(image) for image in images]
        with quiet_transformers(), warnings.catch_warnings():
            # A processor may use what a library of its own will change; that is no fault of the family.
            warnings.simplefilter("ignore", DeprecationWarning)
            made = processor(images=pictures, text=[written], return_tensors="pt", add_special_tokens=False)
        return {name: value for name, value in made.items() if isinstance(value, Tensor)}

    def sequences(self) -> list[TrainingSequence]:
        """Two groups, with pictures of their own and in common, and a turn of a single token."""
        asked = ("Which plate is red?", self.shown[:1])
        other = ("Which of both?", self.shown[:2])
        return weighted(
            [
                self._played(*asked, ("look at it", "red"), self.shown[1:2]),
                self._played(*other, ("a", "b", "both of them"), self.shown[1:]),
                self._played(*asked, ("no", "blue or green"), self.shown[2:]),
                self._played(*asked, ("x",), ()),
            ],
            Aggregation(),
        )

    def _played(
        self, question: str, images: Sequence[ImageRef], turns: Sequence[str], looks: Sequence[ImageRef]
    ) -> TrainingSequence:
        chat = self.model.chat
        asked = chat.prompt([Message(role="user", parts=(*images, question))])
        ids, is_action, shown = list(asked.ids), [False] * len(asked.ids), list(images)
        for turn, text in enumerate(turns):
            said = chat.encode(chat.opening + text)
            ids, is_action = [*ids, *said], [*is_action, *[True] * len(said)]
            for look in looks[turn : turn + 1]:
                seen = chat.observation(Observation(text="Here:", images=(look,)), ends_with_eos=False)
                ids, is_action, shown = [*ids, *seen.ids], [*is_action, *[False] * len(seen.ids)], [*shown, look]
        count = sum(is_action)
        return TrainingSequence(
            ids=tuple(ids),
            is_action=tuple(is_action),
            images=tuple(shown),
            prompt_tokens=len(asked.ids),
            prompt_images=len(images),
            sampled_logprobs=(-1.0,) * count,
            advantages=(1.0,) * count,
            token_weight=1.0,
        )


def taken_by(function: Any, values: dict[str, Tensor]) -> dict[str, Tensor]:
    """The values that a function has parameters for."""
    return {name: value for name, value in values.items() if name in signature(function).parameters}


def plain_logits(
    model: VisionLanguageModel, ids: Sequence[int], images: Sequence[ImageRef]
) -> Float[Tensor, "tokens vocabulary"]:
    """Of one forward over a whole sequence, without a cache and without a pack; differentiable."""
    embedded = model.embed(torch.tensor([ids], device=model.device), model.encode_images(images))
    positions = model.positions(ids, images)[:, None].to(model.device)
    return model.logprob_logits(model.hidden(embedded, positions)[0], 1.0)


def plain_logprobs(model: VisionLanguageModel, sequence: TrainingSequence) -> Float[Tensor, "actions"]:
    """Of the action tokens, by ``plain_logits``."""
    logprobs = plain_logits(model, sequence.ids, sequence.images).log_softmax(dim=-1)
    chosen = logprobs[:-1].gather(-1, torch.tensor(sequence.ids)[1:, None])[:, 0]
    return chosen[torch.tensor(sequence.is_action)[1:]]


def _noise(width: int, height: int) -> Image.Image:
    pixels = np.random.default_rng(width * height).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def _file(picture: Image.Image, *, turned: bool = False) -> bytes:
    exif, file = Image.Exif(), io.BytesIO()
    if turned:
        exif[0x0112] = _TURNED
    picture.save(file, "PNG", exif=exif)
    return file.getvalue()
