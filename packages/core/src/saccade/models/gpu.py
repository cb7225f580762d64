"""What is set once a model is on a GPU: switches of torch, and parts of transformers that are slow there."""

import torch
from transformers import PreTrainedModel

from saccade.models.vision_windows import join_windows


def prepare_gpu(hf: PreTrainedModel) -> None:
    """What a model on a GPU needs to be exact and fast."""
    join_windows(hf)
    # Towers' convolutions too are in the precision of their weights.
    torch.backends.cudnn.allow_tf32 = False
    # It makes a plan for every new length, which took 60 ms of each decode step; the other kernels take any length.
    torch.backends.cuda.enable_cudnn_sdp(False)
