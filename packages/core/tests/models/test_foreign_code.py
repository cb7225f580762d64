"""Checkpoints that bring code, or ask for that of others: none of it is run, and nobody is asked whether it may be."""

import json
import pickle
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file
from transformers import AutoModelForImageTextToText

from places import SOURCES
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import load_model
from saccade.models.quiet import quiet_transformers
from warm import TORCH, run_warm

SOURCE = ":".join(map(str, SOURCES))
LOADS = """
import sys
from pathlib import Path
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.loading import load_model
from saccade.models.shape import read_shape
for path in sys.argv[1:]:
    for load in (lambda it: load_model(it, MediaStore()), read_shape):
        try:
            load(Path(path))
        except UserError as error:
            print(error)
"""
EVIL = "from pathlib import Path\nPath(MARK).write_text('ran')\nclass Evil: ...\ndef generate(*_, **__): ...\n"
KERNELS = """
from pathlib import Path
def get_kernel(*asked, **how):
    Path(MARK).write_text(str(asked))
    raise RuntimeError('a kernel was asked for')
def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return type(name, (), {'__init__': lambda self, *_, **__: None, '__call__': lambda self, it: it})
def use_kernel_forward_from_hub(name):
    return lambda it: it
def use_kernelized_func(*names):
    return lambda it: it
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "checkpoint"
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48)
    tiny_model(["Which plate?"] * 9, MediaStore(), size=size, vocab_size=300, seed=3).save(path)
    return path


def change(path: Path, name: str, **values: object) -> None:
    content = json.loads((path / name).read_text()) if (path / name).is_file() else {}
    (path / name).write_text(json.dumps(content | values))


def with_part(path: Path, part: str, **values: object) -> None:
    config = json.loads((path / "config.json").read_text())
    change(path, "config.json", **{part: config[part] | values})


def with_own_pixels(path: Path, evil: str) -> None:
    change(path, "preprocessor_config.json", auto_map={"AutoImageProcessor": "evil.Evil"}, image_processor_type="Evil")


def with_own_generation(path: Path, evil: str) -> None:
    (path / "custom_generate").mkdir()
    (path / "custom_generate/generate.py").write_text(evil)


def with_own_tokenizer(path: Path, evil: str) -> None:
    change(
        path, "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", "evil.Evil"]}, tokenizer_class="Evil"
    )


def with_own_configuration(path: Path, evil: str) -> None:
    change(path, "config.json", auto_map={"AutoConfig": "evil.Evil"}, model_type="evil")


def with_pickled_weights(path: Path, evil: str) -> None:
    (path / "model.safetensors").unlink()
    (path / "pytorch_model.bin").write_bytes(pickle.dumps(Runs(evil)) + bytes(200_000))
    (path / "training_args.bin").write_bytes(pickle.dumps(Runs(evil)))


class Runs:
    """What a pickle of it does where it is loaded."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, (self.code,)


def with_an_adapter_below(path: Path, evil: str) -> None:
    below = path.parent / f"{path.name}-below"
    shutil.copytree(path, below)
    change(below, "adapter_config.json", base_model_name_or_path="/", peft_type="LORA")
    change(path, "adapter_config.json", base_model_name_or_path=str(below), peft_type="LORA", r=1, lora_alpha=1)


RUNS = "it needs code of its own, which is never run"
KERNEL = "code that comes with no installed package is never run"
FOREIGN: dict[str, tuple[Callable[[Path, str], object], str]] = {
    "pixels": (with_own_pixels, RUNS),
    "generation": (with_own_generation, ""),
    "tokenizer": (with_own_tokenizer, ""),
    "configuration": (with_own_configuration, "model_type='evil' is not a family"),
    "pickled weights": (with_pickled_weights, "cannot be loaded as a vision-language model"),
    "adapter of an adapter": (with_an_adapter_below, "which is an adapter itself"),
    "kernel": (lambda path, _: change(path, "config.json", attn_implementation="a/b:f"), KERNEL),
    "kernel inside": (lambda path, _: with_part(path, "text_config", _attn_implementation="a/b@main"), KERNEL),
    "kernels by part": (
        lambda path, _: change(path, "config.json", attn_implementation={"": "sdpa", "vision_config": "a/b"}),
        KERNEL,
    ),
    "paged kernel": (lambda path, _: with_part(path, "vision_config", attn_implementation="paged|a/b"), KERNEL),
    "missing package": (
        lambda path, _: change(path, "config.json", attn_implementation="flash_attention_2"),
        "needs the package flash_attn, which is not installed",
    ),
    "experts": (lambda path, _: with_part(path, "text_config", experts_implementation="deepgemm"), KERNEL),
    "quantised": (
        lambda path, _: change(path, "config.json", quantization_config={"quant_method": "mxfp4"}),
        "quantised by 'mxfp4', which need code of others",
    ),
    "quantised inside": (
        lambda path, _: with_part(path, "text_config", quantization_config={"quant_method": "fp8"}),
        "quantised by 'fp8', which need code of others",
    ),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory, sound: Path) -> dict[str, str]:
    """What one process says of all of them, which answers yes to whatever it is asked; 'ran' is what has run."""
    root = tmp_path_factory.mktemp("foreign")
    mark = root / "ran"
    packages = root / "packages"
    (packages / "kernels-0.18.2.dist-info").mkdir(parents=True)
    (packages / "kernels-0.18.2.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: kernels\nVersion: 0.18.2\n"
    )
    (packages / "kernels").mkdir()
    (packages / "kernels/__init__.py").write_text(KERNELS.replace("MARK", repr(str(mark))))
    evil = EVIL.replace("MARK", repr(str(mark)))
    for name, (make, _) in FOREIGN.items():
        path = root / name
        shutil.copytree(sound, path)
        (path / "evil.py").write_text(evil)
        make(path, evil)
    names = [str(root / name) for name in FOREIGN]
    (root / "yes").write_text("yes\n" * 1000)
    with (root / "yes").open() as answers:
        done = run_warm(
            [sys.executable, "-c", LOADS, *names],
            imported=TORCH,
            env={"PATH": "/usr/bin", "PYTHONPATH": f"{SOURCE}:{packages}", "HOME": str(root), "HF_HUB_OFFLINE": "0"},
            cwd=root,
            stdin=answers,
        )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    found = {
        name: "\n".join(line for line in lines if any(f"{root / name}{end}" in line for end in " /:"))
        for name in FOREIGN
    }
    return found | {"ran": mark.read_text() if mark.exists() else "", "all": done.stdout + done.stderr}


def test_nothing_that_a_checkpoint_brings_or_names_is_run(said: dict[str, str]) -> None:
    assert said["ran"] == ""
    assert "[y/N]" not in said["all"]


@pytest.mark.parametrize("name", FOREIGN)
def test_what_it_would_need_is_said_in_one_message(said: dict[str, str], name: str) -> None:
    assert FOREIGN[name][1] in said[name]


def test_a_checkpoint_that_names_code_beside_a_known_class_is_loaded_as_before(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    shutil.copytree(sound, path)
    change(path, "config.json", auto_map={"AutoConfig": "evil.Evil", "AutoModelForImageTextToText": "evil.Evil"})
    change(path, "preprocessor_config.json", auto_map={"AutoImageProcessor": "evil.Evil"})
    change(path, "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", None]})
    before, after = load_model(sound, MediaStore()), load_model(path, MediaStore())
    assert before.hf.state_dict().keys() == after.hf.state_dict().keys()
    after.save(tmp_path / "saved")
    before.save(tmp_path / "saved before")
    assert load_file(tmp_path / "saved/model.safetensors").keys() == load_file(sound / "model.safetensors").keys()
    for name in ("preprocessor_config.json", "tokenizer.json", "chat_template.jinja", "config.json"):
        assert "trust_remote_code" not in (tmp_path / "saved" / name).read_text()
        assert (tmp_path / "saved before" / name).read_bytes() == (sound / name).read_bytes()


def test_names_of_attention_that_transformers_has_are_taken(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    shutil.copytree(sound, path)
    change(path, "config.json", attn_implementation="eager")
    with quiet_transformers():
        theirs = AutoModelForImageTextToText.from_pretrained(path)
    assert theirs.config._attn_implementation == "eager"
    assert load_model(path, MediaStore()).hf.config.vision_config._attn_implementation == "eager"
