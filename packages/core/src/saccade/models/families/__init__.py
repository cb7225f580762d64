"""The model families that Saccade knows, each a small adapter behind one contract."""

from saccade.errors import UserError
from saccade.models.families.family import Family
from saccade.models.families.internvl import INTERNVL
from saccade.models.families.qwen import QWEN2_5_VL, QWEN3_VL

FAMILIES: tuple[Family, ...] = (QWEN2_5_VL, QWEN3_VL, INTERNVL)


def family_of(model_type: str) -> Family:
    """The family of a checkpoint by the ``model_type`` of its configuration."""
    for family in FAMILIES:
        if family.model_type == model_type:
            return family
    known = ", ".join(family.model_type for family in FAMILIES)
    raise UserError(f"model_type={model_type!r} is not a family that Saccade knows; use one of {known}")
