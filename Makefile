# Everything here runs from a fresh clone with only Python >= 3.11 on the machine; no virtual environment need
# be active. The first call of a target sets up what it needs in .venv, later calls reuse it.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
# Test processes at once, and how tests are dealt to them. make test JOBS=0 runs in one process.
JOBS   ?= 2
DIST   ?= worksteal
# Extra arguments: make test PYTEST_ARGS="-k logistic", make bench BENCH_ARGS="--quick"
PYTEST_ARGS ?=
# Which settings, and which tests: make test-processors PROCESSORS="--hardest prescott"
PROCESSORS  ?=
BENCH_ARGS  ?=
# uv installs faster and is used where it is present; make UV= keeps to pip.
UV ?= $(shell command -v uv 2>/dev/null)
ifeq ($(strip $(UV)),)
INSTALL = $(PY) -m pip install -qq --disable-pip-version-check
else
INSTALL = $(UV) pip install --quiet --python $(PY)
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PRECIOUS: $(VENV)/.installed-%

# The laws that find most mistakes; a minute with lint and types.
QUICK ?= tests/laws/test_refusal_texts.py tests/laws/test_refused.py tests/laws/test_swap.py tests/models/test_laws.py \
         tests/loops tests/files/test_golden.py tests/test_notes.py tests/test_stub.py

.PHONY: help demo quick stub test test-processors bench first-fits lint format dev clean distclean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.installed-demo loops ## compare classifiers on real data, and write a report worth opening to out/demo/
	@$(PY) -m separatrix compare breast-cancer --budget 45 --out out/demo

test: $(VENV)/.installed-test loops ## all tests, the examples in docstrings, and the import-layer contract
	$(PY) -m pytest -n $(JOBS) --dist $(DIST) $(PYTEST_ARGS)
	$(VENV)/bin/lint-imports --no-logo

quick: $(VENV)/.installed-dev loops ## lint, types, and the laws that find most mistakes: a minute, after every change
	@$(MAKE) --no-print-directory lint
	$(PY) -m pytest -q -n $(JOBS) --dist $(DIST) -m "not slow" $(QUICK) $(PYTEST_ARGS)

stub: $(VENV)/.installed-dev ## write the stub that editors read, src/separatrix/__init__.pyi
	$(PY) tools/stub.py

test-processors: $(VENV)/.installed-test loops ## the numerical tests as Haswell, Zen, Sandy Bridge and Prescott would run them
	$(PY) tests/processors.py --jobs $(JOBS) $(PROCESSORS) -- $(PYTEST_ARGS)

bench: $(VENV)/.installed-bench loops ## measure against the other libraries
	$(PY) -m benchmarks $(BENCH_ARGS)

# The wheel is built and installed as a user's pip would; what it does not bring, its first fits have to compile.
FIRST := build/first-fits
first-fits: $(VENV)/.installed-bench ## time import and first fit of every estimator, from a wheel in an environment of its own
	@rm -rf $(FIRST)
	@$(PYTHON) -m venv $(FIRST)/venv
	$(FIRST)/venv/bin/python -m pip wheel -q --disable-pip-version-check --no-deps -w $(FIRST)/wheel .
	$(FIRST)/venv/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt $(FIRST)/wheel/*.whl
	$(PY) -m benchmarks C1-all --python $(FIRST)/venv/bin/python $(BENCH_ARGS)

lint: $(VENV)/.installed-dev ## ruff, mypy and the import-layer contract
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-logo

format: $(VENV)/.installed-dev ## rewrite the source in the house style
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

dev: $(VENV)/.installed-dev ## everything for working on the code, and the pre-commit hooks
	$(PY) -m pre_commit install

clean: ## remove caches and outputs, keep .venv
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks .coverage build dist out
	find . -path ./$(VENV) -prune -o -path ./.git -prune -o -type d -name __pycache__ -exec rm -rf {} +

distclean: clean ## clean, and remove .venv
	rm -rf $(VENV)

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "separatrix needs Python 3.11 or newer; choose one with: make PYTHON=/path/to/python3"; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "python -m venv failed; on Debian and Ubuntu, install the package python3-venv"; exit 1; }
	@touch $@

# One stamp for each extra, all in the one environment.
$(VENV)/.installed-%: $(VENV)/.created pyproject.toml constraints.txt
	@echo "Installing separatrix and what '$*' needs into $(VENV) (a minute or two the first time) ..."
	@$(INSTALL) -c constraints.txt -e '.[$*]'
	@touch $@

# Compiled loops, built ahead of their first use: half a minute on two cores after a change of one, else nothing.
.PHONY: loops
loops:
	@$(PY) -m separatrix.loops.build || true
