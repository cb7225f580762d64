"""Python as a tool without a memory: every call runs in a new session of the sandbox.

For a service, where calls belong to no episode. Environments use ``saccade.tools.code.python_tool``, whose variables
last for an episode.
"""

from dataclasses import replace
from typing import Annotated

from PIL import Image

from saccade.errors import ToolError
from saccade.media.store import MediaStore
from saccade.protocols.code import MAX_CODE_CHARS
from saccade.protocols.code_words import PYTHON_TOOL, input_file
from saccade.sandbox.sandbox import Sandbox
from saccade.tools.code import MAX_WAIT_S
from saccade.tools.code_results import does_nothing, nothing_done, tool_result
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.types import Json, ToolSpec

MIN_SIDE_PX = 56
MAX_IMAGES = 4
MAX_OUTPUT_CHARS = 4096


def fresh_python_tool(sandbox: Sandbox, *, timeout_s: float = 15.0) -> Tool:
    """``execute_python_code`` on one image; what a run leaves behind is gone with it."""

    def execute_python_code(image: Image.Image, code: Annotated[str, "Python source"]) -> ToolOutput:
        """Run Python 3 with numpy, PIL, cv2, matplotlib, scipy, pandas and sympy on input_image, a PIL image."""
        media = MediaStore()
        if does_nothing(code):
            result = nothing_done()
        else:
            session = sandbox.session({input_file(0): image})
            try:
                run = session.run(code, timeout_s=timeout_s)
            finally:
                session.close()
            result = tool_result(
                run, media, min_side_px=MIN_SIDE_PX, max_images=MAX_IMAGES, max_output_chars=MAX_OUTPUT_CHARS
            )
        if not result.is_ok:
            raise ToolError(f"code failed:\n{result.text}")
        return ToolOutput(text=result.text, images=tuple(media.get(one) for one in result.images), data=result.data)

    tool = tool_from(execute_python_code, timeout_s + MAX_WAIT_S)
    assert tool.name == PYTHON_TOOL
    # Programs are longer than other texts.
    parameters = tuple(replace(one, max_chars=MAX_CODE_CHARS) if one.name == "code" else one for one in tool.parameters)
    return replace(tool, spec=_longer_code(tool.spec), parameters=parameters)


def _longer_code(spec: ToolSpec) -> ToolSpec:
    schema = dict(spec.parameters)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    code: dict[str, Json] = {**properties["code"], "maxLength": MAX_CODE_CHARS}
    return replace(spec, parameters={**schema, "properties": {**properties, "code": code}})
