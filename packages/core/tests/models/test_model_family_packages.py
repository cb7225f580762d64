"""Model families of other packages; the file of the page "Add a model family" (``docs/add/model_family.md``) is one."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import LlavaConfig, LlavaForConditionalGeneration, Qwen2Config, SiglipVisionConfig
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

from places import ROOT
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings
from saccade.models.families import family_of
from saccade.models.loading import load_model
from saccade.models.tokenizer import QWEN_LAYOUT, TokenLayout, build_tokenizer
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.family_case import FamilyCase
from saccade.testing.family_check import CHECKS, check_family
from test_entry_points import installed
from warm import run_warm

PAGE = (ROOT / "docs/add/model_family.md").read_text(encoding="utf-8")
[FAMILY, SMALL] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
[OFFERED] = re.findall(r"^\"(saccade\.model_families)\" = \{llava = \"my_llava:LLAVA\"\}", PAGE, flags=re.MULTILINE)
LAYOUT = TokenLayout(
    scaffolding=("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>"),
    chat_template=QWEN_LAYOUT.chat_template.replace("<|vision_start|><|image_pad|><|vision_end|>", "<image>"),
)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def offered(site: Path, module: str, text: str = FAMILY, name: str = "llava", attribute: str = "LLAVA") -> None:
    installed(site, module.replace("_", "-"), f"[{OFFERED}]\n{name} = {module}:{attribute}\n", **{module: text})


def write_llava(folder: Path, layers: int = 2) -> None:
    """Real classes of a few thousand weights, in the layout of the published checkpoint."""
    tokenizer = build_tokenizer(["What is written there?"] * 9, vocab_size=320, layout=LAYOUT)
    text = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        initializer_range=0.1,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    tower = SiglipVisionConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=42,
        patch_size=14,
        vision_use_head=False,
    )
    config = LlavaConfig(
        text_config=text,
        vision_config=tower,
        image_token_index=int(tokenizer.convert_tokens_to_ids("<image>")),
        image_seq_length=9,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        hf = LlavaForConditionalGeneration(config).eval()
    processor = SiglipImageProcessorPil(size={"height": 42, "width": 42})
    VisionLanguageModel(hf, tokenizer, processor, MediaStore()).save(folder)


def test_the_family_of_the_page_passes_in_a_test_and_by_the_command(site: Path) -> None:
    offered(site, "my_llava")
    write_llava(site / "published", layers=3)
    exec(SMALL, page := dict[str, Callable[[Path, Path], None]]())
    page["write_small"](site / "published", site / "checkpoint")
    found = {one.check: one.outcome for one in check_family(site / "checkpoint")}
    assert {name for name, outcome in found.items() if outcome != "passes"} == {"vLLM"}
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "saccade", "check-family", str(site / "checkpoint")]
    done = run_warm(command, cwd=site, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = FAMILY.replace('"height"]', '"height"] // 3 * 2').replace("return 1", "return config.no_such_name")
    (site / "my_llava.py").write_text(wrong)
    done = run_warm(command, cwd=site, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"tokens of pictures +fails +96 x 64: 4 ids, of the processor 9", done.stdout)
    assert re.search(r"memory plan +fails +AttributeError: .*no_such_name.*my_llava\.py:\d+\)", done.stdout)


def test_patches_of_an_image_token_that_the_plan_counts_wrong_are_found(site: Path) -> None:
    offered(site, "merged_llava", text=FAMILY.replace("return 1", "return 2"))
    write_llava(site / "checkpoint")
    with pytest.raises(AssertionError, match=r"an image token is 1\.00 patches; merge says 4"):
        CHECKS["memory plan"](FamilyCase(site / "checkpoint", MediaStore()))


def test_a_family_without_an_end_of_its_own_takes_the_tokenizers(site: Path) -> None:
    ends = FAMILY.replace("architecture=", 'eos_token="", architecture=')
    offered(site, "ended_llava", text=ends)
    write_llava(site / "checkpoint")
    model = load_model(site / "checkpoint", MediaStore(), LoadSettings(device="cpu"))
    assert (model.eos_token, model.eos_id) == ("<|im_end|>", model.tokenizer.eos_token_id)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ('language="model.words"', r"language model is model\.words, which LlavaForCond.* has not; mend language"),
        ('eos_token="</s>"', "the tokenizer has no </s>, which ends a turn; .*mend eos_token of a family of your own"),
    ],
)
def test_a_setting_that_does_not_fit_the_checkpoint_is_named(
    site: Path, monkeypatch: pytest.MonkeyPatch, setting: str, message: str
) -> None:
    offered(site, "unfit_llava")
    write_llava(site / "checkpoint")
    (site / "unfit_llava.py").write_text(FAMILY.replace("architecture=", f"{setting}, architecture="))
    monkeypatch.delitem(sys.modules, "unfit_llava")
    with pytest.raises(UserError, match=message):
        load_model(site / "checkpoint", MediaStore(), LoadSettings(device="cpu"))


def test_saccades_own_families_come_first_and_nothing_is_imported_for_them(site: Path) -> None:
    offered(site, "takes_qwen", text="raise SystemExit('imported')", name="qwen3_vl")
    assert family_of("qwen3_vl").architecture == "Qwen3VLForConditionalGeneration"
    assert "takes_qwen" not in sys.modules


@pytest.mark.parametrize(
    ("module", "text", "message"),
    [
        ("no_family", "LLAVA = 3", "no-family offers no_family:LLAVA as the family of 'llava', and it is a int"),
        (
            "class_family",
            FAMILY.replace("LLAVA = ", "LLAVA = LlavaFamily\nMADE = "),
            "and it is the class LlavaFamily, ",
        ),
        ("other_family", FAMILY.replace('model_type="llava"', 'model_type="lava"'), "and it is the family of 'lava'"),
        ("half_family", FAMILY.replace("view_rule", "rule_of_views"), "cannot be imported: TypeError: .*view_rule"),
        ("broken_family", "import nothing_of_this_name", "broken-family offers 'llava' .*update or uninstall"),
    ],
)
def test_a_package_whose_family_cannot_be_used_is_named(site: Path, module: str, text: str, message: str) -> None:
    offered(site, module, text)
    with pytest.raises(UserError, match=message):
        family_of("llava")


def test_an_unknown_family_is_told_with_the_ways_to_one() -> None:
    with pytest.raises(
        UserError, match=r"'llava' is not a family .*use one of qwen2_5_vl.*saccade\.model_families.*docs"
    ):
        family_of("llava")
