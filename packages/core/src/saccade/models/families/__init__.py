"""The model families that Saccade knows, each a small adapter behind one contract; installed packages add others."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from transformers import PreTrainedModel

from saccade.entry_points import offer_named
from saccade.errors import UserError
from saccade.models.families.family import Family

FAMILIES: Mapping[str, str] = {
    "qwen2_5_vl": "qwen.QWEN2_5_VL",
    "qwen3_vl": "qwen.QWEN3_VL",
    "qwen3_vl_moe": "qwen.QWEN3_VL_MOE",
    "qwen3_5": "qwen.QWEN3_5",
    "internvl": "internvl.INTERNVL",
    "idefics3": "idefics3.IDEFICS3",
    "smolvlm": "idefics3.SMOLVLM",
    "glm4v": "glm.GLM4V",
    "glm4v_moe": "glm.GLM4V_MOE",
    "glm46v": "glm.GLM46V",
    "llava_onevision": "llava_onevision.LLAVA_ONEVISION",
    "qwen2_vl": "qwen.QWEN2_VL",
    "gemma3": "gemma.GEMMA3",
    "gemma4": "gemma4.GEMMA4",
}
"""Module and name of Saccade's own by their ``model_type``; only the one that is asked for is imported."""
OFFERED = "saccade.model_families"
"""Entry points of families in other packages: the ``model_type``, and a ``Family``."""


def family_of(model_type: str) -> Family:
    """The family of a checkpoint by the ``model_type`` of its configuration, Saccade's own first.

    UserError where there is none, or where a package offers what is none.
    """
    if model_type not in FAMILIES:
        return _offered(model_type)
    module, _, name = FAMILIES[model_type].partition(".")
    own: Family = getattr(import_module(f"{__name__}.{module}"), name)
    return own


def language_model(hf: PreTrainedModel) -> Any:
    """The language model inside a model of a known family."""
    return family_of(hf.config.model_type).language_model(hf)


def _offered(model_type: str) -> Family:
    offer = offer_named(OFFERED, model_type)
    if offer is None:
        known = ", ".join(FAMILIES)
        raise UserError(
            f"model_type={model_type!r} is not a family that Saccade knows; use one of {known}, install a package that "
            f"offers it ({OFFERED}), or write it (docs/add/model_family.md)"
        )
    found = offer()
    if not isinstance(found, Family) or found.model_type != model_type:
        what = f"the family of {found.model_type!r}" if isinstance(found, Family) else f"a {type(found).__name__}"
        if isinstance(found, type):
            what = f"the class {found.__name__}, where an instance of it is needed"
        raise UserError(
            f"the package {offer.package} offers {offer.target} as the family of {model_type!r}, and it is {what}; "
            f"mend, update or uninstall {offer.package}"
        )
    return found
