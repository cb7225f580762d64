"""What differs between model families: resize factor, coordinate convention. One entry per family."""

from dataclasses import dataclass

from transformers import PreTrainedConfig

from saccade.errors import UserError
from saccade.geometry import CoordinateConvention
from saccade.media.resize import ViewRule
from saccade.models.pixels import ImageProcessor


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """A family of checkpoints that transformers loads with one class."""

    model_type: str
    """As in ``config.json``."""
    convention: CoordinateConvention

    def merge_size(self, config: PreTrainedConfig) -> int:
        """Patches along one side of an image token."""
        return int(config.vision_config.spatial_merge_size)

    def view_rule(self, image_processor: ImageProcessor, config: PreTrainedConfig) -> ViewRule:
        """The resize rule as the checkpoint's own image processor applies it."""
        size = image_processor.size
        return ViewRule(
            factor=int(image_processor.patch_size) * int(image_processor.merge_size),
            min_pixels=int(size["shortest_edge"]),
            max_pixels=int(size["longest_edge"]),
            convention=self.convention,
        )


FAMILIES = (
    Family(model_type="qwen2_5_vl", convention="absolute"),
    Family(model_type="qwen3_vl", convention="relative_1000"),
)


def family_of(model_type: str) -> Family:
    """The family of a checkpoint by the ``model_type`` of its configuration."""
    for family in FAMILIES:
        if family.model_type == model_type:
            return family
    known = ", ".join(family.model_type for family in FAMILIES)
    raise UserError(f"model_type={model_type!r} is not a family that Saccade knows; use one of {known}")
