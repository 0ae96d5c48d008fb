# Every target makes .venv and installs what it needs; a second call finds that done.

PYTHON ?= python3
JOBS ?= 2
VENV := .venv
RUN := $(VENV)/bin/python
SOURCES := gbrank tests benchmarks docs notebooks/execute.py
# numba's cache does not see that a kernel called from another file has changed, so its folder
# carries a checksum of all sources (the tests do the same).
CACHE = $(CURDIR)/.numba_cache/$(shell find gbrank -name '*.py' | LC_ALL=C sort | xargs cat | cksum | cut -d ' ' -f 1)

.PHONY: help demo test test-all check-install lint format bench docs results notebooks wheel clean
.SECONDARY:

help:
	@echo "make demo      Ranker() next to LightGBM as labels get noisier: a table, a picture, a report"
	@echo "make test      lint, types and all tests but the slow ones"
	@echo "make test-all  the slow tests too"
	@echo "make lint      ruff, mypy and the levels of the folders"
	@echo "make check-install  build, and try the wheel with the oldest and newest dependencies"
	@echo "make format    let ruff rewrite the files"
	@echo "make bench     speed against LightGBM, all parts, and their tables in the documentation"
	@echo "make docs      build the documentation, without network access; warnings are errors"
	@echo "make results   write the pages of benchmarks/results again from the trials kept there"
	@echo "make notebooks  run the notebooks and write their outputs into them"
	@echo "make wheel     build a wheel, try it in an empty environment"
	@echo "make clean     delete .venv and everything that was built"

demo: $(VENV)/.installed-plot
	NUMBA_CACHE_DIR=$(CACHE) $(RUN) -m gbrank noise run demo --jobs $(JOBS) --out demo

test: lint $(VENV)/.installed-test
	$(RUN) -m pytest -n $(JOBS) --dist worksteal --cov --cov-report=term-missing:skip-covered

test-all: lint $(VENV)/.installed-test
	GBRANK_FUZZ_EXAMPLES=1000 $(RUN) -m pytest -n $(JOBS) --dist worksteal -m "slow or not slow"

check-install:
	PYTHON=$(PYTHON) .ci/check-install

lint: $(VENV)/.installed-lint
	$(RUN) -m ruff check $(SOURCES)
	$(RUN) -m ruff format --check $(SOURCES)
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports --no-logo
	$(RUN) -m pylint --rcfile=pyproject.toml gbrank
	$(VENV)/bin/codespell

format: $(VENV)/.installed-lint
	$(RUN) -m ruff check --fix $(SOURCES)
	$(RUN) -m ruff format $(SOURCES)

bench: $(VENV)/.installed-bench
	NUMBA_CACHE_DIR=$(CACHE) $(RUN) benchmarks/speed.py --json benchmarks/results/speed.json
	NUMBA_CACHE_DIR=$(CACHE) $(RUN) benchmarks/page_numbers.py

docs: $(VENV)/.installed-docs
	NUMBA_CACHE_DIR=$(CACHE) $(RUN) -m sphinx -W --keep-going -q docs docs/_build/html
	@echo "open docs/_build/html/index.html"

results: $(VENV)/.installed-plot
	NUMBA_CACHE_DIR=$(CACHE) $(RUN) benchmarks/write_results.py
	NUMBA_CACHE_DIR=$(CACHE) $(RUN) benchmarks/page_numbers.py

notebooks: $(VENV)/.installed-notebooks
	NUMBA_CACHE_DIR=$(CACHE) $(RUN) notebooks/execute.py

wheel: $(VENV)/.installed-test
	$(RUN) -m pytest tests/test_wheel.py -m slow -rA

clean:
	rm -rf $(VENV) build dist demo docs/_build docs/benchmarks/results docs/notebooks docs/reference/generated *.egg-info .numba_cache .hypothesis .pytest_cache .mypy_cache .ruff_cache
	find gbrank tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp per extra of pyproject.toml, older than it when dependencies may have changed.
$(VENV)/.installed-%: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --quiet --editable ".[$*]"
	@touch $@

$(RUN):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "gbrank needs Python >= 3.11; name one with: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
