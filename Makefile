# The Python that makes .venv; after a change of mind, `make clean` first.
PYTHON ?= python3
# The Python that sees a GPU.
GPU_PYTHON ?= python3
BIN := .venv/bin
# One worker per core; `make test WORKERS=0` runs in one process, where a debugger can stop it.
WORKERS ?= auto
# Of the random moments of `make faults`.
SEED ?= 0
# Compiled test modules are kept between runs, and by all processes that tests start: without, each compiles its own.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# What the tests of TorchEngine need. On Linux the usual build of torch brings gigabytes for GPUs: the one for the CPU
# alone is asked for by name. Triton, which is for Linux only, has an interpreter that runs kernels without a GPU.
TORCH := torch==2.13.0$(if $(filter Linux,$(shell uname)),+cpu)
TRITON := $(if $(filter Linux,$(shell uname)),triton==3.8.0)

# The package is installed in place, so only a change of these files calls for a new build.
BUILD_FILES := pyproject.toml CMakeLists.txt $(wildcard src/similitude/compute/loops/cpp/*)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: sanitize arm64 coverage mutants faults soak wheels
.PHONY: help setup demo test quick torch test-gpu lint fuzz bench bench-gpu theory docs notebooks deep clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile

setup: .venv/dev,docs.installed ## install what test, lint and docs need, at once
	@touch .venv/test.installed .venv/dev.installed .venv/docs.installed

demo: .venv/cli.installed ## show what the library does, on small real data
	@$(BIN)/similitude demo

test: .venv/test.installed ## run the tests and every example in the documentation
	$(PYTEST)

quick: .venv/test.installed ## run the most telling tests of each part and the examples of README, in less than a minute
	$(PYTEST) -m quick tests README.md

torch: | $(BIN)/python ## add torch for the CPU and Triton to .venv, so that `make test` runs the tests of TorchEngine
	$(BIN)/python -m pip install --quiet --only-binary :all: $(TORCH)
	$(if $(TRITON),$(BIN)/python -m pip install --quiet --only-binary :all: $(TRITON))

lint: .venv/dev.installed ## check style, types, spelling and the layers of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/lint-imports

fuzz: .venv/test.installed .venv/fuzz.installed ## look for files and expressions that readers and load do not survive (25 minutes)
	$(BIN)/python tools/fuzz.py

bench: .venv/test.installed ## run the benchmarks (BENCH="--data DIR --only 'svc*'")
	$(BIN)/python -m benchmarks $(BENCH)

test-gpu: ## run the tests of TorchEngine on the GPU, with the Python in PATH (GPU_PYTHON=...): needs torch
	PYTHONPATH=src:$$PYTHONPATH $(GPU_PYTHON) -m pytest --noconftest -q tests/test_torch_*.py

bench-gpu: ## measure the GPU
	PYTHONPATH=src:$$PYTHONPATH $(GPU_PYTHON) -m benchmarks.gpu

theory: .venv/test.installed ## try every theorem on problems that are hard for it
	$(BIN)/python -m benchmarks.theory

docs: .venv/docs.installed ## build the documentation into build/docs
	$(BIN)/python tools/house_map.py
	rm -rf docs/api/generated build/docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs build/docs

notebooks: .venv/docs.installed ## make notebooks of the examples in build/notebooks and run them (NOTEBOOKS="plot_table")
	$(BIN)/python tools/notebooks.py $(NOTEBOOKS)

deep: .venv/test.installed ## run the tests with the long checks, on the readable loops too, and count instructions
	HYPOTHESIS_PROFILE=deep $(PYTEST) -m "deep or not deep"
	SIMILITUDE_LOOPS=reference $(PYTEST)
	$(BIN)/python -m benchmarks.instructions
	sh tools/sanitize.sh $(BIN)/python short
	@if $(MAKE) .venv/fuzz.installed; then $(BIN)/python tools/fuzz.py --seconds 5; \
	else echo "atheris cannot be installed here: nothing is fuzzed"; fi
	$(BIN)/python -m tools.faults --share 0.1
	$(BIN)/python -m tools.faults.soak --share 0.1

sanitize: .venv/test.installed ## run the tests of the loops under the sanitizers of addresses, undefined behavior and threads
	sh tools/sanitize.sh $(BIN)/python

arm64: .venv/test.installed ## run the C++ tests of the loops on an emulated arm64 processor: needs a cross compiler and qemu
	sh tools/arm64.sh $(BIN)/python

coverage: .venv/coverage.installed ## run the tests and print how many lines and branches of the package they reach
	rm -rf build/coverage
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m coverage run -m pytest -q -n $(WORKERS) --dist worksteal
	$(BIN)/python tools/coverage_table.py

mutants: .venv/coverage.installed ## change the source in sixty random places, and print the changes that no test notices
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tools.mutants $(MUTANTS)

faults: .venv/test.installed ## kill, interrupt and starve fits at random moments (SEED=0), in less than half an hour
	$(BIN)/python -m tools.faults --seed $(SEED)

soak: .venv/test.installed ## fit 2,000 models and predict 10^6 rows in one process: nothing may grow
	$(BIN)/python -m tools.faults.soak

wheels: | $(BIN)/python ## build, audit and test the wheels of a release into dist (WHEELS="--only linux-x86_64")
	$(BIN)/python -m tools.wheels $(WHEELS)

clean: ## remove .venv and all that was built
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf docs/api/generated docs/gallery docs/sg_execution_times.rst docs/pictures/*.svg
	find . -name __pycache__ -prune -exec rm -rf {} +

# One stamp for each set of extra packages: the package itself is there, so pip only adds what it needs.
.venv/%.installed: .venv/compiled
	@echo "Installing what similitude[$*] needs into .venv ..."
	@$(BIN)/python -m pip install --disable-pip-version-check 'similitude[$*]'
	@touch $@

# pip says what it does: a first build takes a minute, and would look frozen.
.venv/compiled: $(BUILD_FILES) | $(BIN)/python
	@echo "Compiling the inner loops of similitude (about a minute) ..."
	@$(BIN)/python -m pip install --disable-pip-version-check --no-deps --editable .
	@touch $@

$(BIN)/python:
	@echo "Setting up a virtual environment in .venv ..."
	@sh tools/venv.sh "$(PYTHON)" .venv
