# `make run` and `make test` are all a fresh machine needs (Python 3.11+ and make).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
EXTRAS := anthropic,discord,google,images,novelai,openai,tables
SECONDS ?= 600

.PHONY: setup run test lint bench fuzz faults soak clean

setup: $(READY)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "oshaberi needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS)]" --group dev
	@touch $(READY)

run: setup
	$(BIN)/oshaberi run

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -n auto

bench: setup
	$(BIN)/python -m bench

fuzz: setup
	$(BIN)/python -m tests.laws.fuzz --seconds $(SECONDS)

faults: setup
	$(BIN)/python -m tests.faults

soak: setup
	$(BIN)/python -m tests.faults.soak --messages 10000 --channels 50

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
