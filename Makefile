# `make run` and `make test` are all a fresh machine needs (Python 3.11+ and make).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_TO_RUN := $(VENV)/.ready-to-run
SERVERS := .venv-servers
RUN_EXTRAS := anthropic,bot,google,images,local,mcp,novelai,openai,tables
EXTRAS := $(RUN_EXTRAS),azure,bedrock,otel,postgres,redis,vertex
SECONDS ?= 600
PROCESSORS = $(shell $(BIN)/python -c 'import os; print(os.cpu_count() or 1)')
# More than half of the time a test waits, for a timer, a server or a page: others use the processor.
WORKERS = $(shell expr 3 '*' $(PROCESSORS))
PYTEST = $(BIN)/pytest --workers $(WORKERS)
# Where bytecode is forbidden, each of the many programs that are started would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

.PHONY: help setup servers docs run generate test test-slow test-compiled check lint bench bench-bot distance crowd fuzz faults soak soak-bot crash fleet turns walks first-answer requirements release clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## install everything for development into .venv

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "oshaberi needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(READY_TO_RUN): pyproject.toml stage/pyproject.toml | $(BIN)/python
	@echo "Installing (about a minute, once) ..."
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ./stage --editable ".[$(RUN_EXTRAS)]"
	@touch $@

$(READY): pyproject.toml stage/pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ./stage --editable ".[$(EXTRAS)]" --group dev
	@touch $@ $(READY_TO_RUN)

# Model servers that others wrote. Their dependencies do not go with ours, so they have an environment
# of their own. Without it their tests are skipped; with CI=true they fail.
servers: $(SERVERS)/.ready ## install llama.cpp's server and LiteLLM for the tests: 840 MB, once

$(SERVERS)/.ready: pyproject.toml | $(BIN)/python
	@echo "Installing the model servers of the tests (one to three minutes, once) ..."
	@test -x $(SERVERS)/bin/python || $(BIN)/python -m venv $(SERVERS)
	@$(SERVERS)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(SERVERS)/bin/python -m pip install --quiet --group servers && touch $@

run: $(READY_TO_RUN) ## the bot: on Discord with a token, on the local stage without
	@$(BIN)/oshaberi run $(ARGS)

generate: setup ## write every generated file again: pages, examples, pictures, catalogues
	$(BIN)/python -m tests.generated_files

docs: setup ## build the documentation as a site into build/site; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "To read it: python3 -m http.server --directory build/site 8000"

lint: setup ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint ## lint and all tests but the slow ones: less than four minutes on two cores
	-@$(MAKE) --no-print-directory servers
	$(PYTEST) -m "not slow" --durations=10

test-slow: setup ## the slow tests, and all properties with more examples
	-@$(MAKE) --no-print-directory servers
	$(PYTEST) -m "slow or hypothesis" --hypothesis-profile=full --durations=10

test-compiled: setup ## the tests of text, laws, scenes and streams against the compiled engine
	$(BIN)/python -m tests.compiled_build --workers $(WORKERS) -m "not slow"

check: lint ## lint and the tests that your change touches, while you work
	$(BIN)/python -m tests.touched_tests --workers $(WORKERS)

bench: setup ## measure speed and memory
	$(BIN)/python -m bench

bench-bot: setup ## the whole bot under load, beside a bare discord.py bot; ARGS=--scale: how it grows
	$(BIN)/python -m bench.whole_bot $(ARGS)

distance: setup ## what it costs if PostgreSQL is far away: two minutes
	$(BIN)/python -m bench.whole_bot.distance $(ARGS)

crowd: setup ## 500 channels at once, with Discord's rate limits on: three minutes
	$(BIN)/python -m bench.whole_bot.limited_crowd $(ARGS)

fuzz: setup ## search for texts that break a law, for SECONDS=600; then compare both builds as long
	$(BIN)/python -m tests.laws.fuzz --seconds $(SECONDS)
	$(BIN)/python -m tests.laws.build_fuzz --seconds $(SECONDS)

faults: setup ## every fault in every position, against the stage
	$(BIN)/python -m tests.faults

soak: setup ## 10 000 messages with random faults
	$(BIN)/python -m tests.faults.soak --messages 10000 --channels 50

soak-bot: SECONDS = 1200
soak-bot: setup ## the whole bot for SECONDS=1200, while Discord, gateway, model and database fail at random
	$(BIN)/python -m tests.faults.bot_soak --seconds $(SECONDS) $(ARGS)

crash: setup ## kill the bot 50 times, then end it with 200 open questions, and check the channels
	$(BIN)/python -m tests.crash --kills 50 --busy-channels 100

fleet: setup ## four processes share the shards: kill one after another, then restart all, under load
	$(BIN)/python -m tests.fleet --processes 4

turns: setup ## 10 000 turns, one after another
	$(BIN)/python -m tests.crash.many_turns --turns 10000

walks: setup ## how many modules an answer passes through, and the calls between them
	$(BIN)/python -W ignore -m tests.walks $(ARGS)

first-answer: setup ## from a fresh clone to the answer of an own model on the page, timed: one to three minutes
	PYTHONPATH=stage/tests $(BIN)/python -m tests.first_answer

requirements: setup ## pin the versions of the Docker image with their hashes: those that are installed here
	$(BIN)/python -m tests.pinned_requirements

release: | $(BIN)/python ## build sdists and wheels of bot and stage, and check them in fresh environments
	$(BIN)/python -m tests.release

clean: ## remove .venv, caches and builds
	rm -rf $(VENV) $(SERVERS) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist stage/dist
