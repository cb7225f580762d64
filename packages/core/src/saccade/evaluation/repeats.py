"""Several samples of each question: avg@k, unbiased pass@k and maj@k, with intervals over clusters of questions."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade.codec.forms import Form
from saccade.evaluation.samples import StoredSample
from saccade.evaluation.statistics import ClusteredMean, clustered_mean


def pass_at_k(n: int, right: int, k: int) -> float:
    """The chance that at least one of ``k`` samples is right, without bias from ``n >= k`` of them.

    ``1 - C(n - c, k) / C(n, k)`` (Chen et al. 2021, equation 1).
    """
    if not 0 < k <= n:
        raise ValueError(f"pass@{k} cannot be computed from {n} samples; use k from 1 to {n}")
    return 1.0 - math.comb(n - right, k) / math.comb(n, k)


def majority_is_right(answers: Sequence[str | None], rights: Sequence[bool]) -> float:
    """Whether the most frequent answer is right; of several as frequent ones the share that is.

    Answers are equal without regard to case and outer space. No answer is an answer too, and never right.
    """
    if len(set(rights)) == 1:
        return float(rights[0])
    counts = Counter(_plain(answer) for answer in answers)
    most = max(counts.values())
    of_answer = {_plain(answer): right for answer, right in zip(answers, rights)}
    best = [answer for answer, count in counts.items() if count == most]
    return sum(of_answer[answer] for answer in best) / len(best)


def _plain(answer: str | None) -> str | None:
    return None if answer is None else " ".join(answer.split()).casefold()


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeats:
    """Measures of an evaluation in which each question was played ``k`` times."""

    FORM: ClassVar = Form(keys={"passed": "pass", "majority": "maj"})

    k: int
    avg: ClusteredMean
    """avg@k: the mean over questions of their shares of right samples."""
    passed: Mapping[int, ClusteredMean]
    """pass@j for j = 1, 2, 4, ... and k."""
    majority: ClusteredMean
    """maj@k."""
    incomplete: int
    """Questions of which the machine failed a sample: in avg@k with the others, not in pass@k and maj@k."""

    def describe(self) -> str:
        """``avg@8 50.1% (…), pass@8 71.2% (…), maj@8 55.0% (…)``."""
        text = f"avg@{self.k} {self.avg.describe()}, pass@{self.k} {self.passed[self.k].describe()}"
        text += f", maj@{self.k} {self.majority.describe()}"
        return f"{text}; {self.incomplete:,} questions incomplete" if self.incomplete else text


def repeats(samples: Sequence[StoredSample]) -> Repeats:
    """avg@k, pass@k and maj@k of samples, k being the most that a question has."""
    if len({(one.id, one.q) for one in samples}) == len(samples):
        return _single(samples)
    questions: dict[tuple[str, str], list[StoredSample]] = {}
    for sample in samples:
        questions.setdefault((sample.id, sample.q), []).append(sample)
    k = max(map(len, questions.values()))
    scored = [[one for one in of if one.right is not None] for of in questions.values()]
    shares = [(sum(bool(one.right) for one in of) / len(of), of[0].cluster) for of in scored if of]
    whole = [of for of in scored if len(of) == k]
    rights = [sum(bool(one.right) for one in of) for of in whole]
    clusters = [of[0].cluster for of in whole]
    sizes = sorted({2**power for power in range(k.bit_length()) if 2**power <= k} | {k})
    votes = [majority_is_right([one.answer for one in of], [bool(one.right) for one in of]) for of in whole]
    return Repeats(
        k=k,
        avg=clustered_mean([share for share, _ in shares], [cluster for _, cluster in shares]),
        passed={j: clustered_mean(_pass_chances(rights, k, j), clusters) for j in sizes},
        majority=clustered_mean(votes, clusters),
        incomplete=len(questions) - len(whole),
    )


def _pass_chances(rights: Sequence[int], n: int, k: int) -> list[float]:
    chances = {right: pass_at_k(n, right, k) for right in set(rights)}
    return [chances[right] for right in rights]


def _single(samples: Sequence[StoredSample]) -> Repeats:
    """Where each question was played once, the three measures are one."""
    scored = [one for one in samples if one.right is not None]
    mean = clustered_mean([float(bool(one.right)) for one in scored], [one.cluster for one in scored])
    return Repeats(k=1, avg=mean, passed={1: mean}, majority=mean, incomplete=len(samples) - len(scored))
