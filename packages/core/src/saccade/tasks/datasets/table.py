"""Every data set by name: VISTA-Gym's 21 (table 5: 15 to train on, 11 to be measured by, five are both), and others."""

from collections.abc import Mapping
from types import MappingProxyType

from saccade.tasks.datasets.charts import (
    MAPQA_PARTS,
    mapqa_rows,
    read_chartqa,
    read_figureqa,
    read_mapqa,
    with_relaxed_years,
)
from saccade.tasks.datasets.dataset import DataSet, Hub, files_at
from saccade.tasks.datasets.documents_table import DOCUMENTS
from saccade.tasks.datasets.further import FURTHER, HELD_OUT
from saccade.tasks.datasets.geometry import read_geometry3k, read_geoqa, read_unigeo
from saccade.tasks.datasets.mathematics import read_mathv360k, read_mathvision
from saccade.tasks.datasets.photos import read_aokvqa, read_aokvqa_direct, read_document, read_vizwiz
from saccade.tasks.datasets.pickles import pickled_rows
from saccade.tasks.datasets.scenes import read_clevr
from saccade.tasks.datasets.science import SPLITS_KEY, read_scienceqa, read_thinkvl, scienceqa_rows
from saccade.tasks.rows.text_files import one_row, open_text_rows, rows_under

_VAL = {"validation": "val"}
_AOKVQA_FILES = files_at(
    ("aokvqa_v1p0_{split}.json",), ("{split}2017", "coco/{split}2017", "../coco/{split}2017", "images")
)
_AOKVQA_HUB = Hub(name="HuggingFaceM4/A-OKVQA")

_TRAINED_ON = (
    DataSet(
        name="figureqa",
        title="FigureQA",
        task_type="charts",
        read=read_figureqa,
        files=files_at(("{split}/qa_pairs.json",), ("{split}/png",)),
        rows=rows_under("qa_pairs"),
        splits={"train": "train1", "validation": "validation1", "test": "test1"},
        train_size=2000,
    ),
    DataSet(
        name="chartqa",
        title="ChartQA",
        task_type="charts",
        read=read_chartqa,
        files=files_at(
            ("{split}/{split}_*.json", "ChartQA Dataset/{split}/{split}_*.json"),
            ("{split}/png", "ChartQA Dataset/{split}/png"),
        ),
        rows=open_text_rows,
        splits=_VAL,
        hub=Hub(name="HuggingFaceM4/ChartQA", splits=_VAL),
        as_published=with_relaxed_years,
        train_size=1500,
        test_size=1250,
    ),
    DataSet(
        name="geometry3k",
        title="Geometry3K",
        task_type="geometry",
        read=read_geometry3k,
        files=files_at(
            ("{split}/*/data.json", "geometry3k/{split}/*/data.json", "data/geometry3k/{split}/*/data.json")
        ),
        rows=one_row,
        splits=_VAL,
        hub=Hub(name="hiyouga/geometry3k"),
        train_size=2000,
        test_size=600,
    ),
    DataSet(
        name="geoqa",
        title="GeoQA",
        task_type="geometry",
        read=read_geoqa,
        files=files_at(("{split}.pk", "GeoQA3/{split}.pk", "data/GeoQA3/{split}.pk")),
        rows=pickled_rows,
        splits={"validation": "dev"},
        split_key="original_split",
        hub=Hub(name="hz2475/geoQA", splits={"validation": "train", "test": "train"}),
        train_size=2000,
        test_size=500,
    ),
    DataSet(
        name="unigeo",
        title="UniGeo",
        task_type="geometry",
        read=read_unigeo,
        files=files_at(
            ("calculation_{split}.pk", "UniGeo/calculation_{split}.pk", "datasets/UniGeo/calculation_{split}.pk")
        ),
        rows=pickled_rows,
        splits=_VAL,
        train_size=2000,
        test_size=750,
    ),
    DataSet(
        name="mathvision",
        title="MathVision",
        task_type="mathematics",
        read=read_mathvision,
        files=files_at(("{split}.jsonl", "data/{split}.jsonl", "{split}.json"), (".",)),
        rows=open_text_rows,
        # The set is a test set; the paper trains on it.
        splits={"train": "test"},
        hub=Hub(name="MathLLMs/MathVision", splits={"train": "test"}),
        train_size=2000,
    ),
    DataSet(
        name="mathv360k",
        title="MathV360",
        task_type="mathematics",
        read=read_mathv360k,
        files=files_at(("train_samples_all_tuning.json",), ("data_images", "images_data", "images")),
        rows=open_text_rows,
        train_size=1500,
    ),
    DataSet(
        name="mapqa",
        title="MapQA",
        task_type="maps and infographics",
        read=read_mapqa,
        files=files_at(
            ("questions/{split}-QA.json", "{split}-QA.json", "{split}.json"), ("images", "img"), parts=MAPQA_PARTS
        ),
        rows=mapqa_rows,
        splits={"validation": "dev"},
        hub=Hub(name="HuggingFaceM4/the_cauldron", config="mapqa"),
        train_size=1500,
        test_size=2000,
    ),
    DataSet(
        name="infographicvqa",
        title="InfographicVQA",
        task_type="maps and infographics",
        read=read_document,
        files=files_at(
            tuple(
                f"{folder}infographic{plural}VQA_{{split}}_v1.0{types}.json"
                for folder in ("", "infographicsvqa_qas/", "qas/", "question_answer/")
                for plural in ("s", "")
                for types in ("_withQT", "")
            ),
            ("infographicsvqa_images", "images", "."),
        ),
        rows=rows_under("data"),
        splits=_VAL,
        hub=Hub(name="lmms-lab/DocVQA", config="InfographicVQA"),
        train_size=1000,
    ),
    DataSet(
        name="thinkvl",
        title="ThinkVL",
        task_type="science",
        read=read_thinkvl,
        files=files_at(("train.json", "VLAA-Thinking-GRPO-25K.json"), ("images", ".")),
        rows=open_text_rows,
        train_size=2000,
    ),
    DataSet(
        name="vizwiz",
        title="VizWiz",
        task_type="science",
        read=read_vizwiz,
        files=files_at(
            ("Annotations/{split}.json", "annotations/{split}.json", "{split}.json"), ("{split}", "images/{split}")
        ),
        rows=open_text_rows,
        splits=_VAL,
        hub=Hub(name="lmms-lab/VizWiz-VQA", splits=_VAL),
        train_size=200,
    ),
    DataSet(
        name="scienceqa",
        title="ScienceQA",
        task_type="science",
        read=read_scienceqa,
        files=files_at(("problems.json", "data/scienceqa/problems.json"), ("images", "data/images", ".")),
        rows=scienceqa_rows,
        splits=_VAL,
        split_key=SPLITS_KEY,
        hub=Hub(name="lmms-lab/ScienceQA", config="ScienceQA-IMG"),
        train_size=1000,
    ),
    DataSet(
        name="docvqa",
        title="DocVQA",
        task_type="documents",
        read=read_document,
        files=files_at(
            tuple(
                f"{folder}{{split}}_v1.0{types}.json"
                for folder in ("", "spdocvqa_qas/", "qas/", "{split}/")
                for types in ("_withQT", "")
            ),
            ("spdocvqa_images", "{split}/documents", "documents", "images", "."),
        ),
        rows=rows_under("data"),
        splits=_VAL,
        hub=Hub(name="lmms-lab/DocVQA", config="DocVQA"),
        train_size=970,
    ),
    DataSet(
        name="clevr",
        title="CLEVR",
        task_type="scenes",
        read=read_clevr,
        files=files_at(("questions/CLEVR_{split}_questions.json",), ("images/{split}",)),
        rows=rows_under("questions"),
        splits=_VAL,
        train_size=1000,
    ),
    DataSet(
        name="aokvqa",
        title="A-OKVQA",
        task_type="general",
        read=read_aokvqa,
        files=_AOKVQA_FILES,
        rows=open_text_rows,
        splits=_VAL,
        hub=_AOKVQA_HUB,
        train_size=1500,
    ),
    DataSet(
        name="aokvqa-direct",
        title="A-OKVQA, without options",
        task_type="general",
        read=read_aokvqa_direct,
        files=_AOKVQA_FILES,
        rows=open_text_rows,
        splits=_VAL,
        hub=_AOKVQA_HUB,
    ),
)

DATA_SETS: Mapping[str, DataSet] = MappingProxyType(
    {one.name: one for one in (*_TRAINED_ON, *HELD_OUT, *FURTHER, *DOCUMENTS)}
)
"""Published data sets by name. A-OKVQA stands here twice: with its options, and without them."""
