# Two commands do all: `make demo` trains the demo, `make test` passes the tests. Both set .venv up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# A file's tests share their servers and models, so they run in one process; slow files come first. Many tests wait for
# processes of their own, so there is one worker more than cores, and four at most.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
WORKERS := $(shell test $(CORES) -lt 3 && expr $(CORES) + 1 || echo 4)
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# pip compiles what it installs on one core, all of it; `setup` does that on all cores, without what few processes import.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# All that is locked is compared with its hash. A hash makes pip ask for the hash of everything, which the clone has not.
PIP := $(INSTALL) --no-require-hashes --constraint hashes.txt --build-constraint hashes.txt

PACKAGES := $(addprefix --editable ,$(wildcard packages/*))

NOT_COMPILED := /(tests|transformers/models|databricks|debugpy|fontTools|mlflow|mypy|networkx|nltk|onnxruntime|pip|pygments|schemathesis|sqlalchemy|statsmodels)/

export OMP_WAIT_POLICY := passive
# Hundreds of processes of the tests import Saccade: its bytecode is kept, also where the environment says otherwise.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-changed check docs bench gpu ray cluster test-cluster test-vllm chromium setup hashes licences vulnerabilities clean

setup: $(READY)

$(READY): pyproject.toml $(wildcard packages/*/pyproject.toml) constraints.txt hashes.txt
	$(PYTHON) -c 'import sys; sys.exit("Saccade needs Python 3.11 or newer; set PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	# Older pips know no --no-require-hashes; that of Python 3.11 and 3.12 takes three times as long to find the packages.
	grep '^pip==' hashes.txt | $(INSTALL) --upgrade --requirement /dev/stdin
	# Any build of torch will do (one that is here, an index's or a folder's), and each has a hash of its own.
	$(INSTALL) --no-deps --constraint constraints.txt torch
	# Replaced by a later install, the one wheel of before would take the command `saccade` of its successor along.
	$(BIN)/python -m pip uninstall -qq --yes --disable-pip-version-check saccade-vlm
	$(PIP) $(PACKAGES) '.[dev]'
	# Trackio asks for an older Pillow than it needs, TextArena for chess (GPL), which its games for one player do without.
	$(PIP) --no-deps trackio textarena
	$(BIN)/python -W ignore -m compileall -qq -j 0 -x '$(NOT_COMPILED)' $(VENV)/lib packages || true
	touch $(READY)

demo: $(READY)
	$(BIN)/saccade demo --out runs/demo --resume

test: $(READY)
	$(PYTEST)

# The tests of the packages that differ from main, and of those that need them.
BASE := main
test-changed: $(READY)
	$(PYTEST) $$($(BIN)/python -m tests.changed $(BASE))

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) --quick

# The documentation as a site, built strictly: a broken link ends it.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

bench: $(READY)
	$(BIN)/python benchmarks/engine.py

# What only a machine with CUDA can say, in four scripts of at most four minutes: docs/gpu.md.
gpu: $(READY)
	$(BIN)/python benchmarks/gpu.py --out runs/gpu

# Apart from `make test`: Ray takes 300 MB of disk, and a cluster a minute to start and end.
ray: $(READY)
	$(PIP) '.[dev,ray]'
	$(BIN)/python -m pytest packages/tools/tests/interop/test_ray_serve.py

# Runs on Ray: it takes 200 MB of disk, and half a minute to start on a busy machine.
cluster: $(READY)
	$(PIP) '.[dev,cluster]'

test-cluster: cluster
	$(BIN)/python -m pytest -n 0 -m cluster packages/core/tests/train/test_fleet_ray.py

# The browser for the tests of the viewer's pages; without one they are left out, but for continuous integration.
chromium:
	command -v chromium || { apt-get update -qq && apt-get install -y -qq chromium; }

# Apart from `make test`: vLLM's environment takes 3 GB of disk, and a server half a minute to start, for each family.
# SACCADE_VLLM_PYTHON names an environment that is there; without it one is made in .venv-vllm.
VLLM_VENV := .venv-vllm
test-vllm: $(READY)
	test -n "$(SACCADE_VLLM_PYTHON)" || test -x $(VLLM_VENV)/bin/python || $(PYTHON) -m venv $(VLLM_VENV)
	test -n "$(SACCADE_VLLM_PYTHON)" || $(VLLM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r examples/engine/requirements.txt ./examples/engine
	SACCADE_VLLM_PYTHON="$(or $(SACCADE_VLLM_PYTHON),$(VLLM_VENV)/bin/python)" $(BIN)/python -m pytest -n 0 -m vllm packages/core/tests/engines/test_vllm_engine.py

# What is done after a change of constraints.txt, with tools in an environment of their own. Each needs a network.
TOOLS := .venv-tools
$(TOOLS)/.ready: Makefile
	test -x $(TOOLS)/bin/python || $(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1 uv==0.13.9
	touch $(TOOLS)/.ready

# The hashes of all files of each version, so of every platform, as the index states them: one line for each package.
hashes: $(TOOLS)/.ready
	$(TOOLS)/bin/uv pip compile --quiet --no-config --no-deps --generate-hashes --no-header --no-annotate --upgrade --output-file $(TOOLS)/hashes.txt constraints.txt
	awk '{ sub(/^ +/, ""); if (sub(/\\$$/, "")) printf "%s", $$0; else print }' $(TOOLS)/hashes.txt > hashes.txt

licences: $(READY)
	$(BIN)/python tests/licences.py

# Known flaws of the locked versions, from a service that may not be reachable: a version that it cannot look up is an error.
vulnerabilities: $(TOOLS)/.ready
	$(TOOLS)/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off --requirement hashes.txt

clean:
	rm -rf $(VENV) $(VLLM_VENV) $(TOOLS) runs
