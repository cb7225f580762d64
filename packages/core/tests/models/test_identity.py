"""Identity of a model: the same for its checkpoint, another for other weights or another tokenizer."""

from pathlib import Path

from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import tiny_model
from saccade.models.identity import model_hash
from saccade.models.loading import LoadSettings, load_model
from saccade.models.vlm import VisionLanguageModel

TEXTS = ["where is the red disc", "left of 12 squares"] * 10


def built(*texts: str) -> VisionLanguageModel:
    return tiny_model([*TEXTS, *texts], MediaStore(), seed=3)


def test_a_model_that_was_built_here_and_its_checkpoint_have_one_identity(tmp_path: Path) -> None:
    model = built()
    model.save(tmp_path / "checkpoint")
    loaded = load_model(tmp_path / "checkpoint", MediaStore(), LoadSettings(device="cpu"))
    assert model_hash(loaded) == model_hash(model)


def test_a_step_further_and_another_tokenizer_are_other_models() -> None:
    model = built()
    before = model_hash(model)
    next(model.hf.parameters()).data.add_(0.5)
    assert len({before, model_hash(model), model_hash(built("under the green triangle" * 9))}) == 3
