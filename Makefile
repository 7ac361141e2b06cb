# make demo    run the first example; needs nothing but Python 3.11 or newer
# make test    lint, types and the whole test suite
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
DEMO_OUT := out/demo

.PHONY: demo test pytest lint bench clean
.DELETE_ON_ERROR:

demo: $(BASE_READY)
	$(BIN)/weftlens run examples/find_parts.json --image examples/images/coins.png --out $(DEMO_OUT)
	$(BIN)/weftlens run examples/count_coins.json --image examples/images/coins.png --out $(DEMO_OUT)/outlines
	@echo "Found by the model:    $(DEMO_OUT)/coins.annotated.png, $(DEMO_OUT)/coins.json"
	@echo "Found by its outlines: $(DEMO_OUT)/outlines/coins.annotated.png, $(DEMO_OUT)/outlines/coins.json"

test: lint pytest

pytest: $(TESTS_READY)
	$(BIN)/python -m pytest -m "not slow"

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
	rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "weftlens needs Python 3.11 or newer; name one: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(BASE_READY): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP_INSTALL) -e .
	@touch $@

$(TESTS_READY): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP_INSTALL) -e ".[$(TEST_EXTRAS)]"
	@touch $@
