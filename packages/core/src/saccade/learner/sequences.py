"""Training sequences: a trajectory's tokens with their advantages, cut into micro-batches, each packed in one row.

A pack has no padding, each shared prompt once, and what all prompts begin with once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest

import torch
from jaxtyping import Int
from torch import Tensor

from saccade.algorithms.advantages import PerToken
from saccade.algorithms.algorithm import Aggregation
from saccade.errors import SaccadeError
from saccade.learner.common_start import common_start
from saccade.models.attention import Layout, Span, tree
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Trajectory

TopTokens = tuple[tuple[tuple[int, float], ...], ...]
"""For each action token the most likely tokens there, with their log-probabilities; equally many."""

PromptKey = tuple[tuple[int, ...], tuple[ImageRef, ...], bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSequence:
    """One context of a trajectory as tokens; most trajectories have one.

    The tuples that speak of actions have one entry per action token, in order.
    """

    ids: tuple[int, ...]
    is_action: tuple[bool, ...]
    """One entry per id; false for the first."""
    images: tuple[ImageRef, ...]
    prompt_tokens: int
    """Leading ids that the trajectories of a group share."""
    prompt_images: int
    """Leading images whose placeholders lie in the prompt."""
    sampled_logprobs: tuple[float, ...]
    advantages: tuple[float, ...]
    token_weight: float
    """Share of one action token in the mean over the whole batch; see ``Aggregation``."""
    old_logprobs: tuple[float, ...] | None = None
    """Log-probabilities of the learner when the batch arrived; None stands for the sampled ones."""
    old_is_own: bool = False
    """Whether they are what its only update works out anyway: the ratio is exactly 1, and no forward is spent on it."""
    reference_logprobs: tuple[float, ...] | None = None
    masked_logprobs: tuple[float, ...] | None = None
    """Log-probabilities of the learner when the batch arrived, with the pictures masked."""
    teacher_logprobs: tuple[float, ...] | None = None
    teacher_view: "TrainingSequence | None" = None
    """The same action tokens in the context in which a teacher sees them; None where that is this one."""
    teacher_top: TopTokens | None = None
    """A server's most likely tokens."""
    old_values: tuple[float, ...] | None = None
    returns: tuple[float, ...] | None = None
    place: int | None = field(default=None, compare=False)
    """Its place in the batch, by which its entropies are found again."""
    continues: bool = False
    """Whether it is a later context of the trajectory of the sequence before it."""
    routed_experts: bytes = b""
    """Experts to replay for every id but the last, packed as ``saccade.models.routing.Experts`` has it; empty where the
    learner's routers choose."""
    targets: tuple[int, ...] | None = None
    """Ids whose probability is asked for at its action tokens; None are these tokens themselves."""

    @property
    def action_ids(self) -> tuple[int, ...]:
        """The ids whose probability is asked for."""
        if self.targets is not None:
            return self.targets
        return tuple(token for token, is_action in zip(self.ids, self.is_action) if is_action)

    @property
    def action_count(self) -> int:
        return sum(self.is_action)

    @property
    def forwarded_count(self) -> int:
        """Leading ids that a forward needs: the prompt, and what comes before the last action token."""
        if not any(self.is_action):
            return self.prompt_tokens
        return max(self.prompt_tokens, len(self.is_action) - 1 - self.is_action[::-1].index(True))

    @property
    def prompt_key(self) -> PromptKey:
        """Equal for sequences whose prompts are the same tokens and images, which go to the same experts."""
        shown = self.images[: self.prompt_images]
        return self.ids[: self.prompt_tokens], shown, self.experts_of(0, self.prompt_tokens)

    def experts_of(self, start: int, stop: int) -> bytes:
        """Of some of its ids."""
        each = len(self.routed_experts) // max(1, len(self.ids) - 1)
        return self.routed_experts[start * each : stop * each]


def training_sequences(trajectory: Trajectory, advantages: Sequence[float] = ()) -> tuple[TrainingSequence, ...]:
    """The view of a trajectory for learning, one sequence for each of its contexts, with a weight of 1 per token.

    ``advantages`` has one number per turn, one per action token where it is ``PerToken``, or none for supervision.
    Contexts of a trajectory stay together and in order, until they are weighted.
    """
    sequences: list[TrainingSequence] = []
    given = iter(advantages)
    for segments, routed in zip_longest(trajectory.contexts, trajectory.routed_experts):
        actions = [segment for segment in segments if segment.role == "action"]
        if isinstance(advantages, PerToken):
            # Fewer, none at all, for a trajectory that a critic leaves out.
            spread = tuple(islice(given, sum(len(segment.ids) for segment in actions)))
        else:
            spread = tuple(advantages[one.turn] if advantages else 0.0 for one in actions for _ in one.ids)
        prompt = segments[0]
        sequences.append(
            TrainingSequence(
                ids=tuple(token for segment in segments for token in segment.ids),
                is_action=tuple(segment.role == "action" for segment in segments for _ in segment.ids),
                images=tuple(image for segment in segments for image in segment.images),
                prompt_tokens=len(prompt.ids),
                prompt_images=len(prompt.images),
                sampled_logprobs=tuple(value for one in actions for value in (one.logprobs or (0.0,) * len(one.ids))),
                advantages=spread,
                token_weight=1.0,
                continues=bool(sequences),
                routed_experts=b"" if routed is None else routed.packed,
            )
        )
    return tuple(sequences)


def training_sequence(trajectory: Trajectory, advantages: Sequence[float] = ()) -> TrainingSequence:
    """The sequence of a trajectory of one context; ValueError for one of several."""
    sequences = training_sequences(trajectory, advantages)
    if len(sequences) != 1:
        raise ValueError(f"trajectory {trajectory.task_id}#{trajectory.sample} has {len(sequences)} contexts")
    return sequences[0]


def weighted(sequences: Sequence[TrainingSequence], aggregation: Aggregation) -> list[TrainingSequence]:
    """The sequences of one whole batch with the weights of their tokens in its mean.

    A trajectory of several contexts counts as one sequence there.
    """
    trajectory, counts = -1, list[int]()
    places = []
    for sequence in sequences:
        if not sequence.continues or not counts:
            trajectory, counts = trajectory + 1, [*counts, 0]
        counts[trajectory] += sequence.action_count
        places.append(trajectory)
    weights = aggregation.token_weights(counts)
    return [replace(sequence, token_weight=weights[place]) for sequence, place in zip(sequences, places)]


def micro_batches(
    sequences: Sequence[TrainingSequence], *, max_tokens: int, common: int = 0
) -> list[list[TrainingSequence]]:
    """Sequences cut into micro-batches that forward at most ``max_tokens`` each; a sequence is never cut.

    Sequences with the same prompt stay together, so that it is forwarded once; where they do not fit, the prompt is
    forwarded once for each part. All prompts begin with ``common`` tokens that a micro-batch forwards once
    (``common_start``). Parts fill micro-batches by first fit, the largest first. A single sequence over the limit gets
    a micro-batch of its own.
    """
    parts = [part for group in same_prompt(sequences) for part in _fitting(sequences, group, max_tokens, common)]
    return [[sequences[index] for index in sorted(batch.members)] for batch in _first_fit(parts, max_tokens - common)]


def same_prompt(sequences: Sequence[TrainingSequence]) -> list[list[int]]:
    """Indices of the sequences that share a prompt, groups and members in order of appearance."""
    groups: dict[PromptKey, list[int]] = {}
    for index, sequence in enumerate(sequences):
        groups.setdefault(sequence.prompt_key, []).append(index)
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class _SequencePart:
    """Indices of sequences that are forwarded together, and the tokens that takes."""

    members: tuple[int, ...]
    tokens: int


def _fitting(
    sequences: Sequence[TrainingSequence], group: Sequence[int], max_tokens: int, common: int
) -> list[_SequencePart]:
    """The group whole, or in parts that fit beside the prompt; of their tokens the common ones are left out."""
    prompt = sequences[group[0]].prompt_tokens
    rests = [_SequencePart((index,), sequences[index].forwarded_count - prompt) for index in group]
    parts = _first_fit(rests, max_tokens - prompt)
    return [_SequencePart(part.members, prompt - common + part.tokens) for part in parts]


def _first_fit(parts: Sequence[_SequencePart], room: int) -> list[_SequencePart]:
    """Parts joined by first fit, the largest first; one that is over the room stays alone."""
    joined: list[_SequencePart] = []
    for part in sorted(parts, key=lambda part: part.tokens, reverse=True):
        place = next((index for index, other in enumerate(joined) if other.tokens + part.tokens <= room), None)
        if place is None:
            joined.append(part)
        else:
            joined[place] = _SequencePart(joined[place].members + part.members, joined[place].tokens + part.tokens)
    return joined


@dataclass(frozen=True, kw_only=True, slots=True)
class Pack:
    """Input of one forward, on the CPU: what all prompts begin with, and behind it the groups one after another, each
    the rest of its prompt, then what follows it in each sequence."""

    ids: Int[Tensor, "tokens"]
    positions: Int[Tensor, "3 tokens"]
    """Rotary positions."""
    images: tuple[ImageRef, ...]
    """Images in the order of their placeholders; the same image may come again."""
    layout: Layout
    predicting: Int[Tensor, "actions"]
    """For each action token of all sequences, in their order, the place in the pack whose state predicts it."""
    targets: Int[Tensor, "actions"]
    """Ids of the action tokens, in the same order."""
    routed_experts: Int[Tensor, "tokens layers chosen"] | None
    """Experts to replay; None where the routers choose."""


def pack(model: VisionLanguageModel, sequences: Sequence[TrainingSequence]) -> Pack:
    """Packs sequences; ids after a sequence's last action token, and the token itself, need no forward and are left."""
    ids: list[int] = []
    positions: list[Tensor] = []
    images: list[ImageRef] = []
    layout = []
    routed = bytearray()
    predicting: list[Tensor] = [torch.empty(0)] * len(sequences)
    common = common_start(model, sequences)
    root = Span(0, common) if common else None
    if root is not None:
        ids += sequences[0].ids[:common]
        positions.append(model.positions_from(ids, (), start=0)[0])
        layout.append(tree(0, common, ()))
    for group in same_prompt(sequences):
        first = sequences[group[0]]
        start, prompt = len(ids), first.prompt_tokens
        places, end = model.positions_from(first.ids[:prompt], first.images[: first.prompt_images], start=0)
        ids += first.ids[common:prompt]
        positions.append(places[:, common:])
        images += first.images[: first.prompt_images]
        routed += first.experts_of(0, prompt)
        lengths = []
        # Neighbours of equal length attend in one call.
        for index in sorted(group, key=lambda index: sequences[index].forwarded_count):
            sequence = sequences[index]
            predicting[index] = _predicting(sequence, prompt_at=start - common, rest_at=len(ids))
            rest = sequence.ids[prompt : sequence.forwarded_count]
            if not rest:
                continue
            seen = _images_in(model, rest, sequence.images[sequence.prompt_images :])
            places, _ = model.positions_from(rest, seen, start=end)
            ids += rest
            positions.append(places)
            images += seen
            routed += sequence.experts_of(prompt, sequence.forwarded_count)
            lengths.append(len(rest))
        own = prompt - common
        shared = tree(start, own, lengths, root) if len(lengths) > 1 else tree(start, own + sum(lengths), (), root)
        layout.append(shared)
    return Pack(
        ids=torch.tensor(ids),
        positions=torch.cat(positions, dim=1),
        images=tuple(images),
        layout=tuple(layout),
        predicting=torch.cat(predicting),
        targets=torch.tensor([token for one in sequences for token in one.action_ids]),
        routed_experts=_replayed(model, bytes(routed), len(ids)),
    )


def _replayed(model: VisionLanguageModel, routed: bytes, tokens: int) -> Int[Tensor, "tokens layers chosen"] | None:
    if not routed:
        return None
    if model.experts is None or len(routed) != tokens * model.experts.token_bytes:
        raise SaccadeError(f"{len(routed)} bytes are not the experts of the {tokens} tokens of this pack")
    return model.experts.unpacked(routed)


def _predicting(sequence: TrainingSequence, *, prompt_at: int, rest_at: int) -> Int[Tensor, "actions"]:
    before = torch.tensor(sequence.is_action, dtype=torch.bool).nonzero()[:, 0] - 1
    prompt = sequence.prompt_tokens
    return torch.where(before < prompt, before + prompt_at, before - prompt + rest_at)


def _images_in(model: VisionLanguageModel, ids: Sequence[int], images: Sequence[ImageRef]) -> Sequence[ImageRef]:
    """The leading images whose placeholders lie in ``ids``."""
    missing = ids.count(model.image_token_id)
    count = 0
    while missing > 0:
        missing -= model.view.token_count(images[count])
        count += 1
    return images[:count]
