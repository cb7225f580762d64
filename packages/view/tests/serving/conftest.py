"""Served agents for the tests of serving."""

import pytest
from served_agent import serving


@pytest.fixture(scope="session")
def serve():
    """Serves a script while it is entered."""
    return serving


@pytest.fixture(scope="module")
def agent(serve):
    with serve() as one:
        yield one
