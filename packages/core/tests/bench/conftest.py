from pathlib import Path

import pytest
from bench_small import SMALL, SMALL_SIZE
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from saccade.bench.checkpoint import write_checkpoint
from saccade.bench.workload import BenchSpec


@pytest.fixture(scope="session")
def bench_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("bench")
    write_checkpoint(directory / "model", SMALL_SIZE)
    return directory


@pytest.fixture(scope="session")
def tokenizer(bench_directory: Path) -> PreTrainedTokenizerFast:
    return AutoTokenizer.from_pretrained(bench_directory / "model", local_files_only=True)


@pytest.fixture(scope="session")
def spec(bench_directory: Path) -> BenchSpec:
    return BenchSpec(workload=SMALL, directory=bench_directory, steps=2, threads=1, device="cpu")
