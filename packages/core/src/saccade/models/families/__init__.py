"""The model families that Saccade knows, each a small adapter behind one contract; installed packages add others."""

from typing import Any

from transformers import PreTrainedModel

from saccade.entry_points import offer_named
from saccade.errors import UserError
from saccade.models.families.family import Family
from saccade.models.families.gemma import GEMMA3
from saccade.models.families.glm import GLM4V, GLM4V_MOE, GLM46V
from saccade.models.families.idefics3 import IDEFICS3, SMOLVLM
from saccade.models.families.internvl import INTERNVL
from saccade.models.families.llava_onevision import LLAVA_ONEVISION
from saccade.models.families.qwen import QWEN2_5_VL, QWEN2_VL, QWEN3_5, QWEN3_VL, QWEN3_VL_MOE

FAMILIES: tuple[Family, ...] = (
    QWEN2_5_VL,
    QWEN3_VL,
    QWEN3_VL_MOE,
    QWEN3_5,
    INTERNVL,
    IDEFICS3,
    SMOLVLM,
    GLM4V,
    GLM4V_MOE,
    GLM46V,
    LLAVA_ONEVISION,
    QWEN2_VL,
    GEMMA3,
)
OFFERED = "saccade.model_families"
"""Entry points of families in other packages: the ``model_type``, and a ``Family``."""


def family_of(model_type: str) -> Family:
    """The family of a checkpoint by the ``model_type`` of its configuration, Saccade's own first.

    UserError where there is none, or where a package offers what is none.
    """
    own = next((family for family in FAMILIES if family.model_type == model_type), None)
    return own or _offered(model_type)


def language_model(hf: PreTrainedModel) -> Any:
    """The language model inside a model of a known family."""
    return family_of(hf.config.model_type).language_model(hf)


def _offered(model_type: str) -> Family:
    offer = offer_named(OFFERED, model_type)
    if offer is None:
        known = ", ".join(family.model_type for family in FAMILIES)
        raise UserError(
            f"model_type={model_type!r} is not a family that Saccade knows; use one of {known}, install a package that "
            f"offers it ({OFFERED}), or write it (docs/add/model_family.md)"
        )
    found = offer()
    if not isinstance(found, Family) or found.model_type != model_type:
        what = f"the family of {found.model_type!r}" if isinstance(found, Family) else f"a {type(found).__name__}"
        raise UserError(
            f"the package {offer.package} offers {offer.target} as the family of {model_type!r}, and it is {what}; "
            f"update or uninstall {offer.package}"
        )
    return found
