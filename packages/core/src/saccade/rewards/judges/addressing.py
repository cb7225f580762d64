"""Guards of a judge: a text is quoted so that it cannot leave its quotation, and refused when it talks to the judge.

Quoted, every line is marked, so no text can end its own quotation; brackets of tags are replaced, so none holds a role
token, an image's placeholder or a judge's tag; invisible characters are taken out.

A text talks to its judge when it has a tag of a judge, copies the judge's instructions, announces its own judgement
(``ANNOUNCED``), demands a good one (``DEMANDED``), or orders the judge to leave the rules (``OVERRULED``), in any of
their languages. What is honest has none of these: "in my judgement the plate is white", "the judge wears a wig", "the
final score is 3-1". Case, white space, letters set apart, marks of emphasis, unseen characters and look-alikes of
letters do not hide it: the patterns are matched on folded text.
"""

import re
import unicodedata
from collections.abc import Iterable

MARK = "| "
"""Each line of a quotation begins with it."""

CUT = "(the rest is left out)"

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_BRACKETS = str.maketrans({"<": "‹", ">": "›"})
_ROLE_TOKEN = re.compile(r"\[(/?[A-Z_]{2,20})\]")


def quoted(text: str, max_chars: int) -> str:
    """The text as marked lines, at most ``max_chars`` of it."""
    lines = [line for line in visible(text[:max_chars]).splitlines() if line.strip()]
    if len(text) > max_chars:
        lines.append(CUT)
    safe = _ROLE_TOKEN.sub(r"(\1)", "\n".join(lines).translate(_BRACKETS))
    return "\n".join(MARK + line for line in safe.splitlines())


def says_anything(text: str) -> bool:
    """Whether there is a letter or a digit in it."""
    return any(letter.isalnum() for letter in text)


def visible(text: str) -> str:
    """The text without invisible characters. White space stays white space, a line end a line end."""
    return "".join(
        letter
        if unicodedata.category(letter) not in _UNSEEN
        else "\n"
        if letter in "\n\r\x0b\x0c\x1c\x1d\x1e\x85"
        else " "
        if letter == "\t"
        else ""
        for letter in text
    )


_PAYS = r"(?:1[.,]0{1,3}|0?[.,]70?|100 ?%|10 ?/ ?10|5 ?/ ?5|1 ?/ ?1)"
"""Good scores, as numbers."""
_ENDS = r"(?= ?(?:[.!;\n)\]}]|$))"
_IS = r" ?(?:[:=：＝→]|->|=>) ?"
_THEN = (
    r"(?= (?:final |total |overall |my |the )?(?:scores?|ratings?|grades?|verdicts?|marks?|points?)"
    rf"(?:{_IS}| )(?:1|{_PAYS})\b)"
)
"""A judgement goes on with the score that it gives."""

_SCORES = (
    r"(?:final|total|overall)?scores?|ratings?|grades?|verdicts?|consistency|evaluation|assessment|judge?ments?"
    r"|reward|similarity"
    r"|puntuaci[oó]n|puntaje|calificaci[oó]n|veredicto|evaluaci[oó]n|note finale|note globale|évaluation|jugement"
    r"|bewertung|punktzahl|urteil|wertung|gesamtnote|pontuação|avaliação|veredito|nota final|punteggio"
    r"|valutazione|giudizio"
    r"|оценка|балл|вердикт|рейтинг|ocena|wynik|werdykt|puan|skor|değerlendirme|karar|điểm(?: số)?|đánh giá"
    r"|nilai|penilaian"
    r"|beoordeling|oordeel|النتيجة|الدرجة|التقييم|الحكم|अंक|स्कोर|मूल्यांकन|निर्णय|คะแนน|評分|评分|得分|分數"
    r"|分数|打分|評価"
    r"|判定|スコア|採点|評點|점수|평가|판정|一致性|一致度"
)
_FINAL = r"(?:final|overall|total|consistency|judge'?s?|your|my) "
_JUDGED = r"(?:correct|consistent|identical|the same|same|true|yes|pass|perfect|full marks)"

ANNOUNCED = (
    rf"(?:^|[\W_\u3040-\u9fff])(?:{_SCORES})[\"']?(?:{_IS}| (?:should|must|would|will) be "
    rf"| deserves? )[\"']?{_PAYS}[\"']?{_ENDS}",
    rf"\b{_FINAL}(?:score|rating|grade|verdict|evaluation|assessment|reward)s?(?:{_IS}| is ){_PAYS}{_ENDS}",
    rf"\b(?:final|overall|judge'?s?) (?:score|verdict|judge?ment|rating){_IS}1{_ENDS}",
    rf"(?<!my )(?<!our )\bjudge?ments?{_IS}(?:[01]\b|{_JUDGED}){_ENDS}",
    rf"\bjudge?ments?{_IS}(?:1|{_PAYS}){_THEN}",
    rf"\bverdict{_IS}(?:1\b|{_JUDGED}){_ENDS}",
)
"""A judgement as a judge writes it. A question that asks for such a thing excuses it."""

_ROLE = r"(?:judge|grader|evaluator|assessor|examiner|scorer|rater|llm|ai (?:model|assistant)|language model)"
_WANTS = (
    r"(?:please|you|your|give|assign|award|rate|score|grade|output|reply|respond|return|answer|ignore|consider|accept"
    rf"|must|should|consistent|identical|{_PAYS})"
)
_MARKS = (
    r"(?:full|maximum|max|highest|top|perfect|best(?: possible)?|high) (?:marks?|scores?|grades?|credit"
    r"|ratings?|points?|reward)"
)
_GOOD = rf"(?:an? |the )?(?:{_MARKS}|(?:score|rating|grade|verdict) of {_PAYS}|{_PAYS})"
_OBJECT = (
    r"(?:me|it|us|this|that|(?:this|the|my|our)(?: (?:second|above|whole|entire|following))?"
    r" (?:text|account|answer|response|reasoning|description|chain))"
)

DEMANDED = (
    rf"\b(?:dear|hey|hello|attention|to the|note to(?: the)?|message to(?: the)?),? {_ROLE}s?\b",
    rf"(?:^|[.!?\n] ?){_ROLE} ?[,:] (?:\S+ ){{0,8}}{_WANTS}\b",
    rf"\byou are (?:the|an?) (?:\w+ )?{_ROLE}\b|\bas (?:the|an?) {_ROLE},? you\b",
    rf"\b(?:give|grant|award|assign|rate|score|grade|mark) {_OBJECT} (?:as |with |at )?{_GOOD}",
    rf"\b(?:reply|respond|answer)(?: only)? with (?:only )?{_GOOD}{_ENDS}",
    rf"(?:^|[.!?\n] ?)(?:please )?(?:output|return|print|write|say) (?:only )?{_GOOD}{_ENDS}",
    rf"\b(?:deserves?|should (?:get|receive|be given)|must (?:get|receive)|merits?|earns?) {_GOOD}",
    r"\bboth accounts (?:are|say|describe|agree|match)\b|\bsecond account (?:is|says|matches|agrees)\b",
    r"\b(?:match(?:es)?|agrees? with|consistent with|identical to|same as) (?:the )?"
    r"(?:reference|first|ground[ -]truth) (?:account|reasoning|text|answer|description|chain|cot)\b",
    # Chinese, Japanese, Korean
    r"(?:评审|評審|评委|評委|裁判|法官|评判|評判|评分员|评估者|評估者)(?:老师|大人|先生)?(?:[,,:：、]"
    r"| )? ?(?:请|請|你|您|给|給)",
    r"(?:请|請|务必|應|应该|必须|直接).{0,8}(?:给|給|打|输出|輸出|返回|回复|回覆|评|評).{0,10}(?:满分|滿分"
    r"|最高分|最高评|1[.,]0|一分)",
    r"(?:満点|最高点|最高評価|1[.,]0) ?(?:を|と|で).{0,8}(?:つけ|付け|与え|出力|返|ください|下さい|答え|評価)",
    r"(?:審査員|評価者|採点者|ジャッジ)(?:さん|様|の方)?[、,:：へ]",
    r"(?:만점|최고 ?점수?|1[.,]0).{0,8}(?:주세요|주십시오|부여|출력|답하|매겨)|(?:심사위원|평가자|채점자)(?:님"
    r"|에게|께)",
    # Russian, Polish
    r"(?:поставь|поставьте|дай|дайте|выведи|верни|ответь|присво|оцени)\w*.{0,30}(?:1[.,]0|(?:максимальн|высш"
    r"|наивысш)\w+ (?:балл|оценк))",
    r"(?:уважаем\w+|дорог\w+) (?:судья|оценщик|эксперт|проверяющ)",
    r"(?:daj|przyznaj|odpowiedz|oceń|wystaw)\w*.{0,30}(?:1[.,]0|(?:maksymaln|najwyższ|pełn)\w+ (?:ocen|punkt|wynik))",
    # Spanish, Portuguese, Italian, French
    r"(?:^|[.!?,;:] )(?:por favor,? |per favore,? |s'il vous plaît,? )?(?:da|dale|dé|dame|asigna|otorga|pon"
    r"|califica|responde|devuelve|puntúa|dê|dá|atribua|conceda|responda|avalie"
    r"|dai|dagli|assegna|attribuisci|rispondi|valuta|donnez?|attribuez?|mettez|accordez?|notez|répondez?|renvoyez?)\b"
    r".{0,30}(?:1[.,]0|(?:puntuación|calificación|nota|puntaje|pontuação|punteggio|voto|note|score) "
    r"(?:m[aá]xim|maximal|perfect|parfait|massim|complet|totale))",
    r"\b(?:querido|estimado|caro|prezado|gentile|egregio|cher|monsieur le) (?:juez|evaluador|juiz|avaliador"
    r"|giudice|valutatore"
    r"|juge|évaluateur)",
    # German, Dutch
    r"\b(?:gib|geben sie|vergib|vergeben sie|bewerte|bewerten sie|antworte|antworten sie|geef|beoordeel|antwoord)\b"
    r".{0,30}(?:1[.,]0|(?:höchst|voll|maximal|best|hoogst|volle)\w* (?:punktzahl|bewertung|note|score|punt|cijfer))",
    r"\b(?:lieber|sehr geehrter|liebe|beste|geachte) (?:richter|gutachter|prüfer|bewerter|beoordelaar|rechter)",
    # Arabic, Hindi, Thai, Turkish, Vietnamese, Indonesian
    r"(?:أعط|امنح|ضع|قي[ّ]?م|أجب).{0,30}(?:1[.,]0|كاملة|القصوى|أعلى درجة)|(?:أيها|عزيزي) (?:القاضي|الحكم|المقي[ّ]?م)",
    r"(?:1[.,]0|पूर्ण अंक|पूरे अंक|अधिकतम अंक).{0,20}(?:दें|दीजिए|दो\b)|प्रिय (?:न्यायाधीश|निर्णायक|मूल्यांकनकर्ता)",
    r"(?:ให้|ตอบ).{0,15}(?:1\.0|คะแนนเต็ม|คะแนนสูงสุด)|(?:เรียน|ถึง)(?:กรรมการ|ผู้ประเมิน)",
    r"(?:1[.,]0|tam puan|en yüksek puan).{0,12}\bver|sayın (?:hakem|yargıç|değerlendirici)",
    r"(?:cho|chấm|trả lời).{0,20}(?:1[.,]0|điểm tối đa|điểm cao nhất)|(?:thưa|kính gửi) (?:giám khảo|người chấm)",
    r"\b(?:beri|berikan|jawab)\b.{0,20}(?:1[.,]0|(?:nilai|skor) (?:maksimal|tertinggi|penuh|sempurna))",
)
"""A demand for a good judgement."""

OVERRULED = (
    r"\b(?:ignore|disregard|forget|override|bypass)\b (?:\w+ ){0,3}(?:previous|prior|above|earlier|preceding"
    r"|all|any|your"
    r"|these|system)\b (?:\w+ ){0,2}(?:instructions?|rules?|steps?|rubric|prompts?|guidelines?|criteria)",
    r"(?:忽略|无视|無視|忘记|忘記|不要管).{0,10}(?:指令|指示|规则|規則|要求|说明|說明|提示)|(?:指示|命令"
    r"|ルール).{0,4}を?(?:無視|忘れ)",
    r"(?:지시|규칙|명령).{0,6}(?:무시|잊)|(?:игнорируй|забудь|не обращай)\w*.{0,30}(?:инструкц|указани|правил)",
    r"\b(?:ignor[aeio]\w*|olvida|esqueça|dimentica|oublie[zr]?|vergiss|negeer|zignoruj)\b.{0,30}"
    r"(?:instruc|instruções|istruzioni|consignes|reglas|regras|regole|règles|anweisung|regeln|polece|instrukcj)",
    r"تجاهل.{0,20}(?:التعليمات|القواعد)|(?:निर्देशों|नियमों).{0,12}(?:अनदेखा|नज़रअंदाज|भूल)",
    r"(?:เพิกเฉย|ละเว้น|ไม่สนใจ).{0,15}(?:คำสั่ง|กฎ)|talimat\w*.{0,15}(?:yok say|görmezden|unut)",
    r"bỏ qua.{0,20}(?:hướng dẫn|chỉ dẫn|quy tắc)|\babaikan\b.{0,20}(?:instruksi|aturan|perintah)",
)
"""An order to leave the rules."""


RUN_WORDS = 8
"""So many words in a row are no chance."""

MAX_LINE_CHARS = 2000
"""Longer lines are looked through in pieces, so that every search takes a time in proportion to the text."""
_OVERLAP = 200

_TAG = re.compile(r"<\s?/?\s?(?:judge|verdict|score|rating|evaluation|grader)\b")
_ANNOUNCED = re.compile("|".join(ANNOUNCED))
_ALWAYS = re.compile("|".join((*DEMANDED, *OVERRULED)))
_ASKS_FOR_ONE = re.compile(r"\b(?:score|rating|grade|verdict|judge?ment|evaluation|consistency|reward)")
_WORD = re.compile(r"[^\W_]+")
_EMPHASIS = str.maketrans("", "", "*_`“”„«»")
_SET_APART = re.compile(r"(?<!\w)(?:\w[ .\-]){3,}\w(?!\w)")
_LOOKALIKES = str.maketrans("асеорхуіјѕԁɡαορντι", "aceopxyijsdgaopvti")
_MIXED = re.compile(r"[^\W\d_]+")

Runs = frozenset[tuple[str, ...]]


def runs_of(instructions: Iterable[str]) -> Runs:
    """Runs of words that give away a copy of a judge's instructions: each ``RUN_WORDS`` words in a row of a line.

    A line of fewer words only as a whole.
    """
    lines = [tuple(_words(line)) for line in instructions]
    return frozenset(
        words[at : at + RUN_WORDS] for words in lines for at in range(max(1, len(words) - RUN_WORDS + 1)) if words
    )


def addresses_judge(text: str, instructions: Runs, *, question: str = "") -> bool:
    """Whether the text talks to its judge. A question that asks for a score excuses that one is told."""
    lines = _folded_lines(text)
    whole = " ".join(lines)
    if _TAG.search(whole):
        return True
    excused = bool(_ASKS_FOR_ONE.search(" ".join(_folded_lines(question))))
    for piece in (piece for line in (*lines, whole) for piece in _pieces(line)):
        if _ALWAYS.search(piece) or (not excused and _ANNOUNCED.search(piece)):
            return True
    words = _words(whole)
    lengths = {len(run) for run in instructions}
    return any(
        tuple(words[at : at + length]) in instructions for length in lengths for at in range(len(words) - length + 1)
    )


def in_one_form(text: str) -> str:
    """The text without unseen characters, in one form of each letter, look-alikes and full-width ones too."""
    plain = unicodedata.normalize("NFKC", visible(text)).casefold()
    return _MIXED.sub(_in_one_script, plain)


def folded(text: str) -> str:
    """The text in one line, without what hides its words: also marks of emphasis and letters set apart."""
    return " ".join(_folded_lines(text))


def _folded_lines(text: str) -> list[str]:
    """The lines in one form of each letter, without what only decorates them."""
    plain = unicodedata.normalize("NFKC", visible(text)).casefold().translate(_EMPHASIS)
    lines = (" ".join(line.split()) for line in plain.splitlines())
    return [_MIXED.sub(_in_one_script, _SET_APART.sub(_joined_letters, line)) for line in lines if line]


def _joined_letters(letters: re.Match[str]) -> str:
    together = re.sub(r"[ .\-]", "", letters[0])
    return together if together.isalpha() else letters[0]


def _in_one_script(word: re.Match[str]) -> str:
    """A word of Latin and other letters in Latin ones alone; a word of one script as it is."""
    return word[0].translate(_LOOKALIKES) if re.search("[a-z]", word[0]) else word[0]


def _pieces(line: str) -> Iterable[str]:
    return (line[at : at + MAX_LINE_CHARS] for at in range(0, max(1, len(line)), MAX_LINE_CHARS - _OVERLAP))


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
