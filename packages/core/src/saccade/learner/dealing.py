"""Micro-batches dealt out to the ranks: a pure function of the batch, so that every rank knows the whole deal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from saccade.learner.sequences import TrainingSequence, micro_batches


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Sequences that are forwarded at once."""

    sequences: tuple[TrainingSequence, ...]
    indices: tuple[int, ...]
    """Where each of them lies in the whole batch."""
    is_blank: bool = False
    """Whether it only keeps step with the other ranks: a real sequence with a weight of 0, which nothing counts."""


def deal(
    sequences: Sequence[TrainingSequence], ranks: int, max_tokens: int, *, common: int = 0
) -> list[list[MicroBatch]]:
    """For each rank its micro-batches of at most ``max_tokens``, as many as every other rank has.

    All prompts begin with ``common`` tokens that are forwarded once (``common_start``).

    One rank has ``micro_batches`` as they are. Several have them by their size, so that what is worked on at the same
    time is about as long; the batch is cut finer where there would be fewer micro-batches than ranks. Token weights
    are shares in the mean of the whole batch, so the gradients of all ranks only have to be added.
    """
    cut = _cut(sequences, ranks, max_tokens, common if common < max_tokens else 0)
    if ranks == 1:
        return [cut]
    cut.sort(key=lambda batch: _tokens(batch, common), reverse=True)
    missing = -len(cut) % ranks
    cut += [_blank(sequences)] * missing if missing else []
    hands: list[list[MicroBatch]] = [[] for _ in range(ranks)]
    for start in range(0, len(cut), ranks):
        # Turned about in every second round: no rank has the longest of all of them.
        order = range(ranks) if (start // ranks) % 2 == 0 else range(ranks - 1, -1, -1)
        for rank, batch in zip(order, cut[start : start + ranks]):
            hands[rank].append(batch)
    return hands


def _cut(sequences: Sequence[TrainingSequence], ranks: int, max_tokens: int, common: int) -> list[MicroBatch]:
    """Micro-batches, at least one for each rank where there are so many sequences."""
    index_of = {id(sequence): index for index, sequence in enumerate(sequences)}
    wanted, limit = min(ranks, len(sequences)), max_tokens
    cut = micro_batches(sequences, max_tokens=limit, common=common)
    while len(cut) < wanted and limit > 1:
        # Smaller than the largest part is small enough to part it, if only at its last sequence.
        limit = max(1, min(limit - 1, max(sum(one.forwarded_count for one in batch) for batch in cut) * 3 // 4))
        cut = micro_batches(sequences, max_tokens=limit, common=common)
    if len(cut) < wanted:
        # A sequence of one action token adds nothing to the prompt that it shares: no limit parts it from the others.
        cut = [[one] for batch in cut for one in batch]
    return [MicroBatch(tuple(batch), tuple(index_of[id(one)] for one in batch)) for batch in cut]


def _tokens(batch: MicroBatch, common: int) -> int:
    """What a forward of it takes, each shared prompt and what all begin with once."""
    prompts = {one.prompt_key: one.prompt_tokens - common for one in batch.sequences}
    return common + sum(prompts.values()) + sum(one.forwarded_count - one.prompt_tokens for one in batch.sequences)


def _blank(sequences: Sequence[TrainingSequence]) -> MicroBatch:
    index, shortest = min(enumerate(sequences), key=lambda pair: pair[1].forwarded_count)
    return MicroBatch((replace(shortest, token_weight=0.0),), (index,), is_blank=True)
