"""A configuration in which every tool of the catalogue is ready: tiny checkpoints, a server of a test.

It proves that tools are wired and keep their contract. What random models find means nothing.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from saccade.media.store import MediaStore
from saccade.models.base import base_checkpoint
from saccade.tasks.procedural import ALL_FAMILIES, generate
from saccade.testing.tasks import tiny_example
from saccade.testing.tiny_specialists import save_tiny
from saccade.tools.catalogue.catalogue import CATALOGUE
from saccade.tools.catalogue.entries import Entry
from saccade.types import Json


def write_tools_file(folder: Path, url: str) -> Path:
    """``tools.toml`` in the folder, beside the checkpoints that it names; ``url`` is that of a ``ChatServer``."""
    server: dict[str, Json] = {"backend": "openai", "url": url, "model": "expert", "timeout_s": 20.0, "retries": 1}
    local: dict[str, Json] = {"backend": "transformers", "model": str(base_checkpoint()), "max_tokens": 8}
    configured: Mapping[str, Mapping[str, Json]] = {
        "detect_objects": {"backend": "transformers", "model": save_tiny("grounding_dino", folder / "dino").name},
        "segment": {"backend": "transformers", "model": save_tiny("sam2", folder / "sam2").name},
        "g_llava": server,
        "multimath": {**local, "max_pixels": 64 * 64},
        "execute_python_code": {"timeout_s": 5.0},
    }
    sections = [
        "\n".join([f"[tools.{entry.name}]", *(f"{key} = {json.dumps(value)}" for key, value in options.items())])
        for entry in CATALOGUE
        for options in [configured.get(entry.name, {})]
    ]
    path = folder / "tools.toml"
    path.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    return path


def example_picture(entry: Entry) -> Image.Image:
    """What the entry's example may be called on: a chart, a figure, a text or a scene."""
    media = MediaStore()
    family = {"charts": "chart_bars", "diagrams": "geometry_problem"}.get(entry.family)
    if entry.name in ("read_text", "read_region"):
        family = "document_text"
    if family is None or family not in ALL_FAMILIES:
        return media.get(tiny_example(media).task.images[0])
    example = generate(family, split="train", index=0, seed=7, media=media)
    return media.get(example.task.images[0])
