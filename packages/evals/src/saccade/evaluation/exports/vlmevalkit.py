"""VLMEvalKit's prediction files, ``MODEL_DATASET.xlsx`` or ``.tsv``, written and read.

In ``WORK_DIR/MODEL/`` ``run.py --mode eval`` scores such a file again. A question that the machine failed carries the
text that VLMEvalKit writes for it, so that ``--reuse`` asks it again; the text is read back as no answer.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from saccade.atomic import disk_errors
from saccade.errors import UserError, missing_extra
from saccade.evaluation.benchmarks.benchmark import LETTERS
from saccade.evaluation.exports.predictions import Prediction
from saccade.plain_files import check_plain, open_plain_text, plain_lines

FAILED = "Failed to obtain answer via API."
_COLUMNS = ("index", "id", "question", "answer", "category", "prediction")
_MOST_CELL = 32_767
"""Characters that a cell of Excel holds."""
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What XML cannot hold, and so no xlsx file."""


def write_predictions(predictions: Sequence[Prediction], path: Path) -> int:
    """Writes the file, by its ending xlsx or tsv; how many texts had to be changed to fit into cells."""
    most = max((len(one.options) for one in predictions), default=0)
    letters = LETTERS[:most]
    header = ["index", "id", "question", *letters, "answer", "category", "prediction"]
    rows = [_cells(one, most) for one in predictions]
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".xlsx":
            return _write_xlsx([header, *rows], path)
        if path.suffix != ".tsv":
            raise UserError(f"{path} must end in .xlsx or .tsv, as VLMEvalKit's prediction files do")
        with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
            csv.writer(file, delimiter="\t", lineterminator="\n").writerows([header, *rows])
    return 0


def read_predictions(path: Path) -> list[Prediction]:
    """The predictions of a file of VLMEvalKit's; UserError that names what it lacks."""
    found: list[Prediction] = []
    for number, row in enumerate(_rows(path), start=2):
        missing = [name for name in ("index", "question", "answer", "prediction") if name not in row]
        if missing:
            raise UserError(
                f"{path} has no column {missing[0]!r}; give a prediction file of VLMEvalKit (MODEL_DATA.xlsx)"
            )
        if not row["index"]:
            raise UserError(f"{path}:{number} has no index")
        options = tuple(row[letter] for letter in LETTERS if row.get(letter))
        said = row["prediction"]
        found.append(
            Prediction(
                index=row["index"],
                id=row.get("id") or row["index"],
                question=row["question"],
                gold=row["answer"],
                reply=None if FAILED in said else said,
                options=options,
                category=row.get("category", ""),
            )
        )
    return found


def _cells(one: Prediction, most: int) -> list[str]:
    options = [*one.options, *[""] * (most - len(one.options))]
    said = FAILED if one.reply is None else one.reply
    return [one.index, one.id, one.question, *options, one.gold, one.category, said]


def _write_xlsx(rows: Sequence[Sequence[str]], path: Path) -> int:
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
    except ImportError as error:
        raise missing_extra("evals", "openpyxl", needed_for="an xlsx file") from error
    book = Workbook(write_only=True)
    sheet = book.create_sheet()
    changed = 0
    for row in rows:
        cells: list[object] = []
        for column, text in enumerate(row):
            fitting = _UNPRINTABLE.sub("�", text)[:_MOST_CELL]
            changed += fitting != text
            # The set's own index is a number; everything else is text, a reply that begins with "=" too.
            is_number = column == 0 and text.isascii() and text.isdigit() and len(text) < 16
            cell = WriteOnlyCell(sheet, int(text) if is_number else fitting)
            if not is_number:
                cell.data_type = "s"
            cells.append(cell)
        sheet.append(cells)
    book.save(path)
    return changed


def _rows(path: Path) -> Iterator[Mapping[str, str]]:
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    if path.suffix == ".xlsx":
        yield from _xlsx_rows(path)
        return
    if path.suffix != ".tsv":
        raise UserError(f"{path} must end in .xlsx or .tsv, as VLMEvalKit's prediction files do")
    # Cells hold whole pictures in some sets.
    csv.field_size_limit(1 << 30)
    try:
        with open_plain_text(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(plain_lines(file), delimiter="\t", strict=True):
                yield {name: text or "" for name, text in row.items() if isinstance(name, str)}
    except (UnicodeDecodeError, OSError, csv.Error) as error:
        raise UserError(f"{path} is no table of tab-separated values: {error}") from None


def _xlsx_rows(path: Path) -> Iterator[Mapping[str, str]]:
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise missing_extra("evals", "openpyxl", needed_for="an xlsx file") from error
    try:
        book = load_workbook(check_plain(path), read_only=True, data_only=True)
        rows = book.active.iter_rows(values_only=True)
        header = ["" if name is None else str(name) for name in next(rows, ())]
        table = [["" if cell is None else str(cell) for cell in row] for row in rows]
        book.close()
    except Exception as error:  # A file of others may be anything, and openpyxl raises what its parsers raise.
        raise UserError(f"{path} cannot be read as an xlsx file ({type(error).__name__}: {error})") from None
    for row in table:
        yield dict(zip(header, row))
