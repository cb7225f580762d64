"""Settings of an evaluation that nothing reads beside how it is asked."""

from collections.abc import Collection

from saccade.protocols import PYTHON_TOOL
from saccade.recipes.evaluation_settings import EvaluationSettings
from saccade.train import EpisodeSpec


def unused_settings(
    settings: EvaluationSettings, played: Collection[EpisodeSpec], is_served: bool, *, is_drawn: bool, has_looks: bool
) -> dict[str, str]:
    """Fields of the settings that an evaluation does not read, each with the reason.

    ``played`` are all its episodes. ``is_served`` says that a server is asked, ``is_drawn`` that a family draws the
    questions, and ``has_looks`` that there is a second look.
    """
    found = (
        {"model": "the server has the model"}
        if is_served
        else dict.fromkeys(("server", "coordinates"), "no --server is asked")
    )
    if not is_drawn:
        found["difficulty"] = "no --family draws the questions"
    if not has_looks:
        found["views"] = "no --test-time looks twice"
    if not any(tool.spec.name == PYTHON_TOOL for one in played for tool in one.tools):
        found |= dict.fromkeys(("isolation", "sandbox_server", "evidence_runs"), "no tool runs code")
    if all(one.max_turns != settings.max_turns for one in played):
        found["max_turns"] = "--turns says it, or there is a single turn"
    if settings.style is not None and all(one.protocol.style != settings.style for one in played):
        found["style"] = "the checkpoint's record says it"
    return found
