# Byte code is kept even where the machine says not to: tests start hundreds of processes that would compile the sources again.
unexport PYTHONDONTWRITEBYTECODE
# Everything lives in .venv and .oldest; nothing is taken from the machine but Python, 3.11 or newer, and make.
BIN := .venv/bin
PIP := python -m pip --disable-pip-version-check --quiet
# Python compiles a module when it is first imported; most modules never are.
INSTALL := $(PIP) install --no-compile
SOURCES := src tests bench docs examples .ci
# the first of these Pythons ($(1)) that is there and fulfils a condition ($(2))
found = $(shell for python in $(1); do \
  $$python -c 'import sys; sys.exit(not $(2))' 2>/dev/null && echo $$python && break; done)
PYTHON ?= $(or $(call found,python3 python3.13 python3.12 python3.11 python3.14,sys.version_info >= (3, 11)),python3)
# Tests, linters and the site get the exact versions that were tested, and so does whatever is built for them.
# A Python without a file of them, newer than those, gets the newest.
EXACT = $(wildcard requirements/newest-$(shell $(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])').txt)
EXACTLY = $(if $(EXACT),--constraint $(EXACT) --build-constraint $(EXACT))
# The oldest versions that pyproject.toml allows are tested on the oldest Python.
PYTHON_3_11 ?= $(call found,$(PYTHON) python3.11 python3,sys.version_info[:2] == (3, 11))
OLDEST := --constraint requirements/oldest-3.11.txt --build-constraint requirements/oldest-3.11.txt
# PyTorch is missing there, so nothing says that all libraries are expected (CI); kernels have a cache of their own
# an old PySpark leaves sockets open
ON_OLDEST := CI= NUMBA_CACHE_DIR=$(CURDIR)/.oldest/numba .oldest/bin/python -m pytest -n auto --dist loadfile \
  -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning
# what old versions break first: files of every format, tables, options, pages, models, and the bits of results
SENSITIVE := tests/cli tests/golden tests/unit/data tests/unit/columnar tests/unit/engine tests/unit/report tests/contract/test_models.py \
  tests/processor/test_digests.py::test_results_are_the_stored_ones[plain]
WORKERS := -n auto --dist loadfile --no-loadscope-reorder
SEEDS ?= 1 2 3 4 5
SECONDS ?= 60
SEED ?=
WHICH ?= all

.PHONY: demo live test test-gate check test-all oldest oldest-all processors properties fuzz kill flip audit bill packages update
.PHONY: lint format docs site bench agreement clean help
help:  ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/installed  ## install, run the main job on generated data, say where the results are
	$(BIN)/recassay demo -o recassay-demo

test: .venv/tested  ## install what the tests need, in the versions that were tested, and run them: one path through Spark and the like
	$(BIN)/python -m pytest -m "not gate" $(WORKERS)

test-gate: .venv/tested  ## all tests: also every one of Spark, browsers, wheels, other libraries and the examples of all pages
	$(BIN)/python -m pytest --hypothesis-profile gate $(WORKERS)

check: .venv/tested .venv/linted  ## in under a minute: style, types, and the tests next to what changed since the last commit
	$(BIN)/python .ci/check.py

test-all: test-gate oldest-all processors packages properties fuzz kill flip live  ## all that can be tested: takes an hour, and each Python from 3.11 on

oldest: .oldest/installed  ## part of the tests on the oldest versions that are allowed
	$(ON_OLDEST) $(SENSITIVE)

oldest-all: .oldest/installed  ## all tests on the oldest versions, but what pages and examples print
	$(ON_OLDEST) --ignore tests/docs tests

fuzz: .venv/tested  ## hostile inputs for SECONDS, of SEED if it is given; what is found is kept as small files
	$(BIN)/python -m tests.harness.fuzz --store --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

kill: .venv/tested  ## studies that are killed, started twice or out of disk, for SECONDS: the same bits in the end
	$(BIN)/python -m tests.harness.kill --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

flip: .venv/tested  ## results folders with a flipped bit, for SECONDS: the same results, or an error that names the file
	$(BIN)/python -m tests.harness.flip --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

audit: .venv/bin/python  ## known holes in what recassay depends on, where the package index answers
	$(BIN)/python .ci/audit.py

bill: .venv/installed  ## the wheel, and beside it a software bill of materials as CycloneDX: dist/recassay-VERSION.cdx.json
	$(BIN)/$(PIP) wheel --no-deps --wheel-dir dist .
	$(BIN)/python .ci/bill.py

properties: .venv/tested  ## tests on random input, on other input than make test, and more: SEEDS="6 7 8"
	for seed in $(SEEDS); do $(BIN)/python -m pytest -n auto --dist loadfile -q --hypothesis-profile fuzz \
	  --hypothesis-seed $$seed $$(grep -rl --include 'test_*.py' '^from hypothesis' tests) || exit 1; done

live: .venv/tested  ## the long tests of the live judge, with hundreds of kills; FIRST=30 goes on with round 30 of SEED
	RECASSAY_LONG=1 $(BIN)/python -m pytest -q tests/property/test_live.py tests/unit/live
	$(BIN)/python -m tests.harness.live_kill --kills 200 --commits 50 --redis 20 $(if $(SEED),--seed $(SEED)) $(if $(FIRST),--first $(FIRST))

processors: .venv/tested  ## tests whose digits could depend on the processor, under other settings of it
	$(BIN)/python tests/processor/settings.py $(WHICH)

packages: .venv/tested  ## build wheel and source, install each on every Python from 3.11 on as users do, and run the demo
	$(BIN)/python .ci/packages.py

update: .venv/pip  ## move requirements/*.txt on to the newest versions, and to the oldest that are allowed
	$(BIN)/python .ci/lock.py

lint: .venv/linted  ## style, types, layers, and the size of the sources
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/mypy tests/typed
	$(BIN)/lint-imports
	$(BIN)/python .ci/budget.py

format: .venv/linted  ## put the code into shape
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

docs: .venv/tested  ## write the generated pages of docs/reference and docs/explanation again
	$(BIN)/python docs/generate.py

site: .venv/sited  ## the documentation as a site in site/; a dead link or anchor ends it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

agreement: .venv/tested  ## run the libraries whose pins conflict, each in its own environment, and record their answers
	$(BIN)/python tests/agreement/record.py

bench: .venv/installed  ## measure against the peers, side by side in one run
	$(BIN)/python bench/score.py

clean:  ## remove what was made
	rm -rf .venv .oldest .peers site recassay-demo .pytest_cache .hypothesis .mypy_cache .ruff_cache dist build

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "recassay needs Python 3.11 or newer; say: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv .venv || \
	  { rm -rf .venv; echo "Python's venv module is missing; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

.venv/pip: $(wildcard requirements/newest-*.txt) | .venv/bin/python
	@$(if $(EXACT),,echo "no exact versions for this Python in requirements: the newest are installed, which are not tested here")
	@$(BIN)/$(INSTALL) --upgrade $(if $(EXACT),--constraint $(EXACT)) pip
	@touch $@

.venv/installed: pyproject.toml | .venv/pip
	@echo "Installing recassay into .venv"
	@$(BIN)/$(INSTALL) --editable .
	@touch $@

.venv/tested: pyproject.toml .venv/pip
	@echo "Installing what the tests need into .venv"
	@$(BIN)/$(INSTALL) $(EXACTLY) --editable . --group test --group oracles --group torch --group site
	@touch $@

.venv/sited: pyproject.toml .venv/pip
	@echo "Installing what makes the site into .venv"
	@$(BIN)/$(INSTALL) $(EXACTLY) --editable . --group site
	@touch $@

.venv/linted: pyproject.toml .venv/pip
	@echo "Installing the linters into .venv"
	@$(BIN)/$(INSTALL) $(EXACTLY) --editable . --group lint
	@touch $@

.oldest/installed: pyproject.toml requirements/oldest-3.11.txt
	@test -n "$(PYTHON_3_11)" || \
	  { echo "the oldest versions need Python 3.11; say: make PYTHON_3_11=/where/it/is/python3.11"; exit 1; }
	@echo "Installing the oldest versions into .oldest"
	@$(PYTHON_3_11) -m venv .oldest
	@.oldest/bin/$(INSTALL) --upgrade --constraint requirements/oldest-3.11.txt pip
	@.oldest/bin/$(INSTALL) $(OLDEST) --editable . --group test --group oracles
	@touch $@
