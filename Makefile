# Every target works alone on a fresh clone: the first one that runs creates .venv and installs into it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help demo test test-all lint format clean

help:
	@echo "make demo      train a small agent and compare it with six heuristics (minutes, CPU only)"
	@echo "make test      the fast tests"
	@echo "make test-all  every test, the slow ones included"
	@echo "make lint      ruff and mypy"
	@echo "make format    let ruff rewrite what it can"
	@echo "make clean     remove .venv and build outputs"

# constraints.txt pins the tested versions (of torch above all, whose newest builds are gigabytes).
$(INSTALLED): setup.cfg pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[agents,tune,dev]'
	touch $@

demo: $(INSTALLED)
	$(BIN)/ssdgym demo

test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 -m 'not slow'

test-all: $(INSTALLED)
	$(BIN)/python -m pytest -n 2

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
