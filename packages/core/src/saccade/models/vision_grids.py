"""What a vision tower derives from the sizes of its pictures, worked out on the host, which knows them.

transformers' towers derive it from sizes on the device, and read those back again and again: each time the host waits
until the device has done all before.
"""

from typing import Any

import torch
from jaxtyping import Int, Shaped
from torch import Tensor
from transformers import vision_utils

from saccade.models.memory import sent


def is_known_tower(tower: Any) -> bool:
    """Whether it takes what is derived in place of the sizes: Qwen's of all generations."""
    return type(tower).__module__.startswith("transformers.models.qwen")


def tower_inputs(
    tower: Any, grids: Int[Tensor, "pictures 3"], device: torch.device
) -> dict[str, Shaped[Tensor, "..."]]:
    """Arguments of the tower's forward by its own names; bounds of windows and pictures stay on the host.

    ``grids`` are times, rows and columns of each picture's patches, on the host.
    """
    merge = int(tower.spatial_merge_size)
    found = {"position_ids": sent(vision_utils.get_vision_position_ids(grids, merge), device)}
    found["cu_seqlens"] = vision_utils.get_vision_cu_seqlens(grids)
    if hasattr(tower, "window_size"):
        order, bounds = vision_utils.get_vision_window_index(
            grids, spatial_merge_size=merge, window_size=tower.window_size, patch_size=tower.patch_size
        )
        found |= {"window_index": sent(order, device), "cu_window_seqlens": bounds}
    if hasattr(tower, "num_grid_per_side"):
        taps = vision_utils.get_vision_interpolation_indices_and_weights(
            grids,
            num_grid_per_side=tower.num_grid_per_side,
            mode=tower.interpolation_mode,
            align_corners=tower.interpolation_align_corners,
            spatial_merge_size=merge,
        )
        found |= {name: sent(one, device) for name, one in zip(("interp_indices", "interp_weights"), taps)}
    return found
