"""The texts with which VLMEvalKit asks, after the pictures."""

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow


def options_prompt(row: BenchmarkRow) -> str:
    """Hint, question, options, and the request to select."""
    return _question_text(row, "Please select the correct answer from the options above. \n")


def letter_prompt(row: BenchmarkRow) -> str:
    """TreeBench's: the same with the request for the letter alone."""
    return _question_text(row, "Answer with the correct option's letter directly. \n")


def _question_text(row: BenchmarkRow, request: str) -> str:
    hint = f"Hint: {row.fields['hint']}\n" if "hint" in row.fields else ""
    listed = "".join(f"{letter}. {text}\n" for letter, text in row.options.items())
    options = f"Options:\n{listed}{request}" if row.options else ""
    return f"{hint}Question: {row.question}\n{options}"


def question_prompt(row: BenchmarkRow) -> str:
    """The question and nothing else."""
    return row.question


def own_prompt(row: BenchmarkRow) -> str:
    """The row's column ``prompt``."""
    return row.column("prompt")


def short_answer_prompt(row: BenchmarkRow) -> str:
    return f"{row.question}\nAnswer the question using a single word or phrase."


def count_prompt(row: BenchmarkRow) -> str:
    return f"{row.question} Note that: answer with a number directly e.g. 3. Do not include any additional text."


def real_world_prompt(row: BenchmarkRow) -> str:
    """MME-RealWorld's: the options as they stand in the release, and the request for the letter of five."""
    listed = "\n".join(f"({letter}) {text}" for letter, text in row.options.items())
    return (
        f"{row.question} The choices are listed below:\n{listed}\nSelect the best answer to the above "
        "multiple-choice question based on the image. Respond with only the letter (A, B, C, D, or E) of the correct "
        "option. \nThe best answer is:"
    )


def real_world_cn_prompt(row: BenchmarkRow) -> str:
    """The Chinese one's."""
    listed = "\n".join(f"({letter}) {text}" for letter, text in row.options.items())
    return (
        f"{row.question} 选项如下所示:\n{listed}\n根据图像选择上述多项选择题的最佳答案。"
        "只需回答正确选项的字母（A, B, C, D 或 E）。\n最佳答案为："
    )


def braces_prompt(row: BenchmarkRow) -> str:
    """ZeroBench's."""
    return (
        f"{row.question} \n\n\nLet's think step by step and give the final answer in curly braces,  like this: "
        "{final answer}"
    )


def reasoning_prompt(row: BenchmarkRow) -> str:
    """VisuLogic's."""
    return (
        f"{row.question}\nSolve the complex visual logical reasoning problem through step-by-step reasoning."
        "Think about the reasoning process first and answer the question following this format: "
        "Answer: \\boxed{$LETTER}"
    )


def boxed_prompt(row: BenchmarkRow) -> str:
    """BabyVision's."""
    listed = "\n".join(f"({letter}) {text}" for letter, text in row.options.items())
    choices = f"\nChoices:\n{listed}" if listed else ""
    return f"{row.question}{choices}\nThink about the question and give your final answer in \\boxed{{Answer}} format."


def lettered_prompt(row: BenchmarkRow) -> str:
    """O3-Bench's: the question and lines of options."""
    return "\n".join([row.question, *(f"{letter}. {text}" for letter, text in row.options.items())])


def video_prompt(row: BenchmarkRow) -> str:
    """Video-MME-v2's, with the subtitles where the row has them."""
    told = row.fields.get("subtitles")
    told = f" This video's subtitles are listed below:\n{told}\n" if told is not None else ""
    options = "\n".join(f"{letter}. {text}" for letter, text in row.options.items())
    return (
        f"These are the frames of a video.{told}\nQuestion: {row.column('asked')}\n{options}\nSelect the best answer "
        "to the following multiple-choice question based on the video. Respond with only the letter (A, B, C, D, E, F, "
        "G, or H) of the correct option."
    )


def click_prompt(row: BenchmarkRow) -> str:
    """ScreenSpot's, its system text included."""
    return (
        "You are a GUI agent. You are given a task and a screenshot of the screen. You need to perform pyautogui "
        "click/moveTo action to complete the task. The answer format is `pyautogui.click(x=?, y=?), x and y is "
        "necessary`\nPlease complete the following tasks by clicking using `pyautogui.click`:\n"
        f"{row.column('instruction')}"
    )


def own_input_prompt(row: BenchmarkRow) -> str:
    """The row's column ``input_prompt``, with the places of its pictures."""
    return row.column("input_prompt")
