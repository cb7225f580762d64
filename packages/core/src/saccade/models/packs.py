"""Packs of sequences in one row: what a model's layers are told of one, and whether they attend to it in one call."""

import torch

from saccade.errors import UserError
from saccade.models.attention import Layout, PackMasks
from saccade.models.vlm import Embedded, VisionLanguageModel


def told_of_pack(model: VisionLanguageModel, embedded: Embedded, packing: Layout) -> dict[str, object]:
    """Arguments of the language model's forward that say which tokens belong together, and who sees whom."""
    told: dict[str, object] = {"packing": packing}
    if model.mask_rule is not None:
        told["masks"] = PackMasks(model.mask_rule, embedded.is_image[0], packing)
    if attends_at_once(model, embedded.inputs.device, embedded.inputs.dtype):
        from saccade.models.varlen_attention import PackSequences

        told["sequences"] = PackSequences.of(packing, embedded.inputs.device)
    return told


def attends_at_once(model: VisionLanguageModel, device: torch.device, dtype: torch.dtype) -> bool:
    """Whether the layers attend to a pack of such states in one call; UserError where that is asked and cannot be.

    By itself it is done on a GPU alone, where ``models.varlen_attention`` can.
    """
    is_asked = model.pack_attention == "varlen"
    if model.pack_attention == "plain" or not (is_asked or device.type == "cuda"):
        return False
    if model.batch_invariant:
        missing = "with model.batch_invariant=true attention has one order of its own"
    elif model.mask_rule is not None and model.mask_rule.both_ways:
        missing = f"in {model.family.model_type} the tokens of a picture see those after them"
    else:
        from saccade.models.varlen_attention import missing_for

        heads = int(model.hf.config.text_config.num_attention_heads)
        missing = missing_for(device, dtype, (heads, *model.key_heads[0]))
    if missing and is_asked:
        raise UserError(f"pack_attention=varlen cannot be had: {missing}; leave pack_attention=auto")
    return not missing
