"""Lets vLLM's CPU build be imported beside the torchvision, torchaudio and torchcodec of the package index.

Their wheels for x86-64 are built against CUDA and cannot be loaded beside a CPU torch. Of torchvision vLLM needs the
transforms, which are Python; the two operators that its import registers fakes for are declared here. The other two
are hidden, as if they were not installed. Beside a torch with CUDA nothing is done.
"""

import importlib.abc
import importlib.machinery
import sys
from importlib import metadata
from pathlib import Path

_held = []
"""Libraries of operators are forgotten with their object."""


def _version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _declare_operators(directory):
    import torch

    for file in ("_C.so", "_C_stable.so"):
        path = directory / file
        if path.exists():
            try:
                torch.ops.load_library(str(path))
                return  # A CPU build after all.
            except OSError:
                pass
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _held.append(library)


class _Loader(importlib.abc.Loader):
    def __init__(self, inner, directory):
        self.inner, self.directory = inner, directory

    def create_module(self, spec):
        return self.inner.create_module(spec)

    def exec_module(self, module):
        _declare_operators(self.directory)
        self.inner.exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "torchvision":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, Path(spec.origin or "").parent)
        return spec


def install():
    if not _version("torch").endswith("+cpu"):
        return
    for name in ("torchaudio", "torchcodec"):
        if _version(name) and not _version(name).endswith("+cpu"):
            sys.modules.setdefault(name, None)
    is_foreign = _version("torchvision") and not _version("torchvision").endswith("+cpu")
    if is_foreign and "torchvision" not in sys.modules:
        sys.meta_path.insert(0, _Finder())
