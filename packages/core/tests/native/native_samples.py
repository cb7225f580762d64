"""What the tests of the native kernels and of the layers that run on them share."""

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from saccade.native.kernels import Kernels, native_kernels


def kernels_or_skip() -> Kernels:
    found = native_kernels()
    if found is None:
        pytest.skip("no native kernels here")
    return found


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def assert_same_gradients(ours: Mapping[str, Tensor], exact: Mapping[str, Tensor]) -> None:
    assert ours.keys() == exact.keys()
    for name, gradient in exact.items():
        assert float((ours[name] - gradient).norm()) <= 1e-5 * float(gradient.norm()) + 1e-7, name
