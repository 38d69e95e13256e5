# Everything lives in .venv; nothing is taken from the machine but Python 3.11 or newer and make.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := src tests bench docs examples

.PHONY: demo test lint format docs site bench agreement clean help
help:  ## what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/installed  ## install, run the main job on generated data, say where the results are
	$(BIN)/recassay demo -o recassay-demo

test: .venv/tested  ## install what the tests need and run them all
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: .venv/linted  ## style, types, layers
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/linted  ## put the code into shape
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

docs: .venv/installed  ## write the generated pages of docs/reference and docs/explanation again
	$(BIN)/python docs/generate.py

site: .venv/sited  ## the documentation as a site in site/; a dead link or anchor ends it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

agreement: .venv/tested  ## run the libraries whose pins conflict, each in its own environment, and record their answers
	$(BIN)/python tests/agreement/record.py

bench: .venv/installed  ## measure against the peers, side by side in one run
	$(BIN)/python bench/score.py

clean:  ## remove what was made
	rm -rf .venv .peers site recassay-demo .pytest_cache .hypothesis .mypy_cache .ruff_cache dist build

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "recassay needs Python 3.11 or newer; say: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv .venv || \
	  { rm -rf .venv; echo "Python's venv module is missing; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@$(PIP) install --upgrade "pip>=25.1"

.venv/installed: pyproject.toml | .venv/bin/python
	@echo "Installing recassay into .venv"
	@$(PIP) install --editable .
	@touch $@

.venv/tested: pyproject.toml .venv/installed
	@echo "Installing what the tests need into .venv"
	@$(PIP) install --group test --group oracles
	@touch $@

.venv/sited: pyproject.toml .venv/installed
	@echo "Installing what makes the site into .venv"
	@$(PIP) install --group site
	@touch $@

.venv/linted: pyproject.toml .venv/installed
	@echo "Installing the linters into .venv"
	@$(PIP) install --group lint
	@touch $@
