PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
ORACLES ?= .venv-oracles
# Two busy-waiting OpenMP pools on two cores are six times slower than two patient ones.
export OMP_WAIT_POLICY ?= PASSIVE
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Search by meaning is part of the demo where `rankloop encoders get minilm` has put the encoder.
ENCODERS ?= $(or $(RANKLOOP_ENCODERS),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/rankloop/encoders)
DEMO_EXTRAS := search,serve$(if $(wildcard $(ENCODERS)/minilm/model.onnx),$(shell echo ,text))
TEST_EXTRAS := neural,text,search,serve,postgres,opensearch,report,trees,cluster,bench,docs,dev

.PHONY: test check unit quick oracles checkouts hardening format demo docs dist tables pictures clean

test: check unit

check: $(VENV)/.test
	$(BIN)/ruff format --check src tests examples benchmarks scripts
	$(BIN)/ruff check src tests examples benchmarks scripts
	$(BIN)/mypy

# Several processes share the machine with browsers and engines: what fails is tried once more alone, and printed twice.
unit: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile || \
	  { [ $$? -eq 1 ] && $(BIN)/python -m pytest --last-failed --last-failed-no-failures none; }

quick: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow"

# Heavy peers, in an environment of their own; CONTRIBUTING.md says which, and which variables name checkouts.
oracles: checkouts $(ORACLES)/.oracles
	@$(ORACLES)/bin/python tests/oracles/peers.py
	$(ORACLES)/bin/python -m pytest tests/oracles -W default

checkouts:
	@$(PYTHON) tests/oracles/peers.py checkouts

hardening: $(VENV)/.test
	$(BIN)/python benchmarks/hardening_lab/tried.py
	$(BIN)/python benchmarks/hardening.py
	$(BIN)/python benchmarks/hardening_lab/kills.py
	$(BIN)/python benchmarks/hardening_lab/service.py

format: $(VENV)/.test
	$(BIN)/ruff format src tests examples benchmarks scripts
	$(BIN)/ruff check --fix src tests examples benchmarks scripts

demo: $(VENV)/.demo-$(DEMO_EXTRAS)
	$(BIN)/rankloop demo $(if $(or $(DISPLAY),$(WAYLAND_DISPLAY),$(filter Darwin,$(shell uname))),--open)

# The site, in site/: tutorials are run, and shown with what they give. Those whose data is not here are shown alone.
docs: $(VENV)/.test
	RANKLOOP_RUN_TUTORIALS=1 NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Wheel and source archive in dist/, checked, then installed in clean environments: the core, and each extra.
# DIST_EXTRAS="core report" tries fewer.
dist: $(VENV)/.test
	$(BIN)/python scripts/dist.py $(DIST_EXTRAS)

# The measured tables of README and docs, from the files in benchmarks/results.
tables: $(VENV)/.test
	$(BIN)/python scripts/tables.py

# The pictures of README and docs, from the demo in a real browser.
pictures: $(VENV)/.test
	$(BIN)/python scripts/pictures.py

clean:
	rm -rf $(VENV) $(ORACLES) .pytest_cache .mypy_cache .ruff_cache .hypothesis site dist

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo-$(DEMO_EXTRAS): $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(DEMO_EXTRAS)]"
	touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(TEST_EXTRAS)]"
	touch $@

$(ORACLES)/bin/python:
	$(PYTHON) -m venv $(ORACLES)

$(ORACLES)/.oracles: $(ORACLES)/bin/python pyproject.toml constraints.txt $(wildcard tests/oracles/requirements*.txt)
	$(ORACLES)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[neural]" -r tests/oracles/requirements.txt
	$(ORACLES)/bin/pip install --quiet --disable-pip-version-check --no-deps --ignore-requires-python -r tests/oracles/requirements-alone.txt
	touch $@
