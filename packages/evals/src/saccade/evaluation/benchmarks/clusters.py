"""Which rows belong together."""

from collections.abc import Callable

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow


def same_pictures(row: BenchmarkRow) -> str:
    """Rows that show the same pictures; cycles of a question among them."""
    return ",".join(image.hash[:16] for image in (row.pictures or row.task.images)) or row.index


def same_document(row: BenchmarkRow) -> str:
    """Rows that are asked of the same document, by the column or the task; else the same pictures."""
    return row.fields.get("doc_id") or row.fields.get("deck_name") or row.task.document or same_pictures(row)


def same_column(name: str) -> Callable[[BenchmarkRow], str]:
    """Rows with the same value in a column; the same pictures where it is empty."""

    def cluster(row: BenchmarkRow) -> str:
        return row.fields.get(name) or same_pictures(row)

    return cluster
