"""The conformance check of model families: each of ours passes, and what is wrong with one is found by its check."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

from places import ROOT
from saccade.cli.commands import saccade
from saccade.media.resize import ResizeRule, TokenBlock
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.families import family_of
from saccade.models.families.family import Family
from saccade.models.families.idefics3 import Idefics3Family
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.family_case import FamilyCase
from saccade.testing.family_check import CHECKS, check_family
from saccade.types import ImageRef

OTHERWISE = {
    "qwen3_vl_moe": {"vLLM": "falls back", "native kernels": "falls back"},
    "qwen3_5": {"native kernels": "falls back", "vLLM": "falls back"},
    "idefics3": {"vLLM": "falls back"},
    "llava_onevision": {"vLLM": "falls back"},
    "glm4v": {"vLLM": "falls back", "native kernels": "falls back"},
    "glm4v_moe": {"vLLM": "falls back", "native kernels": "falls back"},
    "glm46v": {"vLLM": "falls back", "native kernels": "falls back"},
    "qwen2_vl": {"vLLM": "falls back"},
    "gemma3": {"vLLM": "falls back", "native kernels": "falls back"},
    "gemma4": {"vLLM": "falls back", "native kernels": "falls back"},
    "gemma4_large": {"vLLM": "falls back", "native kernels": "falls back"},
    "smolvlm": {
        "vLLM": "falls back",
        # SmolVLM's own processor needs a package that is not among ours; Idefics3's writes pictures alike.
        **dict.fromkeys(["tokens of pictures", "pixels", "prompt and observation", "forward"], "not tried"),
    },
}


def written(folder: Path, family: TinyFamily) -> Path:
    layers = 4 if family == "gemma4" else 2
    size = TinySize(layers=layers, vision_depth=2, max_tiles=9, deepstack=family.startswith("qwen3_vl"))
    tiny_model(["Which plate? User Assistant"] * 9, MediaStore(), family=family, size=size, seed=1).save(folder)
    return folder


@pytest.mark.parametrize("family", get_args(TinyFamily))
def test_each_family_runs_as_transformers_does(family: TinyFamily, tmp_path: Path) -> None:
    found = {one.check: one.outcome for one in check_family(written(tmp_path, family))}
    assert found == {**dict.fromkeys(CHECKS, "passes"), **OTHERWISE.get(family, {})}


def test_the_pages_table_says_what_each_family_is_found_to_do() -> None:
    lines = (ROOT / "docs" / "add" / "model_family.md").read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("| check | ") and "glm4v" in line)
    head, _, *rows = [
        [cell.strip() for cell in line[1:-1].split("|")] for line in lines[start : start + 2 + len(CHECKS)]
    ]
    assert set(head[1:]) == set(get_args(TinyFamily))
    said = {
        name: {row[0]: row[place].replace("yes", "passes") for row in rows} for place, name in enumerate(head) if place
    }
    assert said == {name: {**dict.fromkeys(CHECKS, "passes"), **OTHERWISE.get(name, {})} for name in head[1:]}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: written(tmp_path_factory.mktemp(name), name) for name in ("qwen3_vl", "idefics3")}


@dataclass(frozen=True, kw_only=True)
class PlainQwen(Family):
    """Qwen's tower with the default's plain positions."""

    def view_rule(self, image_processor, config):  # type: ignore[no-untyped-def]
        return family_of("qwen3_vl").view_rule(image_processor, config)

    def prepare(self, image_processor, picture):  # type: ignore[no-untyped-def]
        return family_of("qwen3_vl").prepare(image_processor, picture)

    def encode(self, hf, patches):  # type: ignore[no-untyped-def]
        return family_of("qwen3_vl").encode(hf, patches)


def with_plain_positions(model: VisionLanguageModel) -> None:
    model.family = PlainQwen(model_type="qwen3_vl", architecture=model.family.architecture)


def with_swapped_tiles(model: VisionLanguageModel) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Swapped(Idefics3Family):
        def encode(self, hf, patches):  # type: ignore[no-untyped-def]
            turned = [replace(patch, values=patch.values.flip(0)) for patch in patches]
            return Idefics3Family.encode(self, hf, turned)

    model.family = Swapped(model_type="idefics3", architecture=model.family.architecture)


def without_rows(model: VisionLanguageModel) -> None:
    layout = model.chat.image_layout
    model.chat = replace(model.chat, image_layout=lambda image: layout(image)[-3:])


def without_lead(model: VisionLanguageModel) -> None:
    model.chat = replace(model.chat, lead="")


def without_a_token_in_some(model: VisionLanguageModel) -> None:
    """As other rounding would: in sizes that none of the odd pictures has."""
    layout = model.chat.image_layout
    model.chat = replace(model.chat, image_layout=lambda image: layout(image)[image.width == 343 :])


@dataclass(frozen=True, kw_only=True, slots=True)
class Unseen(ResizeRule):
    def view_size(self, width: int, height: int) -> tuple[int, int]:
        return width, 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Blockless(ResizeRule):
    def token_blocks(self, image: ImageRef) -> tuple[TokenBlock, ...]:
        return ()


def with_view(rule: type[ResizeRule]) -> Callable[[VisionLanguageModel], None]:
    def change(model: VisionLanguageModel) -> None:
        assert isinstance(model.view, ResizeRule)
        model.view = rule(**asdict(model.view))

    return change


def with_another_end(model: VisionLanguageModel) -> None:
    model.chat = replace(model.chat, eos_token="<|endoftext|>")


def with_seeing_language(model: VisionLanguageModel) -> None:
    model.family = replace(model.family, language="model.visual")


def leaking(model: VisionLanguageModel) -> None:
    """A norm over the batch: what one row says reaches others, and a cache cannot know what comes."""
    layer = model.language_model.layers[0]
    layer.register_forward_hook(lambda module, given, out: out + out.mean(dim=1, keepdim=True))


@pytest.mark.parametrize(
    ("checkpoint", "fault", "check", "said"),
    [
        ("qwen3_vl", with_plain_positions, "positions", "tokens have other positions"),
        ("qwen3_vl", with_plain_positions, "forward", "nats from transformers' own forward"),
        ("qwen3_vl", with_seeing_language, "parts", "weights"),
        ("qwen3_vl", leaking, "engine", "nats from one plain forward"),
        ("qwen3_vl", leaking, "packs", "nats from each sequence alone"),
        ("qwen3_vl", leaking, "neighbours in a pack", "a token of another row moves"),
        ("qwen3_vl", leaking, "gradients of packs", "of its norm from the sum of single rows"),
        ("idefics3", with_swapped_tiles, "pixels", "from those of the processor's pixels"),
        ("idefics3", with_swapped_tiles, "forward", "nats from transformers' own forward"),
        ("qwen3_vl", with_view(Unseen), "tokens of pictures", "96 x 64: view_size is 96 x 0"),
        ("qwen3_vl", with_view(Blockless), "tokens of pictures", "token_count is .*, but token_blocks has 0"),
        ("qwen3_vl", with_another_end, "prompt and observation", "ends a turn with '<.im_end.>.*the family with <.end"),
        ("idefics3", without_a_token_in_some, "tokens of pictures", "343 x 9: "),
        ("idefics3", without_rows, "tokens of pictures", "200 x 100: "),
        ("idefics3", without_rows, "prompt and observation", "from token"),
        ("idefics3", without_lead, "prompt and observation", "from token"),
    ],
)
def test_what_is_wrong_with_a_family_is_found(
    checkpoints: dict[str, Path], checkpoint: str, fault: Callable[[VisionLanguageModel], None], check: str, said: str
) -> None:
    case = FamilyCase(checkpoints[checkpoint], MediaStore())
    fault(case.model)
    with pytest.raises(AssertionError, match=said):
        CHECKS[check](case)


def test_the_command_prints_a_table(checkpoints: dict[str, Path]) -> None:
    command = ["check-family", str(checkpoints["idefics3"])]
    done = CliRunner().invoke(saccade, command)
    assert done.exit_code == 0, done.output
    lines = {line.split("  ")[0]: line for line in done.stdout.splitlines()}
    assert set(CHECKS) == set(lines)
    assert "passes      in use" in lines["native kernels"]
    assert "falls back  " in lines["vLLM"]
