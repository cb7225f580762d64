"""A question in one spelling: signs and LaTeX as words, words small, points capital."""

import re

MAX_CHARS = 4000

_LATEX_PARTS = re.compile(r"\\(?:overline|overrightarrow|overleftrightarrow|mathrm|text|operatorname)\s*\{([^{}]*)\}")
_LATEX_ARC = re.compile(r"\\(?:widehat|overset\s*\{\s*\\frown\s*\})\s*\{([^{}]*)\}")
_FRACTION = re.compile(r"\\d?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_ROOT = re.compile(r"(?:\\sqrt\s*\{([^{}]*)\}|√\s*(\d+(?:\.\d+)?|\([^()]*\)))")
_SPACED_POINTS = re.compile(r"\b([A-Z]) (?=[A-Z]\b)")
_SIGNS = (
    (r"\bRt\.? ?(?=\\triangle|△|▵|Δ|triangle)", "right "),
    (r"(?<=\b[cdkm]m)(?:²|\s*\^\s*\{?2\}?)|(?<=\d m)(?:²|\^\{?2\}?)", " "),
    (r"\bsquare (?=centimet|met|inch|feet|foot|unit)", " "),
    (r"\\angle|∠", " angle "),
    (r"\\triangle|△|▵|Δ(?=\s*[A-Z])", " triangle "),
    (r"\\odot|⊙|☉", " circle "),
    (r"▱|\\parallelogram", " parallelogram "),
    (r"\\parallel|∥|\|\||//", " is parallel to "),
    (r"\\perp|⊥", " is perpendicular to "),
    (r"\\sim|∼|∽|~", " is similar to "),
    (r"\\cong|≅|≌", " is congruent to "),
    (r"\^\s*\{?\s*\\circ\s*\}?|\\degree|°|º", " degrees "),
    (r"⌒", " arc "),
    (r"\\pi|π", " pi "),
    (r"\\cdot|\\times|×|·", "*"),
    (r"[−–]", "-"),
    (r"[＝]", "="),
    (r"[，]", ", "),
    (r"[。]", ". "),
    (r"（\s*）|\(\s*\)|_{2,}|\\underline\s*\{[^{}]*\}", " ? "),
    (r"[（]", "("),
    (r"[）]", ")"),
    (r"\\[,;: !]|\\(?:left|right|quad|mathrm)\b|[{}$]", " "),
)
_COMPILED_SIGNS = tuple((re.compile(sign), word) for sign, word in _SIGNS)
_WORD = re.compile(r"(?<![A-Za-z])[A-Z]?[a-z]{2,}(?![A-Za-z])")
_MEASURE = re.compile(r"\bm(?= angle| arc)")
_ARTICLE = re.compile(r"(^|[.?!] )A(?= (?!is\b|lies\b|and\b|to\b|on\b)[a-z])")


def in_one_spelling(question: str) -> str:
    """The question as the patterns of ``words`` expect it."""
    text = question
    is_latex = "\\" in text or "$" in text
    text = _LATEX_ARC.sub(r" arc \1 ", text)
    text = _LATEX_PARTS.sub(r"\1", text)
    text = _FRACTION.sub(r"(\1)/(\2)", text)
    text = _ROOT.sub(lambda match: f"sqrt({(match[1] or match[2]).strip('()')})", text)
    for sign, word in _COMPILED_SIGNS:
        text = sign.sub(word, text)
    text = " ".join(text.split())
    if is_latex:
        text = _SPACED_POINTS.sub(r"\1", text)
    text = _WORD.sub(lambda match: match[0].lower(), text)
    text = _ARTICLE.sub(r"\1a", text)
    text = _MEASURE.sub("", text)
    text = re.sub(r"\b(?:center|centre)\b", "centre", text)
    text = re.sub(r"\bis is\b", "is", text)
    text = re.sub(r"\s+([.,])(?!\d)", r"\1", text)
    text = re.sub(r"\s*=\s*", " = ", text)
    return " ".join(text.split())
