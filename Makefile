# Each target installs what it needs into .venv.
PYTHON ?= python3
BIN := .venv/bin
INPUTS := pyproject.toml constraints.txt $(wildcard packages/*/pyproject.toml)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help demo demo-encoder demo-decoder explore test test-all test-quick check lint examples docs pictures decoder bench fuzz soak clean
help:
	@echo "make demo    install, run the report on the embedded models and text, print the path of each report.html"
	@echo "make explore open a page to type sentences and see all views of them"
	@echo "make test    install what the tests need and run a seeded sample of them, with the tests that find planted defects"
	@echo "make test-all  every test: before a release"
	@echo "make test-quick  quick tests of every folder: for every few minutes"
	@echo "make check   format, lint, type-check, and run the examples of README and docs"
	@echo "make docs    write the tables, statistics and API pages of docs/reference from the source"
	@echo "make pictures  retake the pictures of README and docs from the demonstration"
	@echo "make decoder   train the embedded decoder again (an hour): DATA= the corpora, RUN= a folder to keep it in"
	@echo "make soak    kill every command that writes, a hundred times, and compare the results"
	@echo "make fuzz    feed broken and hostile inputs to every reader, 10 minutes (MINUTES=2 SEED=1 TARGET=maps)"
	@echo "make bench   print ratios against the alternatives"

$(BIN)/python:
	$(PYTHON) -m venv .venv

# torch comes first and pinned, so that no other package pulls in another build.
.venv/.demo: $(INPUTS) | $(BIN)/python
	$(PIP) torch==2.13.0
	$(PIP) ./packages/headscope-minilm ./packages/headscope-decoder --editable '.[demo]' --editable ./packages/headscope-train
	@touch $@

# BertViz without its dependencies: the tests only compare signatures with it.
.venv/.dev: .venv/.demo
	$(PIP) --editable '.[demo,dev,explore,notebook,ray]' --editable ./packages/headscope-train
	$(PIP) --no-deps bertviz==1.4.1
	@touch $@

# Half of the treebank and one model with random weights give intervals of a few points.
SHOWN = --include pca --controls 1
ENCODER = $(BIN)/headscope report $(SHOWN) --loss mlm --max-inputs 500 --out demo-report
DECODER = $(BIN)/headscope report --model headscope-decoder $(SHOWN) --include why --why-inputs 32 --loss clm --max-inputs 150 --out demo-report-decoder

# Both reports at once; the encoder's uses both cores when the decoder's has ended. Waiting threads free their core.
demo: .venv/.demo
	@OMP_WAIT_POLICY=passive $(MAKE) --no-print-directory --jobs 2 demo-encoder demo-decoder
	@echo "open $(CURDIR)/demo-report/report.html"
	@echo "and of a decoder: $(CURDIR)/demo-report-decoder/report.html"
	@echo "next, a text of your own: $(BIN)/headscope report my.txt"
	@echo "to type headscope alone:  . $(BIN)/activate"

demo-encoder: .venv/.demo
	$(ENCODER)

demo-decoder: .venv/.demo
	OMP_NUM_THREADS=1 $(DECODER) --quiet

.venv/.explore: .venv/.demo
	$(PIP) --editable '.[demo,explore]' --editable ./packages/headscope-train
	@touch $@

demo-report/report.html: | .venv/.demo
	$(ENCODER)

explore: .venv/.explore demo-report/report.html
	$(BIN)/headscope explore --study demo-report

# axe-core checks the accessibility of the pages; without npm the check is skipped.
tests/views/js/node_modules: tests/views/js/package.json
	@command -v npm >/dev/null || echo "npm is not there: the accessibility check will skip"
	@! command -v npm >/dev/null || npm install --prefix tests/views/js --no-package-lock --no-audit --no-fund --silent || true

# One process per core and one more, because tests wait for browsers and servers a quarter of the time; one thread each, so
# that processes do not wait for each other. Each process runs a part of the tests in order, so that the fixtures of a file
# are made once; a process that finishes early takes over part of the rest.
WORKERS ?= $(shell $(BIN)/python -c 'import os; print(len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else "auto")')
# Keep compiled modules, whatever the environment says: the processes and the commands that they start share them.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

# A sample of the cases, slow tests and browser tests, another one every day; make test SAMPLE=N repeats one.
# Durations: make test PYTEST_ADDOPTS=--durations=50
SAMPLE ?= $(shell date +%Y%j)
test: .venv/.dev tests/views/js/node_modules
	$(PYTEST) --sample $(SAMPLE)

test-all: .venv/.dev tests/views/js/node_modules
	$(PYTEST)

# Tests that are not marked slow, long or browser, with one case each (tests/support/quick.py). Tests of more than two
# seconds of processor time are listed at the end. TESTS="tests/app" selects files and folders.
test-quick: .venv/.dev
	$(PYTEST) --quick $(TESTS)

check: lint examples

lint: .venv/.dev
	$(BIN)/ruff format $(if $(CI),--check )src packages tests benchmarks examples
	$(BIN)/ruff check src packages tests benchmarks examples
	$(BIN)/mypy

examples: .venv/.dev
	$(PYTEST) tests/docs

docs: .venv/.dev
	$(BIN)/python docs/make/tables.py
	$(BIN)/python docs/make/statistics.py
	$(BIN)/python docs/make/api.py

# Screenshots of the demonstration's report in Chromium; PROBES=DIR names a report with probes for table 3.
demo-report-decoder/report.html: | .venv/.demo
	$(DECODER)

pictures: .venv/.dev demo-report/report.html demo-report-decoder/report.html
	$(BIN)/python docs/make/pictures.py $(if $(PROBES),--probes "$(PROBES)")

bench: .venv/.dev
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/calibration.py $(if $(QUICK),--quick)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/effect_worlds.py $(if $(QUICK),--quick)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/effects.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/selection_worlds.py $(if $(QUICK),--runs 200)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/explanation_worlds.py $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/scan_overhead.py
	$(BIN)/python benchmarks/half_precision.py
	$(BIN)/python benchmarks/placement.py --small
	$(BIN)/python benchmarks/large_model.py --layers 2 --width 512 --inputs 12
	$(BIN)/python benchmarks/long_inputs.py
	$(BIN)/python benchmarks/long_memory.py
	$(BIN)/python benchmarks/gpu.py
	$(BIN)/python benchmarks/many_heads.py --lines 24
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/explanation_speed.py
	$(BIN)/python benchmarks/precision.py
	$(BIN)/python benchmarks/against_output_attentions.py
	$(BIN)/python benchmarks/syntax_heads.py $(if $(TREEBANK),--treebank "$(TREEBANK)")
	$(BIN)/python benchmarks/head_distances.py
	$(BIN)/python benchmarks/probe_epoch.py $(if $(TREEBANK_TRAIN),--treebank "$(TREEBANK_TRAIN)")
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/whole_run.py --demo
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/start_up.py
	$(BIN)/python benchmarks/first_hour.py --installed
	$(BIN)/python benchmarks/view_pages.py
	$(BIN)/python benchmarks/view_redraw.py
	$(BIN)/python benchmarks/families.py --small
	$(BIN)/python benchmarks/code_lines.py

# 49 minutes of one core; continues after an interruption. Writes packages/headscope-decoder with its card and curve.
decoder: .venv/.dev
	@test -n "$(DATA)" -a -n "$(RUN)" || { echo "give DATA=, the folder of the corpora, and RUN=, where to train"; exit 2; }
	PATH="$(CURDIR)/$(BIN):$$PATH" OMP_NUM_THREADS=$(or $(THREADS),2) packages/headscope-decoder/recipe/train.sh "$(DATA)" "$(RUN)"
	$(BIN)/python packages/headscope-decoder/recipe/package.py "$(RUN)/run"

# Kill every command that writes, at random times and around each rename, and compare the results; half an hour.
soak: .venv/.dev
	$(BIN)/python tests/soak/run.py --kills $(or $(KILLS),100) --seed $(or $(SEED),0)

# Findings are in tests/fuzz/findings, each with the command that repeats it.
MINUTES ?= 10
SEED ?= 0
fuzz: .venv/.dev
	$(BIN)/python tests/fuzz/run.py --minutes $(MINUTES) --seed $(SEED) $(if $(TARGET),--target $(TARGET))

clean:
	rm -rf .venv tests/views/js/node_modules tests/fuzz/findings demo-report demo-report-decoder .pytest_cache .mypy_cache .ruff_cache .hypothesis
