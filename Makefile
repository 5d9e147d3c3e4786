# make demo        install, then run the main job on made-up patients, which needs neither network nor credentials
#                  (DEMO=demo_treqs: the demo of another task; see config/demo_*.yaml)
# make test        install, then run all tests
# make test-fast   the same without the slow tests
# make check       formatting, types and lint of code and workflow
# make format      bring code and workflow into form
# make docs        renew docs/configuration.md and config/schema.json
# make benchmarks  measure, see benchmarks/README.md
# make lock        renew the locked versions
# make clean       remove what was installed, and the demo's results

PYTHON ?= python3
CORES ?= 2
DEMO ?= demo
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Runs a command and shows what it said only where it fails.
QUIETLY := sh scripts/quietly.sh

.PHONY: demo test test-fast check format lock docs benchmarks clean
.DEFAULT_GOAL := help

.PHONY: help
help:
	@sed -n 's/^# make/make/p; s/^#  //p' Makefile

demo: installed
	@$(BIN)/medagentgym environments build config/$(DEMO).yaml
	@$(BIN)/snakemake --cores $(CORES) --configfile config/$(DEMO).yaml
	@echo
	@$(BIN)/medagentgym show work_dir/$(DEMO)/reports/$(DEMO)

# The sandbox's tests count processes, so they run alone; the others share the cores.
test: $(VENV)/.installed-development environment
	$(BIN)/python -m pytest tests/sandbox
	$(BIN)/python -m pytest --ignore=tests/sandbox -n 2 --dist loadfile

test-fast: $(VENV)/.installed-development environment
	$(BIN)/python -m pytest -m "not slow" tests/sandbox
	$(BIN)/python -m pytest -m "not slow" --ignore=tests/sandbox -n 2 --dist loadfile

check: $(VENV)/.installed-development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/snakemake --lint --configfile config/demo.yaml
	$(BIN)/python -m medagentgym.reference_page --check

format: $(VENV)/.installed-development
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile rules

docs: $(VENV)/.installed-development
	$(BIN)/python -m medagentgym.reference_page

benchmarks: $(VENV)/.installed-development environment
	$(BIN)/python benchmarks/run_all.py

# Versions are locked with hashes; `make lock` renews them from pyproject.toml.
lock: $(VENV)/.installed-development
	$(BIN)/pip install --quiet uv
	echo setuptools | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --upgrade \
	  --extra bubblewrap -o requirements.lock - pyproject.toml
	echo setuptools | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --upgrade -c requirements.lock \
	  --extra bubblewrap --extra dev -o requirements-dev.lock - pyproject.toml
	for family in ehr bioinformatics machine_learning statistics; do \
	  $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --upgrade -o envs/$$family.lock envs/$$family.in || exit 1; \
	done

# medagentgym, and beside it the interpreter of the code steps, which is made once for every lock: one does not wait for the other.
.PHONY: installed environment
installed:
	@$(MAKE) --no-print-directory -j 2 $(VENV)/.installed environment

environment: $(VENV)/bin/pip
	@$(BIN)/python -m medagentgym.environments build ehr

$(VENV)/bin/pip:
	@sh scripts/prepare_machine.sh "$(PYTHON)" "$(VENV)"

$(VENV)/.installed: $(VENV)/bin/pip requirements.lock pyproject.toml
	@echo "Installing medagentgym into $(VENV) (about a minute) ..."
	@$(QUIETLY) $(BIN)/pip install --require-hashes -r requirements.lock
	@$(QUIETLY) $(BIN)/pip install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-development: $(VENV)/.installed requirements-dev.lock
	@echo "Installing the tools for tests and checks ..."
	@$(QUIETLY) $(BIN)/pip install --require-hashes -r requirements-dev.lock
	@touch $@

clean:
	rm -rf $(VENV) .environments .snakemake work_dir/demo build ./*.egg-info .pytest_cache .mypy_cache .ruff_cache
