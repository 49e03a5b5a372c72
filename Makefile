# Each works on a fresh machine: `make demo`, `make test`, `make docs`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check docs bench torture clean

demo: $(VENV)/.demo  ## play the main job and write a picture
	$(BIN)/restsure demo

test: $(VENV)/.test check  ## everything that must hold before a change lands
	$(BIN)/pytest -n 2

check: $(VENV)/.test  ## style, types, and the one-way flow of the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs  ## the documentation as a site, in site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo site/index.html

torture: $(VENV)/.test  ## ten times as many kills, cuts, flips, failures and races as make test
	RESTSURE_TORTURE=10 $(BIN)/pytest -n 2 tests/faults tests/security -s

bench: $(VENV)/.test  ## the speed figures in docs/benchmarks.md, beside Optuna's
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python benchmarks/speed.py

clean:
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache test-output

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

/usr/bin/chromium:  # the browser of the tests; as root, as in a container
	apt-get update && apt-get install --yes --no-install-recommends chromium

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[plot,sklearn]'
	touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

/usr/bin/cc:  # compiles the numbers of a live game
	apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev python3-dev

$(VENV)/.test: pyproject.toml hatch_build.py src/restsure/estimators/live_filters.py | $(VENV)/bin/python /usr/bin/chromium /usr/bin/cc
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	$(BIN)/python -m pip install --quiet --no-deps 'xgboost>=3.0' 'catboost>=1.2.8'  # but for GPUs' libraries, and plots
	touch $@ $(VENV)/.demo $(VENV)/.docs
