"""Encoders of pages that sentence-transformers loads: late-interaction models, and models of single vectors."""

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import UserError, missing_extra
from saccade.models.checkpoint import LoadSettings, read_checkpoint_json
from saccade.models.checkpoint_checks import unloadable
from saccade.models.configurations import check_configuration
from saccade.models.quiet import quiet_transformers
from saccade.plain_files import plain_bytes
from saccade.vision_models.kinds import PageVectors, checkpoint_digest

try:
    from sentence_transformers import MultiVectorEncoder, SentenceTransformer
except ImportError as error:
    raise missing_extra("retrieval", "sentence-transformers", needed_for="this encoder of pages") from error


class SentenceEncoder:
    """A directory in the layout of sentence-transformers, or of a model that it can load."""

    def __init__(self, path: Path, settings: LoadSettings = LoadSettings()) -> None:
        settings.check()
        self._model = _load_encoder(path, settings)
        self._identity = f"sentence-transformers:{checkpoint_digest(path)}"
        self._lock = threading.Lock()
        (probe,) = self.encode_questions(["?"])
        self._dimension = int(probe.shape[1])

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def dimension(self) -> int:
        return self._dimension

    def encode_pages(self, images: Sequence[Image.Image]) -> list[PageVectors]:
        """Each page is encoded alone, so its vectors depend on nothing else."""
        with self._lock:
            return [PageVectors(vectors=_rows(self._model.encode_document, image.convert("RGB"))) for image in images]

    def encode_questions(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        with self._lock:
            return [_rows(self._model.encode_query, text) for text in texts]


def _rows(encode: Any, thing: Image.Image | str) -> NDArray[np.float32]:
    """The vectors of one page or question, each of length 1; a single vector is a row of its own."""
    (found,) = encode([thing], convert_to_numpy=True, show_progress_bar=False)
    rows = np.atleast_2d(np.asarray(found, dtype=np.float32))
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _load_encoder(path: Path, settings: LoadSettings) -> Any:
    _check_files(path)
    said = path / "config_sentence_transformers.json"
    try:
        kind = json.loads(plain_bytes(said)).get("model_type") if said.is_file() else None
        model_class = SentenceTransformer if kind == "SentenceTransformer" else MultiVectorEncoder
        with quiet_transformers():
            return model_class(str(path), local_files_only=True, trust_remote_code=False, device=settings.torch_device)
    except Exception as error:  # What damaged files make it raise is of many kinds.
        raise unloadable(path, "by sentence-transformers", error) from error


def _check_files(path: Path) -> None:
    """UserError where the directory names classes of others, or where one of its models asks for what no model may."""
    types: list[object] = []
    for file in path.rglob("*.json"):
        if file.name == "modules.json":
            found = read_checkpoint_json(file)
            types += [one.get("type") for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        elif file.name == "router_config.json":
            found = read_checkpoint_json(file)
            types += dict(found.get("types") or {}).values() if isinstance(found, dict) else ()
        elif file.name == "config.json" and isinstance(found := read_checkpoint_json(file), dict):
            check_configuration(file.parent, found)
    if odd := [one for one in types if not str(one).startswith("sentence_transformers.")]:
        raise UserError(
            f"{path} is made of {str(odd[0])[:80]!a}, which is no class of sentence-transformers; code that comes with "
            "a checkpoint is never run"
        )
