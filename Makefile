# make test and make reproduce set up all they need: Python 3.11 or later and make suffice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp

# Tests start many processes, and each would compile all modules that it imports where nothing may be written beside them.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup browser test test-compiled test-uncompiled reproduce bench bench-peers lint calibrate verify clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "manyarms needs Python 3.11 or later; run: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	touch $(STAMP)

test: setup browser lint test-compiled test-uncompiled

# Tests of the report want a real browser. Where it cannot be installed they are skipped, unless CI is set.
browser:
	@command -v chromium > /dev/null || command -v google-chrome > /dev/null || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium > /dev/null; } || \
	  echo "no chromium here: the report is not tested in a browser"

# Everything, with the compiler.
test-compiled: setup
	$(BIN)/python -m pytest -n 2 --no-loadscope-reorder --durations 10

# The same kernels as plain Python: the tests that do not need the compiler's speed.
test-uncompiled: setup
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 --no-loadscope-reorder --durations 10 -m "not compiled" tests

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

reproduce: setup
	$(BIN)/manyarms reproduce

# Appends to the ledger, and says what has become slower.
bench: setup
	$(BIN)/manyarms bench --ledger benchmarks/ledger.jsonl

# Against what one would use otherwise, in an environment of its own.
bench-peers:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-compile .
	@for package in river mabwiser SMPyBandits pymab; do \
	  .venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-compile $$package || \
	  echo "$$package cannot be installed here"; \
	done
	.venv-peers/bin/python benchmarks/peers.py

# How the default settings were chosen; docs/calibration.md has the outcome.
calibrate: setup
	$(BIN)/python verification/calibration.py

# Slow statistical truth, one file for each claim.
verify: setup
	$(BIN)/python verification/known_numbers.py
	$(BIN)/python verification/rates.py
	$(BIN)/python verification/reservoir.py
	$(BIN)/python verification/forager.py
	$(BIN)/python verification/plan.py
	$(BIN)/python verification/late.py
	$(BIN)/python -m verification.trust
	MANYARMS_EVERY_PAIR=1 $(BIN)/python -m pytest -n 2 tests/checks -k 'Blackbox. or compiles_for_gpu'
	MANYARMS_EVERY_PAIR=1 $(BIN)/python -m pytest -n 2 tests/policies/test_twins.py -k 'late_answers'

clean:
	rm -rf $(VENV) .venv-peers results
