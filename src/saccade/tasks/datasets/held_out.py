"""The six data sets that VISTA-R1 never trains on (table 5, OOD)."""

from saccade.tasks.datasets.charts import read_plotqa, with_relaxed_years
from saccade.tasks.datasets.dataset import DataSet, Hub, files_at
from saccade.tasks.datasets.json_files import one_row, rows_by_id, rows_under
from saccade.tasks.datasets.mathematics import read_mathvista, read_tabmwp
from saccade.tasks.datasets.scenes import read_clevr_math
from saccade.tasks.datasets.science import ai2d_files, ai2d_rows, read_ai2d, read_iconqa

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
