"""Answers from a thumbnail: a small probe learned on downsampled pixels and the question's words.

It is a linear model on coarse pixels, a histogram of colours, the words, and the colours under each word. So it sees
what is large, how much there is of each colour, and where; it cannot count, read, follow a line or compare two things.
"""

import zlib
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.evaluation.audit.blind import MARGIN, Patterns, answer_text, chance_of, words_in
from saccade.evaluation.audit.drawn import MOST_PICTURES, DrawnFamily
from saccade.evaluation.audit.findings import Checked, share_at_most
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import seed_for
from saccade.types import Task

WORD_BUCKETS = 48
COLOUR_STEPS = 4
STEPS = 150
CANNOT_SEE = "the probe is linear in coarse pixels and colours: it cannot count, read or compare"


class ThumbnailProbe:
    """Learned from tasks, their answers and thumbnails; guesses from a question and a thumbnail."""

    def __init__(
        self, drawn: DrawnFamily, tasks: Sequence[Task], instead: Mapping[str, NDArray[np.uint8]] | None = None
    ) -> None:
        """``instead`` are other thumbnails, by the id of the task that is shown."""
        self._drawn, self._instead = drawn, instead or {}
        self._answers = list(dict.fromkeys(map(answer_text, tasks)))
        features = np.stack([self._features(task, task) for task in tasks])
        self._mean, self._scale = features.mean(axis=0), features.std(axis=0) + 0.1
        self._weights = self._fit_weights(features, [self._answers.index(answer_text(task)) for task in tasks])

    def guess(self, task: Task, shown: Task) -> str:
        """The answer to a task's question on the pictures of another one, or on its own."""
        x = (self._features(task, shown) - self._mean) / self._scale
        scores = x @ self._weights[:-1] + self._weights[-1]
        allowed = [index for index, text in enumerate(self._answers) if text in task.choices] or range(len(scores))
        return self._answers[max(allowed, key=lambda index: float(scores[index]))]

    def _fit_weights(self, features: NDArray[np.float64], labels: Sequence[int]) -> NDArray[np.float64]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_for(0, "thumbnail probe"))
            x = torch.tensor((features - self._mean) / self._scale, dtype=torch.float32)
            y = torch.tensor(labels)
            weights = torch.zeros(x.shape[1] + 1, len(self._answers), requires_grad=True)
            optimizer = torch.optim.Adam([weights], lr=0.01)
            for _ in range(STEPS):
                optimizer.zero_grad()
                logits = x @ weights[:-1] + weights[-1]
                loss = torch.nn.functional.cross_entropy(logits, y) + 0.02 * weights.square().sum()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            return np.asarray(weights.detach().numpy(), dtype=np.float64)

    def _features(self, task: Task, shown: Task) -> NDArray[np.float64]:
        words = np.zeros(WORD_BUCKETS)
        for word in words_in(task.question):
            words[zlib.crc32(word.encode()) % WORD_BUCKETS] = 1.0
        if not shown.images:
            return words
        other = self._instead.get(shown.id)
        images = shown.images[:MOST_PICTURES]
        seen = [self._drawn.seen[image.hash].thumbnail for image in images] if other is None else [other]
        small = _block_means(np.stack(seen).mean(axis=0) / 255, 2)
        coarse = _block_means(small, 4).ravel()
        steps = np.minimum((small.reshape(-1, 3) * COLOUR_STEPS).astype(int), COLOUR_STEPS - 1)
        cells = steps @ np.array([COLOUR_STEPS**2, COLOUR_STEPS, 1])
        colours = np.sqrt(np.bincount(cells, minlength=COLOUR_STEPS**3) / len(cells))
        return np.concatenate([words, coarse, colours, np.outer(words, colours).ravel()])


def _block_means(pixels: NDArray[np.float64], by: int) -> NDArray[np.float64]:
    """Means of squares of this side, in pixels."""
    side = pixels.shape[0] // by
    means: NDArray[np.float64] = pixels.reshape(side, by, side, by, 3).mean(axis=(1, 3))
    return means


def thumbnail_finding(drawn: DrawnFamily, probe: ThumbnailProbe, patterns: Patterns, blind: float) -> Checked:
    """Accuracy of the probe on held-out tasks; judged where the family claims that one must look closer."""
    tasks = [example.task for example in drawn.held_out]
    if not any(task.images for task in tasks):
        return Checked(check="thumbnail", verdict="not applicable", note="there are no pictures")
    hits = [answer_is_right(task, probe.guess(task, task)) for task in tasks]
    seen = next((f"{task.question} {task.answer}" for task, hit in zip(tasks, hits) if hit), "")
    bound = max(chance_of(tasks, patterns), blind) + MARGIN
    if drawn.claims.needs_closer:
        return share_at_most("thumbnail", hits, bound, note=f"claims to need a closer look; {CANNOT_SEE}", example=seen)
    return Checked(
        check="thumbnail", verdict="reported", figure=sum(hits) / len(hits), bound=bound, note=CANNOT_SEE, example=seen
    )
