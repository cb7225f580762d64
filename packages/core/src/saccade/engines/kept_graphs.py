"""What an engine keeps from batch to batch with ``model.engine.keep_graphs``: a pool of pages, and decode steps on it.

Graphs read pages and weights where these lay when they were recorded. So the pool stays where it is, its pages empty,
and what was recorded goes as soon as the pool has grown or a weight lies elsewhere (``DecodeGraphs``). Where nothing
was recorded, nothing is kept.
"""

import logging

import torch

from saccade.engines.decode_graphs import DecodeGraphs, Record
from saccade.engines.pages import PageMemory
from saccade.engines.slots import SlotCache
from saccade.models.memory import is_out_of_memory
from saccade.models.plain_forward import TokenDecoder

logger = logging.getLogger(__name__)


class KeptGraphs:
    """The pages and graphs of one engine, which one batch after the other works with."""

    def __init__(self, *, repeats: bool) -> None:
        """Where an engine ``repeats`` to the bit, each step is computed as it would be if nothing were kept."""
        self._repeats = repeats
        self._memory: PageMemory | None = None
        self._graphs: DecodeGraphs | None = None
        self._is_given_up = False

    def begin(self, cache: SlotCache) -> None:
        """Gives the cache of a new batch the pages of those before, empty, if they are such as it would have."""
        if self._is_given_up:
            return
        cache.kept = self
        if self._memory is None or cache.pages is None or not self._memory.is_like(cache.pages):
            self.drop()
            return
        with torch.inference_mode():
            self._memory.clear()
        cache.pages = self._memory

    def graphs(self, decoder: TokenDecoder, memory: PageMemory, record: Record) -> DecodeGraphs:
        """Those on the pages of the cache that has begun."""
        if self._graphs is None or memory is not self._memory:
            self._memory, self._graphs = memory, DecodeGraphs(decoder, memory, record)
        else:
            self._graphs.go_on(decoder, counts_anew=self._repeats)
        return self._graphs

    def note_error(self, error: Exception) -> None:
        """A batch has failed, perhaps in the middle of a step: the next begins with nothing."""
        self.drop()
        if is_out_of_memory(error) and not self._is_given_up:
            self._is_given_up = True
            logger.warning(
                "sampling ran out of memory: from here on each batch gives its own back and records its decode steps "
                "anew, as with model.engine.keep_graphs=false"
            )

    def end(self) -> None:
        """A batch has ended: what the next can use stays."""
        if self._graphs is None or not self._graphs.is_on:
            self.drop()
        else:
            self._graphs.forget_oldest()

    def drop(self) -> None:
        """Gives all memory back, where no batch is at work with it."""
        self._memory = self._graphs = None
