# `make run` and `make test` are all a fresh machine needs (Python 3.11+ and make).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_TO_RUN := $(VENV)/.ready-to-run
RUN_EXTRAS := bot,images,mcp,openai,tables
EXTRAS := $(RUN_EXTRAS),anthropic,google,novelai,postgres,redis
SECONDS ?= 600
# A browser and servers run beside the tests: more workers than processors only get in their way.
WORKERS = $(shell $(BIN)/python -c 'import os; print(max(2, os.cpu_count() or 1))')
PYTEST = $(BIN)/pytest -n $(WORKERS) --dist worksteal
CHECKED := $(addprefix tests/,config delivery demo_model laws logs stream text turns) \
  $(addprefix tests/test_,clock.py glossary.py imports.py package.py recording.py scenes.py terminal.py)
# Where bytecode is forbidden, each of the many programs that are started would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup run test test-slow check lint bench fuzz faults soak crash turns clean

setup: $(READY)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "oshaberi needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(READY_TO_RUN): pyproject.toml | $(BIN)/python
	@echo "Installing (about a minute, once) ..."
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[$(RUN_EXTRAS)]"
	@touch $@

$(READY): pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS)]" --group dev
	@touch $@ $(READY_TO_RUN)

run: $(READY_TO_RUN)
	@$(BIN)/oshaberi run $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Everything that has to hold but what takes long, and the ten slowest: at most four minutes on two cores.
test: lint
	$(PYTEST) -m "not slow" --durations=10

# What takes long: crashes, every fault, memory, pages at every width; and all properties with more examples.
test-slow: setup
	$(PYTEST) -m "slow or hypothesis" --hypothesis-profile=full --durations=10

# While you work: a minute. No browser, no database server, hardly a process.
check: lint
	$(PYTEST) -m "not slow" -q $(CHECKED)

bench: setup
	$(BIN)/python -m bench

fuzz: setup
	$(BIN)/python -m tests.laws.fuzz --seconds $(SECONDS)

faults: setup
	$(BIN)/python -m tests.faults

soak: setup
	$(BIN)/python -m tests.faults.soak --messages 10000 --channels 50

crash: setup
	$(BIN)/python -m tests.crash --kills 50

turns: setup
	$(BIN)/python -m tests.crash.many_turns --turns 10000

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
