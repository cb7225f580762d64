"""Sequences that a tiny model is taught: the prompts of drawn questions, and a few words."""

from saccade.learner.sequences import TrainingSequence
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.tasks import tiny_example
from saccade.types import Message


def sequences(model: VisionLanguageModel, count: int) -> list[TrainingSequence]:
    made = []
    for index in range(count):
        task = tiny_example(model.media, index).task
        asked = model.chat.prompt([Message(role="user", parts=(*task.images, task.question))])
        said = model.chat.encode("a red square" + " yes" * index)
        made.append(
            TrainingSequence(
                ids=(*asked.ids, *said),
                is_action=(False,) * len(asked.ids) + (True,) * len(said),
                images=asked.images,
                prompt_tokens=len(asked.ids),
                prompt_images=len(asked.images),
                sampled_logprobs=(-1.0,) * len(said),
                advantages=(1.0,) * len(said),
                token_weight=0.05,
            )
        )
    return made
