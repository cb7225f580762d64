"""Adapters in the weights, for steps of many rows in one native call, which knows products alone."""

from dataclasses import replace

import torch

from saccade.models.plain_layers import PlainLanguageModel, PlainProduct


class MergedLayers:
    """The layers of a language model with its adapters in their weights: copies, side by side in one block of memory.

    What has no adapter is a view as before.
    """

    def __init__(self, language: PlainLanguageModel[PlainProduct]) -> None:
        self._adapted = [product for layer in language.layers for product in layer.products if product.adapter]
        # One block is given back whole when it is freed.
        block = torch.empty(sum(product.weight.numel() for product in self._adapted))
        parts = torch.split(block, [product.weight.numel() for product in self._adapted])
        self._merged = {
            id(product): replace(product, weight=part.view_as(product.weight), adapter=None)
            for product, part in zip(self._adapted, parts)
        }
        self.language = replace(
            language,
            layers=tuple(layer.with_products(lambda one: self._merged.get(id(one), one)) for layer in language.layers),
        )
        self.follow()

    def follow(self) -> None:
        """Merges anew, from what the adapters and the weights below them are now."""
        for product in self._adapted:
            assert product.adapter is not None
            product.adapter.merged_into(product.weight, self._merged[id(product)].weight)
