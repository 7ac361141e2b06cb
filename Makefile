# make demo    run the first example; needs nothing but Python 3.11 or newer
# make test    lint, types and the whole test suite
# make test-sdk  the published inference-sdk client, in an environment of its own, against our server
# make bench   print our speed figures
# make lint    style, types and import rules only
# make clean   remove what these made

PYTHON ?= python3
# What the tests need beyond the base, as extras of pyproject.toml.
TEST_EXTRAS ?= dev,train,server

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
BASE_READY := $(VENV)/.base-installed
TESTS_READY := $(VENV)/.tests-installed
SDK_VENV := .venv-sdk
SDK_READY := $(SDK_VENV)/.installed
DEMO_OUT := out/demo

.PHONY: demo test pytest test-sdk sdk-venv lint bench clean
.DELETE_ON_ERROR:

demo: $(BASE_READY)
	$(BIN)/weftlens run examples/find_parts.json --image examples/images/coins.png --out $(DEMO_OUT)
	$(BIN)/weftlens run examples/count_coins.json --image examples/images/coins.png --out $(DEMO_OUT)/outlines
	@echo "Found by the model:    $(DEMO_OUT)/coins.annotated.png, $(DEMO_OUT)/coins.json"
	@echo "Found by its outlines: $(DEMO_OUT)/outlines/coins.annotated.png, $(DEMO_OUT)/outlines/coins.json"

test: lint pytest

pytest: $(TESTS_READY)
	$(BIN)/python -m pytest -m "not slow and not sdk"

test-sdk: $(TESTS_READY) $(SDK_READY)
	$(BIN)/python -m pytest -m sdk tests/sdk

sdk-venv: $(SDK_READY)

lint: $(TESTS_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m blocks.indexing --check

bench: $(TESTS_READY)
	@for script in tests/benchmarks/bench_*.py; do \
		name=$$(basename $$script .py); echo "== $$name"; \
		$(BIN)/python -m tests.benchmarks.$$name || exit 1; \
	done

clean:
	rm -rf $(VENV) $(SDK_VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "weftlens needs Python 3.11 or newer; name one: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(BASE_READY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV) (a minute or two) ..."
	$(PIP_INSTALL) -e .
	@touch $@

$(TESTS_READY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV) (a minute or two) ..."
	$(PIP_INSTALL) -e ".[$(TEST_EXTRAS)]"
	@touch $@

# The client wants other versions of numpy, opencv and supervision than we do.
$(SDK_READY): tests/sdk/constraints.txt
	$(PYTHON) -m venv --clear $(SDK_VENV)
	$(SDK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		-c tests/sdk/constraints.txt inference-sdk
	@touch $@
