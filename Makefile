PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Two busy-waiting OpenMP pools on two cores are six times slower than two patient ones.
export OMP_WAIT_POLICY ?= PASSIVE
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
TEST_EXTRAS := neural,search,serve,postgres,opensearch,report,trees,cluster,bench,dev

.PHONY: test check unit quick format demo bench clean

test: check unit

check: $(VENV)/.test
	$(BIN)/ruff format --check src tests examples benchmarks
	$(BIN)/ruff check src tests examples benchmarks
	$(BIN)/mypy

unit: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile

quick: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow"

format: $(VENV)/.test
	$(BIN)/ruff format src tests examples benchmarks
	$(BIN)/ruff check --fix src tests examples benchmarks

demo: $(VENV)/.demo
	$(BIN)/rankloop demo

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[search,serve,report]"
	touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(TEST_EXTRAS)]"
	touch $@
