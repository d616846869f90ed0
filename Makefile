# Everything starts from a machine that has python3 and make; the rest is pinned in requirements/.
PYTHON ?= python3
BIN := .venv/bin
unexport PYTHONDONTWRITEBYTECODE  # else every process of the suite compiles all it imports

.PHONY: help setup demo test test-all test-clients coverage check format bench docs lock clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 12

setup: .venv/ready  ## create .venv with the package, every extra and the development tools

.venv/ready: requirements/bootstrap.txt requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/bootstrap.txt
	$(BIN)/uv pip sync --quiet --require-hashes requirements/dev.txt
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup  ## show a verdict and a fault on examples/
	@$(BIN)/python examples/demo.py

test: setup  ## the whole suite
	$(BIN)/pytest -q -n 2 --dist loadfile -m "not heavy"

test-all: setup  ## the suite with the heavy and networked checks
	$(BIN)/pytest -q

test-clients: setup  ## what third-party clients show of our answers; needs npm
	$(BIN)/python -m tests.clients.matrix
	$(BIN)/pytest -q tests/clients

coverage: setup  ## branch coverage of the rooms everything stands on, with a floor for each
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -m "not heavy" tests/contract tests/process tests/kit tests/client tests/wire tests/cli
	$(BIN)/coverage combine --quiet
	@for floor in contract:95 process:90 kit:90 client:90; do \
		$(BIN)/coverage report --include="src/faultless/$${floor%:*}/*" --omit="src/faultless/process/target/*" \
			--fail-under=$${floor#*:} || exit 1; \
	done

check: setup  ## formatting, lint, types, import directions
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup  ## write what `check` asks for, where a tool can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup  ## side-by-side figures with other implementations
	$(BIN)/python -m bench

docs: setup  ## regenerate the reference pages
	$(BIN)/python -m docs.generate

lock: setup  ## re-pin requirements/ from pyproject.toml
	$(BIN)/python requirements/lock.py

clean:  ## remove what setup and bench made
	rm -rf .venv .bench .clients .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
