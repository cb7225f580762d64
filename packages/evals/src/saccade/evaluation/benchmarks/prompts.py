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


def own_input_prompt(row: BenchmarkRow) -> str:
    """The row's column ``input_prompt``, with the places of its pictures."""
    return row.column("input_prompt")
