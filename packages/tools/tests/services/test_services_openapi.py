"""The OpenAPI document tells the truth: schemathesis holds a live server against it."""

from collections.abc import Iterator

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from PIL import Image
from served import Served

from saccade.media.encode import png_bytes

EXAMPLES = 20

TOKEN = "the token of this test"
BRINGING_IT = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("guarded")
    tools = "[tools.echo]\n[tools.crop]\n[tools.stripes]\n"
    with Served(folder, tools=tools, environment={"SACCADE_TOKEN": TOKEN}) as served:
        yield served


@pytest.fixture(scope="module")
def document(guarded: Served) -> schemathesis.BaseSchema:
    colours = st.tuples(*[st.integers(0, 255)] * 3)
    pictures = st.builds(
        lambda colour, side: png_bytes(Image.new("RGB", (side, 8), colour)), colours, st.integers(1, 32)
    )
    for kind in ("image/png", "image/jpeg"):
        schemathesis.openapi.media_type(kind, pictures)
    return schemathesis.openapi.from_url(f"{guarded.url}/openapi.json", headers=BRINGING_IT)


OPERATIONS = (
    ("GET", "/health"),
    ("GET", "/ready"),
    ("GET", "/metrics"),
    ("GET", "/tools"),
    ("POST", "/tools/{name}"),
    ("POST", "/images"),
    ("PUT", "/images/{image_hash}"),
    ("GET", "/images/{image_hash}"),
)


def test_these_are_all_operations(document: schemathesis.BaseSchema) -> None:
    found = {(operation.ok().method.upper(), operation.ok().path) for operation in document.get_all_operations()}
    assert found == set(OPERATIONS)


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_server_does_what_its_document_says(
    document: schemathesis.BaseSchema, method: str, path: str, mode: schemathesis.GenerationMode
) -> None:
    operation = document[path][method]
    if mode is schemathesis.GenerationMode.NEGATIVE and not (operation.body or operation.path_parameters):
        pytest.skip("nothing can be wrong about a request that holds nothing")

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(generation_mode=mode))
    def holds(case: schemathesis.Case) -> None:
        # A deadline that no server can keep is answered with 504, as it should be, which any fuzzer takes for a defect.
        deadline_s = case.body.get("deadline_s") if isinstance(case.body, dict) else None
        assume(not isinstance(deadline_s, float | int) or isinstance(deadline_s, bool) or not 0 < deadline_s < 10)
        case.call_and_validate(headers=BRINGING_IT)

    holds()


def test_the_document_names_the_tools_and_asks_for_the_token(guarded: Served) -> None:
    document = httpx2.get(f"{guarded.url}/openapi.json", headers=BRINGING_IT).json()
    call = document["paths"]["/tools/{name}"]["post"]
    assert call["parameters"][0]["schema"]["enum"] == ["echo", "crop", "stripes"]
    assert call["security"] == [{"token": []}]
    assert "security" not in document["paths"]["/health"]["get"]
