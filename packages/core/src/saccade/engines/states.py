"""Recurrent states of slots, for models that have layers without keys and values.

A state belongs to one number of tokens and cannot be cut: what a slot may go back to was kept when it was there. None
is changed in place, so that slots and prompts share what they have in common.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from saccade.models.recurrent import LayerState


@dataclass(frozen=True, slots=True)
class RowState:
    """The states of all layers after ``length`` tokens: those of one ``row`` of a forward."""

    length: int
    layers: Mapping[int, LayerState]
    row: int = 0

    @property
    def is_alone(self) -> bool:
        return all(len(state.memory) == 1 for state in self.layers.values())

    def alone(self) -> "RowState":
        """In memory of its own; the forward's other rows are not held by it."""
        if self.is_alone:
            return self
        return RowState(self.length, {index: state.alone(self.row) for index, state in self.layers.items()})


def joined(rows: Sequence[RowState | None]) -> Mapping[int, LayerState]:
    """The states of rows side by side, zeros for None; empty where all begin."""
    first = next((row for row in rows if row is not None), None)
    if first is None:
        return {}
    goes_on = all(row is not None and row.layers is first.layers and row.row == at for at, row in enumerate(rows))
    if goes_on and all(len(state.memory) == len(rows) for state in first.layers.values()):
        return first.layers
    return {index: _joined_layer(rows, index, like) for index, like in first.layers.items()}


def _joined_layer(rows: Sequence[RowState | None], index: int, like: LayerState) -> LayerState:
    zeros = LayerState(torch.zeros_like(like.inputs[:1]), torch.zeros_like(like.memory[:1]))
    states = [(row.layers[index], row.row) if row is not None else (zeros, 0) for row in rows]
    return LayerState.joined([LayerState(state.inputs[at : at + 1], state.memory[at : at + 1]) for state, at in states])
