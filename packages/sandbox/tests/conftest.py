import warnings
from collections.abc import Iterator

import pytest
from PIL import Image

from run_code_server import run_code_server
from saccade.sandbox import NoIsolationWarning, RemoteSandbox, Sandbox, Session


@pytest.fixture(scope="package")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="package")
def restricted() -> Iterator[Sandbox]:
    with Sandbox(isolation="restricted") as sandbox:
        yield sandbox


@pytest.fixture(scope="package")
def unprotected() -> Iterator[Sandbox]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoIsolationWarning)
        sandbox = Sandbox(isolation="none")
        sandbox.start()
    with sandbox:
        yield sandbox


@pytest.fixture(scope="package")
def remote() -> Iterator[RemoteSandbox]:
    with run_code_server() as url, RemoteSandbox(url) as sandbox:
        yield sandbox


@pytest.fixture(params=["sandbox", "restricted", "unprotected"])
def local(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session under each isolation in turn: what a server does not promise."""
    held: Sandbox = request.getfixturevalue(request.param)
    with held.session({"input_image.png": picture()}) as session:
        yield session


@pytest.fixture(params=["sandbox", "restricted", "unprotected", "remote"])
def each(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session under each isolation in turn, and one on a server."""
    held: Sandbox = request.getfixturevalue(request.param)
    with held.session({"input_image.png": picture()}) as session:
        yield session


@pytest.fixture
def session(sandbox: Sandbox) -> Iterator[Session]:
    with sandbox.session({"input_image.png": picture()}) as session:
        yield session


@pytest.fixture(params=["sandbox", "restricted"])
def confined(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session under each isolation that protects."""
    held: Sandbox = request.getfixturevalue(request.param)
    with held.session({"input_image.png": picture()}) as session:
        yield session


def picture() -> Image.Image:
    return Image.linear_gradient("L").resize((40, 30)).convert("RGB")
