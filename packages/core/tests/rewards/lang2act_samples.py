"""Trajectories with chains of linguistic tools, made by hand for the tests of Lang2Act's reward."""

import asyncio
from dataclasses import replace

from reward_samples import TASK

from saccade.protocols import LinguisticTool, LinguisticToolbox, toolchain_protocol
from saccade.rewards.lang2act import Lang2ActReward
from saccade.types import ImageRef, Score, Task, Trajectory, Turn

PAGE = ImageRef(hash="0" * 64, width=8, height=8)
ASKED = replace(TASK, question="Which plate on the second page is red?", answer="plate 7", answer_kind="text")
PAGES = replace(ASKED, images=(PAGE, PAGE, PAGE))
BOX = LinguisticToolbox((LinguisticTool("read_cell", "Read."), LinguisticTool("compute_difference", "Subtract.")))
PROTOCOL = toolchain_protocol(toolbox=BOX)

READ = '<tool name="read_cell" args="Image 2: row 1">it says 7</tool>'
REWARD = Lang2ActReward(toolbox=BOX)


def said(description: str = READ, *, think: str = "Image 2.", answer: str = "plate 7", sample: int = 0) -> Trajectory:
    text = f"<think>{think}</think><description>{description}</description><answer>{answer}</answer>"
    parsed = PROTOCOL.parse(text)
    turn = Turn(index=0, text=text, thought=parsed.thought, action=parsed.action, is_well_formed=parsed.is_well_formed)
    return Trajectory(
        task_id=TASK.id,
        family=TASK.family,
        stream="main",
        sample=sample,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="answered" if answer.strip() else "turn_limit",
    )


def score(trajectory: Trajectory, reward: Lang2ActReward = REWARD, task: Task = PAGES) -> Score:
    found = asyncio.run(reward(task, trajectory))
    assert found is not None
    return found


RIGHT, WRONG, UNANSWERED = said(), said(answer="plate 3"), said(answer=" ")
UNCHAINED, NOTHING = said("I look and it is red."), said("I look.", answer="plate 3")
