"""Audits kept in a folder, family by family: many families are audited in pieces, and what is done stays done."""

import io
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from saccade.atomic import disk_errors, read_errors, write_bytes_atomic, write_json_atomic
from saccade.codec.codecs import PLAIN_CODEC, plain_json
from saccade.errors import UserError
from saccade.evaluation.audit.audit import AuditSettings
from saccade.evaluation.audit.drawn import PictureLook
from saccade.evaluation.audit.findings import FamilyAudit
from saccade.evaluation.audit.likeness import FamilyLook
from saccade.parsing import json_value
from saccade.plain_files import check_plain, plain_text
from saccade.types import ImageRef, Json


def keep(folder: Path, settings: AuditSettings, audit: FamilyAudit, look: FamilyLook) -> None:
    """Write ``NAME.npz``, the pictures as they are compared with other families', and then ``NAME.json``."""
    seen = [look.seen[image.hash] for image in look.images]
    held = io.BytesIO()
    np.savez_compressed(
        held,
        images=np.array([image.hash for image in look.images], dtype=np.str_),
        sizes=np.array([(image.width, image.height) for image in look.images], dtype=np.int64),
        thumbnails=np.array([one.thumbnail for one in seen], dtype=np.uint8),
        hashes=np.array([json.dumps(one.hashes) for one in seen], dtype=np.str_),
        png_sizes=np.array([one.png_size for one in seen], dtype=np.int64),
    )
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes_atomic(folder / f"{audit.family}.npz", held.getvalue())
        write_json_atomic(folder / f"{audit.family}.json", {"settings": _plain(settings), "audit": plain_json(audit)})


def kept_audit(folder: Path, name: str, settings: AuditSettings) -> tuple[FamilyAudit, FamilyLook] | None:
    """A family's audit as it was kept; None where there is none. UserError where it was made with other settings."""
    file = folder / f"{name}.json"
    if not file.is_file():
        return None
    try:
        found = json_value(plain_text(file))
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read: {error}; name another folder, or remove the file") from error
    if not isinstance(found, Mapping):
        raise UserError(f"{file} must hold a JSON object, not {type(found).__name__}")
    if found.get("settings") != _plain(settings):
        raise UserError(
            f"{file} was made with other settings ({json.dumps(found.get('settings'))}) than these "
            f"({json.dumps(_plain(settings))}); name another folder, or remove the file"
        )
    audit = PLAIN_CODEC.reader(FamilyAudit).from_json(found.get("audit"), f"the audit of {file}")
    with read_errors(file), np.load(check_plain(folder / f"{name}.npz"), allow_pickle=False) as pictures:
        images = tuple(
            ImageRef(hash=str(key), width=int(width), height=int(height))
            for key, (width, height) in zip(pictures["images"], pictures["sizes"].reshape(-1, 2))
        )
        looks = [
            PictureLook(
                thumbnail=thumbnail,
                hashes=tuple(tuple(one) for one in json.loads(str(hashes))),
                png_size=int(size),
            )
            for thumbnail, hashes, size in zip(pictures["thumbnails"], pictures["hashes"], pictures["png_sizes"])
        ]
    seen = {image.hash: look for image, look in zip(images, looks)}
    return audit, FamilyLook(family=name, images=images, seen=seen)


def _plain(settings: AuditSettings) -> dict[str, Json]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()}
