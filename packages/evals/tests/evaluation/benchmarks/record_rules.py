"""Records what the real functions of ms-vlmeval 0.0.20 and lmms-eval 0.7.3 say of ``rule_questions``, and where they
differ those of VLMEvalKit's repository (e8e78f05, 18 August 2026) and of lmms-eval 0.7.2 (75571cfe, 6 August 2026).

They run without torch, in an environment of their own (Python 3.11):

    pip install --no-deps ms-vlmeval==0.0.20 lmms-eval==0.7.3 latex2sympy2==1.9.1
    pip install pandas openpyxl xlsxwriter tabulate portalocker termcolor validators python-dotenv timeout-decorator
      huggingface_hub sty num2words nltk Levenshtein json_repair datasets loguru regex scipy requests openai matplotlib
      evaluate sacrebleu sqlitedict pytablewriter tenacity jinja2 pycocotools rapidfuzz math-verify mathruler imageio
      opencv-python-headless "transformers>=5.20" latex2sympy2-extended==1.11.0 antlr4-python3-runtime==4.13.2
    pip install --no-deps --target ANTLR antlr4-python3-runtime==4.7.2

    python record_rules.py vlmevalkit > vlmevalkit.json
    PYTHONPATH=ANTLR python record_rules.py lmms-eval > lmms.json
    PYTHONPATH=VLMEVALKIT python record_rules.py vlmevalkit > vlmevalkit_later.json
    PYTHONPATH=ANTLR:LMMS_EVAL python record_rules.py lmms-eval > lmms_before.json
    python record_rules.py join vlmevalkit.json lmms.json vlmevalkit_later.json lmms_before.json > recorded_rules.json

Each case: benchmark, reading, row, reply, the judge's texts, what the rule read (null where the function does not say),
and its credit (null where the harness draws at random or asks a judge). Nothing of Saccade is imported.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import sys
import types
from pathlib import Path

FAILED = "Failed to obtain answer via API."


class Case(dict):
    """A recorded call."""


def case(benchmark, reading, row, reply, read, credit, judge=()):
    return Case(
        benchmark=benchmark,
        reading=reading,
        row=row,
        reply=reply,
        judge=list(judge),
        read=None if read is None else str(read),
        credit=None if credit is None else float(credit),
    )


class _Absent(types.ModuleType):
    """Stands in for a package that the recorded functions never call, torch first of all."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []
        self.__spec__ = importlib.machinery.ModuleSpec(name, None)

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def stand_ins(*names: str) -> None:
    for name in names:
        sys.modules[name] = _Absent(name)


def shells(*names: str) -> None:
    """Packages whose modules can be imported while their own ``__init__`` never runs."""
    spec = importlib.util.find_spec(names[0].partition(".")[0])
    root = Path(spec.submodule_search_locations[0])
    for name in names:
        shell = types.ModuleType(name)
        shell.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = shell


class ScriptedJudge:
    """Answers with the next of its texts; the harness's own failure text when there are none."""

    def __init__(self, texts=()) -> None:
        self.texts = list(texts)

    def generate(self, prompt: str, **_: object) -> str:
        return self.texts.pop(0) if self.texts else FAILED


KEYS = ("benchmark", "reading", "row", "reply", "judge", "read", "credit")


def joined(cases) -> str:
    """Rows once each, and a line for each case that has its row's number."""
    rows: dict[str, int] = {}
    lines = []
    for one in cases:
        number = rows.setdefault(json.dumps(one["row"], ensure_ascii=False), len(rows))
        lines.append(json.dumps([{**one, "row": number}[key] for key in KEYS], ensure_ascii=False))
    return '{"rows": [\n' + ",\n".join(rows) + '\n], "cases": [\n' + ",\n".join(lines) + "\n]}"


def main() -> None:
    if sys.argv[1] == "join":
        print(joined([one for path in sys.argv[2:] for one in json.loads(Path(path).read_text(encoding="utf-8"))]))
        return
    with contextlib.redirect_stdout(io.StringIO()):
        if sys.argv[1] == "vlmevalkit":
            from record_vlmevalkit import record
        else:
            from record_lmms import record
        cases = record()
    print(json.dumps(cases, ensure_ascii=False))


if __name__ == "__main__":
    main()
