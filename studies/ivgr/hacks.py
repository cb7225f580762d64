"""What iVGR's closed hacks earned and earn: a small policy is trained by group-relative rewards on each.

The policy chooses among ways of writing a trajectory; its only weights are its preferences for these ways. It is
trained once by the open rule and once by the present one. Told are the mean reward of each way and its share after
training.

boxes: one good and one bad box, or the same with jittered copies of the good one. The open rule is the plain
equation 2.
judge: an honest text, a contradiction, or a contradiction that makes the judge talk nonsense; every fifth other reply
is nonsense by chance. The open rule gives a text without a verdict the mean of its siblings.

python -m studies.ivgr.hacks
"""

import asyncio
from collections.abc import Callable, Sequence
from statistics import mean

import numpy as np

from saccade.geometry import Box
from saccade.rewards.grounding import dual_iou, unrepeated_iou
from saccade.rewards.judges.consistency import Reference, Verdict
from saccade.rewards.judges.llm_judge import JudgeClient, LlmJudge, read_rubric
from saccade.seeding import generator_for
from saccade.testing import ScriptedTeacher
from saccade.types import ImageRef, Message, Target, Task

STEPS, GROUP, RATE = 300, 8, 0.2
TARGET = Box(40, 40, 90, 100)
JAM = "krk"
"""What the judge cannot stand."""

Rewards = Callable[[Sequence[str], np.random.Generator], Sequence[float]]
"""What a group of trajectories earns, by the way each was written."""


def main() -> None:
    print("| hack | rule | way | mean reward | share after training |\n|---|---|---|---|---|")
    for rule, measure in (("equation 2", dual_iou), ("present", unrepeated_iou)):
        tell("jittered boxes", rule, ("honest", "copies"), boxed(measure))
    for rule, is_open in (("mean of siblings", True), ("present", False)):
        tell("jammed judge", rule, ("honest", "contradiction", "jam"), judged(is_open=is_open))


def tell(hack: str, rule: str, ways: Sequence[str], rewards: Rewards) -> None:
    shares, earned = trained(ways, rewards)
    for way, share in zip(ways, shares):
        paid = f"{mean(earned[way]):.2f}" if earned[way] else "-"
        print(f"| {hack} | {rule} | {way} | {paid} | {share:.0%} |")


def trained(ways: Sequence[str], rewards: Rewards) -> tuple[Sequence[float], dict[str, list[float]]]:
    """The share of each way after training by policy gradient, and what each sample of it earned."""
    random = generator_for(0, "hacks")
    preferences = np.zeros(len(ways))
    earned: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(STEPS):
        shares = softmax(preferences)
        picked = random.choice(len(ways), size=GROUP, p=shares)
        paid = np.array(rewards([ways[index] for index in picked], random))
        for index, one in zip(picked, paid):
            earned[ways[index]].append(float(one))
        if (spread := paid.std()) > 1e-9:
            for index, advantage in zip(picked, (paid - paid.mean()) / spread):
                preferences += RATE * advantage / GROUP * (np.eye(len(ways))[index] - shares)
    return [float(share) for share in softmax(preferences)], earned


def softmax(preferences: np.ndarray) -> np.ndarray:
    powers = np.exp(preferences - preferences.max())
    return powers / powers.sum()


def boxed(measure: Callable[[Sequence[Box], Sequence[Box]], float]) -> Rewards:
    def rewards(ways: Sequence[str], random: np.random.Generator) -> Sequence[float]:
        return [measure(boxes_of(way, random), [TARGET]) for way in ways]

    return rewards


def boxes_of(way: str, random: np.random.Generator) -> list[Box]:
    good, bad = jittered(TARGET, 0.08, random), jittered(Box(150, 150, 200, 210), 0.2, random)
    return [good, bad, *(jittered(good, 0.04, random) for _ in range(10 if way == "copies" else 0))]


def jittered(box: Box, share: float, random: np.random.Generator) -> Box:
    shifts = random.uniform(-share, share, size=4) * np.array([box.width, box.height, box.width, box.height])
    return Box(*(float(side + shift) for side, shift in zip(box.as_tuple(), shifts)))


def judged(*, is_open: bool) -> Rewards:
    texts = {"honest": "the plate at the top is white", "contradiction": "the plate at the top is black"}
    texts["jam"] = f"{texts['contradiction']} {JAM}"
    task = Task(
        id="plates/1",
        family="plates",
        question="Which mark is on the red plate?",
        answer="white",
        answer_kind="exact",
        images=(ImageRef(hash="0" * 64, width=256, height=256),),
        targets=(Target(label="red plate", box=TARGET, point=TARGET.center),),
    )
    reference = Reference(text=texts["honest"], boxes=(TARGET,), box_reward=1.0)

    def rewards(ways: Sequence[str], random: np.random.Generator) -> Sequence[float]:
        asking = JudgeClient(model=ScriptedTeacher(reply=lambda messages: reply(messages, random)))
        judge = LlmJudge(asking=asking)

        async def one(way: str) -> Verdict:
            if is_open:
                found = await asking.values(task.id, texts[way], read_rubric)
                return Verdict(value=found[0] if found else None)
            return await judge(task, reference, texts[way])

        values = [asyncio.run(one(way)).value for way in ways]
        given = [value for value in values if value is not None]
        without = (mean(given) if is_open else min(given)) if given else 0.0
        return [without if value is None else value for value in values]

    return rewards


def reply(messages: Sequence[Message], random: np.random.Generator) -> str:
    text = str(messages[0].parts[0])
    if JAM in text or random.random() < 0.2:
        return "I cannot say."
    return "0.0" if "black" in text else "1.0"


if __name__ == "__main__":
    main()
