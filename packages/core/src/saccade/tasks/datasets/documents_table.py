"""Data sets on documents of many pages: what Lang2Act trains on, is measured by, and published."""

from functools import partial

from saccade.tasks.datasets.dataset import DataSet, Hub, files_at
from saccade.tasks.datasets.documents import (
    read_mmlongbench,
    read_opendocvqa,
    read_slidevqa,
    read_table_question,
    read_vidoseek,
)
from saccade.tasks.datasets.retrieved import read_lang2act, retrieved_rows
from saccade.tasks.rows.text_files import comma_separated, open_text_rows, rows_under

_BARS = partial(comma_separated, delimiter="|")

DOCUMENTS = (
    DataSet(
        name="slidevqa",
        title="SlideVQA",
        task_type="documents",
        read=read_slidevqa,
        files=files_at(("annotations/qa/{split}.jsonl", "qa/{split}.jsonl", "{split}.jsonl")),
        rows=open_text_rows,
        splits={"validation": "dev"},
        hub=Hub(name="NTT-hil-insight/SlideVQA", splits={"validation": "val"}),
    ),
    DataSet(
        name="vidoseek",
        title="ViDoSeek",
        task_type="documents",
        read=read_vidoseek,
        files=files_at(("vidoseek.json", "rag_dataset.json")),
        rows=rows_under("examples"),
    ),
    DataSet(
        name="mmlongbench-doc",
        title="MMLongBench-Doc",
        task_type="documents",
        read=read_mmlongbench,
        files=files_at(("samples.json", "data/samples.json")),
        rows=open_text_rows,
        hub=Hub(name="yubo2333/MMLongBench-Doc", splits={"test": "train"}),
    ),
    DataSet(
        name="opendocvqa",
        title="OpenDocVQA",
        task_type="documents",
        read=read_opendocvqa,
        files=files_at(("{split}.jsonl", "{split}.json")),
        rows=open_text_rows,
        hub=Hub(name="NTT-hil-insight/OpenDocVQA"),
    ),
    DataSet(
        name="fetatab",
        title="FetaTab",
        task_type="tables",
        read=read_table_question,
        files=files_at(("feta_qa.csv", "qa/feta_qa.csv", "dataset/qa/feta_qa.csv")),
        rows=_BARS,
        hub=Hub(name="qinchuanhui/UDA-QA", config="feta"),
    ),
    DataSet(
        name="papertab",
        title="PaperTab",
        task_type="tables",
        read=read_table_question,
        files=files_at(("paper_tab_qa.csv", "qa/paper_tab_qa.csv", "dataset/qa/paper_tab_qa.csv")),
        rows=_BARS,
        hub=Hub(name="qinchuanhui/UDA-QA", config="paper_tab"),
    ),
    DataSet(
        name="lang2act",
        title="Lang2Act's test files",
        task_type="documents",
        read=read_lang2act,
        files=files_at(("top3_test.jsonl",)),
        rows=retrieved_rows,
    ),
)
