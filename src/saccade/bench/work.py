"""Work counted at the model's own doors, by the same hooks whatever framework drives it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True, slots=True)
class StepWork:
    """What one step did, padding included."""

    images_preprocessed: int = 0
    """Images run through the image processor."""
    images_encoded_rollout: int = 0
    """Images run through the vision tower while sampling."""
    images_encoded_training: int = 0
    """Images run through the vision tower with gradients."""
    tokens_prefilled: int = 0
    """Tokens that the language model took several at a time while sampling."""
    tokens_decoded: int = 0
    """Tokens that it took one at a time."""
    tokens_trained: int = 0
    """Tokens that it took with gradients."""

    def as_json(self) -> Mapping[str, int]:
        return asdict(self)


class WorkCounter:
    """Counts a model's work from hooks on its vision tower, its embeddings and its image processor."""

    def __init__(self, model: nn.Module, image_processor: object) -> None:
        """``model`` is transformers' whole class, with ``model.visual`` and ``model.language_model`` inside."""
        self._counts: dict[str, int] = {}
        inner = model.get_submodule("model")
        inner.get_submodule("visual").register_forward_pre_hook(self._saw_images, with_kwargs=True)
        # Every token is embedded once for each time that it is forwarded.
        inner.get_submodule("language_model.embed_tokens").register_forward_pre_hook(self._saw_tokens)
        self._count_preprocessed(image_processor)

    def take(self) -> StepWork:
        """The work since the last call."""
        work, self._counts = StepWork(**self._counts), {}
        return work

    def _add(self, name: str, count: int) -> None:
        self._counts[name] = self._counts.get(name, 0) + count

    def _saw_images(self, module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        grid = kwargs["grid_thw"] if "grid_thw" in kwargs else args[1]
        if isinstance(grid, Tensor):
            self._add(f"images_encoded_{'training' if torch.is_grad_enabled() else 'rollout'}", len(grid))

    def _saw_tokens(self, module: nn.Module, args: tuple[Tensor, ...]) -> None:
        ids = args[0]
        if ids.dim() < 2:
            return  # A placeholder's own embedding, which transformers looks up to find images.
        if torch.is_grad_enabled():
            self._add("tokens_trained", ids.numel())
        else:
            self._add("tokens_decoded" if ids.shape[1] == 1 else "tokens_prefilled", ids.numel())

    def _count_preprocessed(self, image_processor: object) -> None:
        preprocess: Callable[..., Mapping[str, Tensor]] = image_processor.preprocess  # type: ignore[attr-defined]

        def counted(*args: object, **kwargs: object) -> Mapping[str, Tensor]:
            features = preprocess(*args, **kwargs)
            self._add("images_preprocessed", len(features["image_grid_thw"]))
            return features

        image_processor.preprocess = counted  # type: ignore[attr-defined]
