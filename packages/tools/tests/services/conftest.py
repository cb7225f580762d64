"""One server with all test tools, for the tests that leave it as it was."""

from collections.abc import Iterator

import pytest
from served import Served


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("served")) as served:
        yield served
