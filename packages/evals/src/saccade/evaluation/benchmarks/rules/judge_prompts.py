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


def agreement_prompt(row: BenchmarkRow, extracted: str) -> str:
    """Asks for 1 where an extracted answer agrees with the right one, else 0."""
    question = row.fields.get("question_for_eval", row.task.question)
    return (
        "Do two answers to a mathematical question agree? They do only where the model's answer matches the standard "
        "answer completely, or says the same in another form, such as 0.5m and 50cm. Say 1 where they agree and 0 "
        "where they do not, and nothing else.\n\n"
        "Question: Write the set in interval notation.\nStandard answer: (-2,1]\nModel's answer: (-2,1)\nVerdict: 0\n\n"
        f"Question: {question}\nStandard answer: {row.answer}\nModel's answer: {extracted}\nVerdict:"
    )


def correctness_prompt(row: BenchmarkRow, reply: str) -> str:
    """Asks whether a reply is correct, incorrect or unclear beside a reference answer in a sentence."""
    reference = row.fields.get("gt_answer_details") or row.answer
    return (
        "Compare a prediction with the reference answer to a question. Say correct where they do not conflict, "
        "incorrect where they do, unclear where the prediction does not say. One word and nothing else.\n\n"
        f"Question: {row.task.question}\nReference answer: {reference}\nPrediction: {reply}\nWord:"
    )


def score_prompt(row: BenchmarkRow, said: str) -> str:
    """Asks for ``Score: 1`` where a predicted answer matches the right one, else ``Score: 0``."""
    return (
        "Compare a predicted answer with the right answer to a question about a picture. An answer in words is right "
        "where it says the same without anything false; a number, a name or a text must be the same. Reply with Score: "
        "1 where it is right, else Score: 0.\n\n"
        f"Question: {row.task.question}\nRight answer: {row.answer}\nPredicted answer: {said}\n"
    )


def match_prompt(row: BenchmarkRow, said: str) -> str:
    """Asks for True where an answer means the same as the right one, else False."""
    return (
        "Does an answer match the right one? Only if all facts and details are the same, whatever the wording. Reply "
        f"with True or False alone.\n\nQuestion: {row.task.question}\nRight answer: {row.answer}\nAnswer: {said}\n"
    )


def chart_prompt(row: BenchmarkRow, reply: str, key: str) -> str:
    """Asks for JSON with the extracted answer under ``key`` and a score of 0 or 1.

    A row's own prompt is used where it asks for this key: those of VLMEvalKit's file ask for the one of its own rule.
    """
    own = row.fields.get("grading_query")
    if own and key in own:
        return own.replace("{PREDICTION}", reply)
    return (
        "Take the final answer out of the reply to a question about a chart, and compare it with the right answer: "
        "numbers must be equal, words must mean the same. Reply with JSON alone, such as "
        f'{{"{key}": "0.5", "score": 1}}; the score is 1 where it is right and 0 where it is not.\n\n'
        f"Question: {row.task.question}\nRight answer: {row.answer}\nReply: {reply}\nJSON:"
    )


MAX_EXTRACT_CHARACTERS = 200


def is_extract(said: str) -> bool:
    """Whether a judge's text may be the final answer alone that ``extract_prompt`` asks for: one short line."""
    text = said.strip()
    return 0 < len(text) <= MAX_EXTRACT_CHARACTERS and len(text.splitlines()) == 1


def says_correctness(said: str) -> bool:
    """Whether a judge's text holds one of the words that ``correctness_prompt`` asks for."""
    return any(word in said.lower() for word in ("correct", "unclear"))


def document_prompt(row: BenchmarkRow, reply: str) -> str:
    """Asks for the answer and its format after two fixed headings."""
    return (
        "Take the answer out of an analysis of a document. It is an Integer, a Float, a String or a List. Write Not "
        "answerable where the analysis says that the document does not tell; write Fail to answer where the analysis "
        "says that it could not read the document. Be short, and use this form:\n"
        "Extracted answer: [answer]\nAnswer format: [answer format]\n\n"
        f"Question: {row.task.question}\nAnalysis: {reply}"
    )
