"""Data sets that VISTA-Gym does not name: those that iVGR trains on, and neighbours with the same rows or questions."""

from saccade.tasks.datasets.charts import read_dvqa
from saccade.tasks.datasets.dataset import DataSet, files_at
from saccade.tasks.datasets.json_files import plain_rows, rows_under
from saccade.tasks.datasets.photos import read_textvqa
from saccade.tasks.datasets.scenes import read_super_clevr, super_clevr_rows
from saccade.tasks.datasets.signs import read_stvqa
from saccade.tasks.datasets.textbooks import read_arxivqa, read_tqa, read_wemath

_VAL = {"validation": "val"}

FURTHER = (
    DataSet(
        name="tqa",
        title="TQA",
        task_type="science",
        read=read_tqa,
        files=files_at(("{split}/tqa_v[12]_{split}.json", "tqa_train_val_test/{split}/tqa_v[12]_{split}.json")),
        rows=plain_rows,
        splits=_VAL,
    ),
    DataSet(
        name="arxivqa",
        title="ArxivQA",
        task_type="charts",
        read=read_arxivqa,
        files=files_at(("arxivqa.jsonl",), (".",)),
        rows=plain_rows,
    ),
    DataSet(
        name="wemath",
        title="We-Math",
        task_type="mathematics",
        read=read_wemath,
        files=files_at(("{split}.json", "data/{split}.json"), (".",)),
        rows=plain_rows,
        splits={"test": "testmini"},
    ),
    DataSet(
        name="dvqa",
        title="DVQA",
        task_type="charts",
        read=read_dvqa,
        files=files_at(("{split}_qa.json", "qa/{split}_qa.json"), ("images", ".")),
        rows=plain_rows,
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
        name="stvqa",
        title="ST-VQA",
        task_type="general",
        read=read_stvqa,
        files=files_at(("{split}_task_3.json", "{split}_task_2.json", "{split}_task_1.json"), (".",)),
        rows=rows_under("data"),
        split_key="set_name",
    ),
)
