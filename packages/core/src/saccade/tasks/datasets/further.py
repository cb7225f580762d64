"""Data sets that VISTA-R1 does not train on: the six that it is only measured by (table 5, OOD), and neighbours."""

from saccade.tasks.datasets.charts import read_dvqa, read_plotqa, with_relaxed_years
from saccade.tasks.datasets.dataset import DataSet, Hub, files_at
from saccade.tasks.datasets.mathematics import read_mathvista, read_tabmwp, read_wemath
from saccade.tasks.datasets.photos import okvqa_rows, read_stvqa, read_textvqa, read_vizwiz
from saccade.tasks.datasets.scenes import read_clevr_math, read_super_clevr, super_clevr_rows
from saccade.tasks.datasets.science import ai2d_files, ai2d_rows, read_ai2d, read_arxivqa, read_iconqa, read_tqa
from saccade.tasks.rows.text_files import one_row, open_text_rows, rows_by_id, rows_under

_VAL = {"validation": "val"}

HELD_OUT = (
    DataSet(
        name="tabmwp",
        title="TABMWP",
        task_type="tables",
        read=read_tabmwp,
        files=files_at(("problems_{split}.json", "data/tabmwp/problems_{split}.json"), ("tables",)),
        rows=rows_by_id,
        splits={"validation": "dev"},
        test_size=970,
    ),
    DataSet(
        name="ai2d",
        title="AI2D",
        task_type="science",
        read=read_ai2d,
        files=ai2d_files,
        rows=ai2d_rows,
        hub=Hub(name="lmms-lab/ai2d"),
        test_size=810,
    ),
    DataSet(
        name="plotqa",
        title="PlotQA",
        task_type="charts",
        read=read_plotqa,
        files=files_at(
            (
                "{split}/qa_pairs.json",
                "{split}/qa_pairs_[vV]1.json",
                "{split}/qa_pairs_[vV]2.json",
            ),
            ("{split}/png",),
        ),
        rows=rows_under("qa_pairs"),
        splits=_VAL,
        as_published=with_relaxed_years,
        test_size=2000,
    ),
    DataSet(
        name="clevr-math",
        title="CLEVR-Math",
        task_type="scenes",
        read=read_clevr_math,
        files=files_at(
            ("clevr-math-{split}.json",),
            ("CLEVR_v1.0/images/{split}", "*/CLEVR_v1.0/images/{split}", "images/{split}", "images"),
        ),
        rows=rows_under("questions"),
        splits=_VAL,
        test_size=930,
    ),
    DataSet(
        name="iconqa",
        title="IconQA",
        task_type="science",
        read=read_iconqa,
        files=files_at(
            (
                "data/iconqa_data/iconqa/{split}/*/*/data.json",
                "iconqa_data/iconqa/{split}/*/*/data.json",
                "iconqa/{split}/*/*/data.json",
                "{split}/*/*/data.json",
            )
        ),
        rows=one_row,
        splits=_VAL,
        test_size=1500,
    ),
    DataSet(
        name="mathvista",
        title="MathVista",
        task_type="mathematics",
        read=read_mathvista,
        files=files_at(("{split}.json", "data/{split}.json", "annot_{split}.json"), (".",)),
        rows=rows_by_id,
        # The answers of its test split are not published.
        splits={"test": "testmini"},
        hub=Hub(name="AI4Math/MathVista", splits={"test": "testmini"}),
        test_size=1000,
    ),
)
"""Measured by alone."""


FURTHER = (
    DataSet(
        name="tqa",
        title="TQA",
        task_type="science",
        read=read_tqa,
        files=files_at(("{split}/tqa_v[12]_{split}.json", "tqa_train_val_test/{split}/tqa_v[12]_{split}.json")),
        rows=open_text_rows,
        splits=_VAL,
    ),
    DataSet(
        name="arxivqa",
        title="ArxivQA",
        task_type="charts",
        read=read_arxivqa,
        files=files_at(("arxivqa.jsonl",), (".",)),
        rows=open_text_rows,
    ),
    DataSet(
        name="wemath",
        title="We-Math",
        task_type="mathematics",
        read=read_wemath,
        files=files_at(("{split}.json", "data/{split}.json"), (".",)),
        rows=open_text_rows,
        splits={"test": "testmini"},
    ),
    DataSet(
        name="dvqa",
        title="DVQA",
        task_type="charts",
        read=read_dvqa,
        files=files_at(("{split}_qa.json", "qa/{split}_qa.json"), ("images", ".")),
        rows=open_text_rows,
        splits={"validation": "val_easy", "test": "val_hard"},
    ),
    DataSet(
        name="super-clevr",
        title="Super-CLEVR",
        task_type="scenes",
        read=read_super_clevr,
        files=files_at(("superCLEVR_questions_30k.json",), ("images", "output/images")),
        rows=super_clevr_rows,
        split_key="split",
    ),
    DataSet(
        name="textvqa",
        title="TextVQA",
        task_type="general",
        read=read_textvqa,
        files=files_at(
            ("TextVQA_0.5.1_{split}.json", "annotations/TextVQA_0.5.1_{split}.json"),
            ("train_images", "train_val_images/train_images", "images/train_images"),
        ),
        rows=rows_under("data"),
        splits=_VAL,
    ),
    DataSet(
        name="okvqa",
        title="OK-VQA",
        task_type="general",
        read=read_vizwiz,
        files=files_at(("mscoco_{split}2014_annotations.json",), ("{split}2014", "*/{split}2014")),
        rows=okvqa_rows,
        splits=_VAL,
        hub=Hub(name="lmms-lab-encoder/OK-VQA", splits={"validation": "val2014"}),
    ),
    DataSet(
        name="stvqa",
        title="ST-VQA",
        task_type="general",
        read=read_stvqa,
        files=files_at(("{split}_task_3.json", "{split}_task_2.json", "{split}_task_1.json"), (".",)),
        rows=rows_under("data"),
        split_key="set_name",
    ),
)
"""Those that iVGR trains on, and others with the same rows or questions."""
