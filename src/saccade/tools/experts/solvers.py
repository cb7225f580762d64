"""Models that were trained on mathematics with figures: G-LLaVA and MultiMath."""

from typing import Annotated, Literal

from PIL import Image

from saccade.tools.experts.asking import asked, checked_question, stated_answer
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.vision_models.requests import VisionModel

SolverTask = Literal["solve", "analyze", "explain"]
Problem = Annotated[str, "the whole problem in words, with its numbers and what is asked"]

_WANTED = {
    "solve": "Work the problem out step by step. Put the result on a last line of its own that begins with 'Answer:'.",
    "analyze": "Do not solve it yet. List what the figure shows and what the text gives, then the relations that lead "
    "from these to what is asked.",
    "explain": "Explain, so that a pupil understands it, which facts and theorems the solution needs and why they hold "
    "here. Put the result on a last line of its own that begins with 'Answer:'.",
}


def g_llava_tool(model: VisionModel, *, deadline_s: float) -> Tool:
    """``g_llava`` over the model that is meant to answer."""

    def g_llava(
        image: Image.Image,
        problem: Problem,
        task: Annotated[Literal["solve", "analyze"], "a solution, or only what is given and how it hangs together"] = (
            "solve"
        ),
    ) -> ToolOutput:
        """Ask a model trained on geometry to solve or analyse a problem with a figure; check what it says."""
        return _output(model, image, "This is a problem of plane geometry with its figure.", problem, task)

    return tool_from(g_llava, deadline_s)


def multimath_tool(model: VisionModel, *, deadline_s: float) -> Tool:
    """``multimath`` over the model that is meant to answer."""

    def multimath(
        image: Image.Image,
        problem: Problem,
        task: Annotated[Literal["solve", "analyze", "explain"], "what to do with the problem"] = "solve",
    ) -> ToolOutput:
        """Ask a model trained on mathematics with pictures to solve or explain a problem; check what it says."""
        return _output(model, image, "This is a problem of mathematics with its picture.", problem, task)

    return tool_from(multimath, deadline_s)


def _output(model: VisionModel, image: Image.Image, intro: str, problem: str, task: SolverTask) -> ToolOutput:
    prompt = f"{intro}\n\nProblem: {checked_question(problem, 'problem')}\n\n{_WANTED[task]}"
    text = asked(model, image, prompt)
    return ToolOutput(text=text, data={"task": task, "answer": stated_answer(text)})
