"""Questions and replies on which public rules were recorded: ordinary, hedging, hostile, empty and failed ones."""

OPTION_REPLIES = (
    "B",
    "b",
    "(B)",
    "B.",
    "B)",
    "**B**",
    "`B`",
    "<answer>B</answer>",
    "<answer> b </answer>",
    "<Answer>B. blue</Answer>",
    "The answer is (B).",
    "The answer is B",
    "The best answer is B.",
    "Answer: B",
    "My answer is B.",
    "It is not A, it is B",
    "A scarf of blue colour",
    "Cannot tell",
    "Cannot determine the answer",
    "blue",
    "The sign says Blue",
    "It is the blue one, as one sees at the left of the picture.",
    "",
    "   ",
    "[LMMS_EVAL_REQUEST_FAILED after 5 retries] Connection error.",
    "Failed to obtain answer via API.",
    "Either A or B",
    "I think it's B, but it might be C",
    "Sorry, I can't help with images of people yet.",
    "<think>A is red. B is blue.</think>\nB",
    "<think>It looks like D. No, C.</think>\n\n**Final answer:** B",
    "\\boxed{B}",
    "B) blue\nBecause the scarf is blue.",
    "\uff22",
    "答案是B",
    "option b",
    "None of the above",
    "THE CORRECT ANSWER IS BLUE",
    "Z",
    "A\nB\nC\nD",
    "the red one",
    "B B B B B B B B B B",
    "(",
    "i would say that this thing is rather of some other kind altogether",
    "Option A: red\nOption B: blue\nB",
    "A. red\nB. blue\nC. green\nSo C is out and the colour must be B. blue",
    "🙂 B 🙂",
    "B\u200b",
    '"B"',
    "red, blue",
)

VERSION_REPLIES = (
    "The correct answer is **B**. Here's why: it is the only one of them that is not red at all.",
    "The answer is C. I say so because the scarf is neither of the others, as one sees.",
    "The answer is a blue scarf, which hangs at the left of the door there.",
    "the answer is b and nothing else that I could think of in a day or two",
    "The answer is an apple",
    "Answer is **D** since A is out",
    "I see A, and the answer is B, so I say B and no more than that",
    "The correct answer  is\n*C* since the colour of it is plain to see for all of us",
    "Best answer: C",
    "Best option: C",
    "The best option is C",
    "The correct option is D",
    "Best answer:Best option: D",
    "<answer>Best option: c</answer>",
    "(C). The answer is (B).",
    "The answer is E. That is what I think of all that I was shown here",
)
"""What two versions of a harness read differently, and what stands near."""

OPTION_ROW = {
    "index": "7",
    "question": "What colour is the scarf?",
    "A": "red",
    "B": "blue",
    "C": "green",
    "D": "a shade of grey",
    "answer": "B",
    "category": "attribute",
}
LAST_ROW = {**OPTION_ROW, "index": "8", "answer": "C"}

YES_NO_REPLIES = (
    "Yes",
    "yes",
    "No",
    "Yes.",
    "Yes, it is.",
    "No, there is none",
    "**Yes**",
    "<answer>yes</answer>",
    "There is no dog",
    "yes and no",
    "I do not know",
    "",
    "Not visible",
    "YES!",
    "yes/no",
    "There are 1,000 dogs, yes.",
    "Yes-there is",
    "Sure",
    "[LMMS_EVAL_REQUEST_FAILED after 5 retries] Connection error.",
    "да, yes",
)

SERVED_STYLES = {
    "bare": "{short}",
    "sentence": "The answer is {short}.",
    "other words": "{sentence}",
    "boxed": "\\boxed{{{short}}}",
    "thought first": "<think>It is not {wrong}.</think>\n\n{short}",
    "thought of the template": "It is not {wrong}.\n</think>\n\n{short}",
    "tags in a thought": "<think>I must write it in <answer> tags.</think><answer>{short}</answer>",
    "refusal": "I'm sorry, I can't help with that.",
    "empty": "",
    "bold": "**{short}**",
    "brackets": "({short})",
    "with a reason": "{short}. {sentence}",
    "another language": "{foreign}",
}
"""How models behind servers answer."""
SERVED_WORDS = {
    "mmstar": {"short": "B", "wrong": "A", "sentence": "The scarf is blue.", "foreign": "答案是B"},
    "pope": {"short": "Yes", "wrong": "No", "sentence": "There is a dog at the left.", "foreign": "是的，有一只狗。"},
    "chartqa-test": {"short": "14", "wrong": "12", "sentence": "The bar reaches 14 units.", "foreign": "答案是14"},
}
SERVED_ROWS = {
    "mmstar": OPTION_ROW,
    "pope": {"index": "1", "question": "Is there a dog?", "answer": "Yes", "category": "random"},
    "chartqa-test": {"index": "1", "question": "How high?", "answer": "14", "split": "test_human"},
}


def served_replies(benchmark: str) -> list[str]:
    """Each style's reply to the benchmark's row, whole and after its thought."""
    whole = [style.format(**SERVED_WORDS[benchmark]) for style in SERVED_STYLES.values()]
    return list(dict.fromkeys([*whole, *(reply.rpartition("</think>")[2].strip() for reply in whole)]))


CHART_REPLIES = (
    "14",
    "14.0",
    " 14 ",
    "14.5",
    "15",
    "14%",
    "0.14",
    "The value is 14",
    "fourteen",
    "**14**",
    "",
    "nan",
    "inf",
    "1e1",
    "14,000",
    "Yes",
    "yes ",
    "blue bar",
    "١٤",
    "-14",
)
SOFT_ROWS = tuple(
    {"index": str(place), "question": "What is it?", "answer": repr(golds)}
    for place, golds in enumerate(
        (
            ["dog"] * 2 + ["cat"] * 3 + ["the cat"] * 5,
            ["unanswerable"] * 9 + ["blue"],
            ["3"] * 4 + ["three"] * 3 + ["3.5"] * 2 + ["1,000"],
            ["dont know"] * 5 + ["st. john's"] * 5,
        )
    )
)
SOFT_REPLIES = (
    "dog", "Dog.", "a dog", "the cats", "cat", "CAT!", "Unanswerable", "unanswerable.", "blue", "three", "3", "3.",
    "3.5", "1000", "1,000", "don't know", "st john's", "St. John's", "", "  ", "cat\n", "cat dog", "cat/dog",
    "It is a dog",
)  # fmt: skip

CHART_ANSWERS = ("14", "14%", "0", "Yes", "Blue bar", "2010", "['14', 'fourteen']")

TEXT_REPLIES = (
    "Harry Truman",
    "harry  truman",
    "Truman",
    "Harry S. Truman",
    "The president is Harry Truman.",
    "",
    "Hary Trumann",
    "HARRY TRUMAN\n",
    "Barack Obama",
    "<answer>Harry Truman</answer>",
)

COUNT_REPLIES = ("2", "12", "two", "There are 2 cats", "2.", "3", "20 of 2", "<answer>2</answer>", "2 or 3", "none")

VISTA_ROWS = (
    {
        "index": "1",
        "question": "How many? Hint: an integer",
        "question_type": "free_form",
        "answer_type": "integer",
        "answer": "14",
    },
    {
        "index": "2",
        "question": "How much?",
        "question_type": "free_form",
        "answer_type": "float",
        "answer": "1.5",
        "precision": "1.0",
    },
    {
        "index": "3",
        "question": "Which?",
        "question_type": "multi_choice",
        "answer_type": "text",
        "answer": "blue",
        "answer_option": "B",
        "choices": "['red', 'blue', 'green']",
    },
    {"index": "4", "question": "Which years?", "question_type": "free_form", "answer_type": "list", "answer": "[1, 2]"},
    {"index": "5", "question": "How many?", "question_type": "free_form", "answer_type": "integer", "answer": "0"},
)
VISTA_REPLIES = (
    "The correct answer is **B**. Here is why I think that it is so and why it could not be otherwise.",
    "14",
    "14.0",
    " 14",
    "0",
    "1.5",
    "1.50",
    "B",
    "blue",
    "It is (B) blue.",
    "[1, 2]",
    "",
    "fourteen",
    "None",
)
VISTA_JUDGED = (
    ("So it must be fourteen.", ("14",)),
    ("So it must be fourteen.", ("15",)),
    ("One and a half", ("1.5",)),
    ("One and a half", ("1.46",)),
    ("the second of them", ("B",)),
    ("the second of them", ("(B) blue",)),
    ("none at all", ("0",)),
    ("both", ("[1, 2]",)),
    ("Who knows", ("I cannot say",)),
)

VISION_ROWS = (
    {"index": "1", "question": "Area?", "answer": "14", "choices": "[]"},
    {"index": "2", "question": "Ratio?", "answer": "\\frac{1}{2}", "choices": "[]"},
    {"index": "3", "question": "Which?", "answer": "B", "choices": "['3', '4', '5', '6', '7']"},
)
VISION_REPLIES = (
    "The correct answer is **B**. Here is why I think that it is so and why it could not be otherwise.",
    "14",
    "14.0",
    "The answer is 14.",
    "So the area is 14",
    "\\boxed{14}",
    "First \\boxed{13}, then \\boxed{14}",
    "28/2",
    "0.5",
    "1/2",
    "\\frac{1}{2}",
    "\\frac{2}{4}",
    "$\\frac{1}{2}$",
    "B",
    "The correct answer is B.",
    "(B)\nsince 4 fits",
    "4",
    "\\boxed{B}",
    "x = 14",
    "14 cm",
    "",
    "fourteen",
    "(D)",
)

SLIDE_REPLIES = ("18 million", "18 Million", "It is 18 million", "18", "million", "", "Not answerable", "18  million\n")

DOCUMENT_ROWS = (
    {"index": "1", "question": "How many?", "answer": "12", "answer_format": "Int"},
    {"index": "2", "question": "Share?", "answer": "12.5%", "answer_format": "Float"},
    {"index": "3", "question": "Who?", "answer": "Harry Truman", "answer_format": "Str"},
    {"index": "4", "question": "Which page?", "answer": "page 12", "answer_format": "Str"},
    {"index": "5", "question": "Which?", "answer": "['red', 'blue']", "answer_format": "List"},
    {"index": "6", "question": "Why?", "answer": "Not answerable", "answer_format": "None"},
    {"index": "7", "question": "How far?", "answer": "12 miles", "answer_format": "Str"},
    {"index": "8", "question": "Which?", "answer": "['1', '2']", "answer_format": "List"},
)
DOCUMENT_REPLIES = (
    "12",
    "12.0",
    "12.4",
    "12 of them",
    "12.5",
    "0.125",
    "12.55%",
    "Harry Truman",
    "Hary Truman",
    "page 12",
    "page 13",
    "['blue', 'red']",
    "['blue', 'rad']",
    "blue, red",
    "[blue",
    "Not answerable",
    "Fail to answer",
    "12 mile",
    "$12",
    "",
    "['2', '1']",
    "1,200",
)
