# Every target bootstraps what it needs from a bare Python 3.11 with venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TOOLS := $(VENV)/.tools

.DEFAULT_GOAL := help
.PHONY: help install demo quick test walk fleet check weigh format bench redteam audit clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /  make \1\t/' | expand -t 18

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Verdigris needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "installing Verdigris into $(VENV), once: about 30 seconds"
	@$(PYTHON) -m venv $(VENV)
	@# Python 3.11 lays it into each environment, where it takes a third of every start of the interpreter.
	@$(BIN)/python -m pip uninstall --quiet --quiet --yes --disable-pip-version-check setuptools
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(TOOLS): $(STAMP) pyproject.toml constraints.txt
	@echo "installing the development tools into $(VENV), once: about a minute"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

install: $(STAMP) ## make .venv/ with the command at .venv/bin/tdd

demo: $(STAMP) ## an agent meets the law, one cheats, a machine builds a kata, a spec becomes evidence; offline, in under 30 seconds
	@$(BIN)/tdd demo

quick: $(TOOLS) ## the decisions and one whole turn of each kind: an answer in under a minute
	$(BIN)/python -m pytest -n auto --dist worksteal -m quick

test: $(TOOLS) ## the whole suite, the slow end-to-end part included; what fails beside others runs once more, alone
	@$(BIN)/python -m pytest -n auto --dist worksteal || { code=$$?; [ $$code -eq 1 ] || exit $$code; \
	  echo "These tests failed while others ran beside them. They count as failed only if they fail alone too:"; \
	  $(BIN)/python -m pytest -n 0 --last-failed --last-failed-no-failures none; }

walk: $(TOOLS) ## random walks through git and the verbs, with new seeds, for an hour (WALK_MINUTES=60 WALK_SEED=1)
	WALK_MINUTES=$(or $(WALK_MINUTES),60) WALK_SEED=$(or $(WALK_SEED),1) $(BIN)/python -m pytest -q -n 0 --timeout 0 tests/walk/hour.py

fleet: $(TOOLS) ## the tests of fleets with Ray, which is 240 MB and therefore installed by this target alone
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fleet]'
	$(BIN)/python -m pytest -n 0 tests/drivers/fleet

check: $(TOOLS) ## format, lint, types, import rules, the weight of each folder, and that what the documents name exists
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q -n 0 tests/docs

docs: $(TOOLS) ## write the tables of the documentation that are made from lists in the code
	PYTHONPATH=tests $(BIN)/python tests/support/doc_tables.py

weigh: $(TOOLS) ## lower the rows of weights.txt to what the folders weigh now
	@$(BIN)/python tests/support/scale.py

format: $(TOOLS) ## put the code into the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(TOOLS) ## ratios against the floors, interleaved in one run
	PYTHONPATH=tests $(BIN)/python benchmarks/run.py

redteam: $(TOOLS) ## cheats, honest work, attacks on the gate and on cycles (CHEATS= BYPASS= SCRIPTS= CYCLES=folder)
	$(BIN)/python -m redteam.cheats $(if $(CHEATS),--cheats $(CHEATS))
	$(BIN)/python -m redteam.rounds
	$(BIN)/python -m redteam.scripts $(if $(SCRIPTS),--cases $(SCRIPTS))
	$(BIN)/python -m redteam.bypass $(if $(BYPASS),--bypass $(BYPASS))
	$(BIN)/python -m redteam.cycle $(if $(CYCLES),--cases $(CYCLES))

audit: $(TOOLS) ## was our own work test-driven? the last 20 commits as one change, by the quick part of the suite
	$(BIN)/tdd audit HEAD~20..HEAD --squash --suite "-m quick" --timeout 1800 $(if $(HTML),--html $(HTML))

clean: ## remove what the targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
