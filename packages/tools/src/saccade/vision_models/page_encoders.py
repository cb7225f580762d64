"""Encoders of pages by late interaction: ColPali, ColQwen2 and ColModernVBERT, from transformers checkpoints."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from transformers import (
    ColModernVBertForRetrieval,
    ColModernVBertProcessor,
    ColPaliForRetrieval,
    ColPaliProcessor,
    ColQwen2ForRetrieval,
    ColQwen2Processor,
    PreTrainedModel,
    ProcessorMixin,
)

from saccade.models.checkpoint_checks import unloadable
from saccade.models.loading import LoadSettings
from saccade.models.quiet import quiet_transformers
from saccade.plain_files import check_plain_below
from saccade.vision_models.checkpoints import load_weights, on_device
from saccade.vision_models.kinds import PAGE_ENCODERS, PageEncoder, PageVectors, check_kind, checkpoint_digest, kind_of

_CLASSES: dict[str, tuple[type[PreTrainedModel], type[ProcessorMixin]]] = {
    "colpali": (ColPaliForRetrieval, ColPaliProcessor),
    "colqwen2": (ColQwen2ForRetrieval, ColQwen2Processor),
    "colmodernvbert": (ColModernVBertForRetrieval, ColModernVBertProcessor),
}


def open_page_encoder(where: str, settings: LoadSettings = LoadSettings()) -> PageEncoder:
    """The encoder in a checkpoint directory, or on a server that serves one model."""
    if "://" in where:
        from saccade.vision_models.served_encoders import ServedEncoder

        return ServedEncoder(where)
    return load_page_encoder(Path(where), settings)


def load_page_encoder(path: Path, settings: LoadSettings = LoadSettings()) -> PageEncoder:
    """The encoder that a checkpoint directory holds; UserError says what is wrong with it.

    A model that is none of transformers' own is loaded by sentence-transformers where it has that layout.
    """
    check_plain_below(path)
    has_kind = (path / "config.json").is_file() and kind_of(path) in PAGE_ENCODERS
    if (path / "modules.json").is_file() and not has_kind:
        from saccade.vision_models.sentence_encoders import SentenceEncoder

        return SentenceEncoder(path, settings)
    return LateInteraction(path, settings)


class LateInteraction:
    """A vector for each token of a page or a question; those that only fill up a batch are left out."""

    def __init__(self, path: Path, settings: LoadSettings = LoadSettings()) -> None:
        self._kind = check_kind(path, PAGE_ENCODERS, "encoder of pages")
        model_class, processor_class = _CLASSES[self._kind]
        self._model: Any = load_weights(path, model_class, settings)
        self._processor = _processor(path, processor_class)
        self._identity = f"{self._kind}:{checkpoint_digest(path)}"
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def dimension(self) -> int:
        return int(self._model.embedding_dim)

    def encode_pages(self, images: Sequence[Image.Image]) -> list[PageVectors]:
        """The vectors of each page; each is encoded alone, so they depend on nothing else."""
        with self._lock:
            return [self._page(image) for image in images]

    def encode_questions(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        with self._lock:
            return [self._vectors(self._query(text))[0] for text in texts]

    def question_tokens(self, text: str) -> list[str]:
        """The tokens of a question, those that the processor puts around it included."""
        query = self._query(text)
        ids = query["input_ids"][0][query["attention_mask"][0].bool()].tolist()
        return [self._processor.tokenizer.decode([one]) for one in ids]

    def _query(self, text: str) -> Any:
        return self._processor.process_queries(text=[self._words(text)])

    def _words(self, text: str) -> str:
        """The question without the tokenizer's own marks: one for an image would ask for an image."""
        while marks := [mark for mark in self._processor.tokenizer.all_special_tokens if mark in text]:
            for mark in marks:
                text = text.replace(mark, " ")
        return text

    def _page(self, image: Image.Image) -> PageVectors:
        inputs = self._processor.process_images(images=[image.convert("RGB")])
        vectors, ids = self._vectors(inputs)
        grid = self._grid(inputs, int((ids == self._processor.image_token_id).sum()))
        first = int(np.argmax(ids == self._processor.image_token_id)) if grid else 0
        return PageVectors(vectors=vectors, grid=grid, first=first)

    @torch.inference_mode()
    def _vectors(self, inputs: Any) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The vectors of one page or question, and the tokens that have them."""
        tensors = {name: value for name, value in inputs.items() if name not in ("labels", "token_type_ids")}
        embeddings: Tensor = self._model(**on_device(tensors, self._model)).embeddings[0]
        seen = inputs["attention_mask"][0].bool()
        vectors: NDArray[np.float32] = embeddings[seen.to(embeddings.device)].float().cpu().numpy()
        return vectors, inputs["input_ids"][0][seen].numpy()

    def _grid(self, inputs: Any, patches: int) -> tuple[int, int] | None:
        """Rows and columns of the patches; None where a page is cut into tiles."""
        if self._kind == "colqwen2":
            merged = self._processor.image_processor.merge_size
            _, rows, columns = inputs["image_grid_thw"][0].tolist()
            return rows // merged, columns // merged
        side = round(patches**0.5)
        return (side, side) if self._kind == "colpali" and side * side == patches else None


def _processor(path: Path, processor_class: type[ProcessorMixin]) -> Any:
    try:
        with quiet_transformers():
            return processor_class.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # What damaged files make transformers raise is of many kinds.
        raise unloadable(path, f"as {processor_class.__name__}", error) from error
