"""What the learner would have said of masked pictures."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from saccade.algorithms.options import PerceptionOptions
from saccade.learner.policy_learner import PolicyLearner
from saccade.learner.sequences import TrainingSequence
from saccade.media.masking import with_black_patches
from saccade.media.store import MediaStore
from saccade.types import ImageRef


@dataclass(frozen=True, kw_only=True)
class MaskedView:
    """Log-probabilities of action tokens with the pictures of their contexts masked, those of observations too."""

    learner: PolicyLearner
    media: MediaStore
    perception: PerceptionOptions
    temperature: float
    seed: int
    """Chooses the patches, with each picture's size: pictures of one size have the same patches in a step."""

    def __call__(self, sequences: Sequence[TrainingSequence]) -> Sequence[tuple[float, ...]]:
        """In the order of ``sequences``."""
        shown = {image for one in sequences for image in one.images}
        with self._masked(shown) as black:
            # Another picture is routed otherwise: the learner's routers choose by themselves.
            masked = [
                replace(one, images=tuple(black[image] for image in one.images), routed_experts=b"")
                for one in sequences
            ]
            return self.learner.logprobs(masked, temperature=self.temperature)

    @contextmanager
    def _masked(self, images: set[ImageRef]) -> Iterator[dict[ImageRef, ImageRef]]:
        """The masked picture of each."""
        share, patch_px = self.perception.black_share, self.perception.patch_px
        shown = sorted(images, key=lambda one: one.hash)
        pictures = (
            with_black_patches(self.media.get(one), share=share, patch_px=patch_px, seed=self.seed) for one in shown
        )
        with self.media.lent(pictures) as masked:
            # A video's frames keep their times.
            yield {one: replace(one, hash=made.hash) for one, made in zip(shown, masked, strict=True)}
