"""Prompts for judges, in our words and in the form that each harness's rule expects the judge's text in."""

from collections.abc import Mapping

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow


def option_prompt(row: BenchmarkRow, reply: str, options: Mapping[str, str] | None = None) -> str:
    """Asks for the letter of the option that a reply means, or Z."""
    listed = "\n".join(f"{letter}. {text}" for letter, text in (options or row.options).items())
    return (
        "Match a reply to the options of a single-choice question. Say the letter of the option that has the same "
        "meaning as the reply. Say Z where the reply means none of them, refuses, or names several. Say one capital "
        "letter and nothing else.\n\n"
        "Question: What is in the picture?\nOptions:\nA. teddy bear\nB. rabbit\nReply: a cute teddy bear\nLetter: A\n\n"
        f"Question: {row.task.question}\nOptions:\n{listed}\nReply: {reply}\nLetter:"
    )


def yes_no_prompt(row: BenchmarkRow, reply: str) -> str:
    """Asks whether a reply means yes or no, or neither."""
    return (
        "Match a reply to Yes or No. Say Yes or No, whichever the reply means, or Unknown where it means neither. Say "
        "one word and nothing else.\n\n"
        "Question: Is the word in this picture 'Hello'?\nReply: The word in this picture is not 'Hello'.\nWord: No\n\n"
        f"Question: {row.task.question}\nReply: {reply}\nWord:"
    )


def extract_prompt(row: BenchmarkRow, reply: str) -> str:
    """Asks for the short answer that a long reply comes to."""
    return (
        "Read the question and the reply, and write the reply's final answer alone: an option's letter, a number, a "
        "list such as [2007, 2008], or a few words, as the question asks.\n\n"
        "Question: Which number is missing?\nReply: The number missing in the sequence is 14.\nFinal answer: 14\n\n"
        "Question: Which fraction is blue?\nChoices: (A) 3/11 (B) 8/11\nReply: It is (B) 8/11.\nFinal answer: B\n\n"
        f"{row.task.question}\nReply: {reply}\nFinal answer:"
    )
