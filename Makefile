# Every target sets up what it needs in .venv; `make` alone lists them.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help run test bench lint clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

run: $(STAMP) ## a live ladder on this machine, played until it is known who is better
	@rm -f .demo.db .demo.db-wal .demo.db-shm
	@$(BIN)/rung tournament examples/demo.toml --db .demo.db
	@$(BIN)/rung verify demo --db .demo.db

test: lint ## all checks: lint, types, layers, tests
	@$(BIN)/pytest -q -n 2

lint: $(STAMP) ## formatting, types and layers only
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(STAMP) ## compare with peers, on this machine
	@for file in benchmarks/[!_]*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

clean: ## remove what the targets made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "Rung needs Python 3.11 to 3.13; name one with: make PYTHON=python3.12")'
	@echo "Setting up .venv (once; about a minute)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@
