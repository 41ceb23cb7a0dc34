# Every target works alone on a fresh clone: the first one that runs creates .venv and installs into it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := build/lowest
RELEASE := build/release
INSTALLED := $(VENV)/.installed
DOCS_INSTALLED := $(VENV)/.docs-installed
# Tests start many processes, which would compile all sources again.
export PYTHONDONTWRITEBYTECODE :=
PIP_INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt

.PHONY: help demo test test-all test-lowest lint docs figures check format clean

help:
	@echo "make demo         watch a placement learn, train PPO, compare with heuristics (7 minutes with the installation, then 3.5; CPU only)"
	@echo "make test         the fast tests (15 minutes on two cores)"
	@echo "make test-all     every test, the slow ones included"
	@echo "make test-lowest  the fast tests with the lowest declared versions of all dependencies"
	@echo "make lint         ruff, codespell and mypy"
	@echo "make docs         build the documentation in build/site; a warning is an error"
	@echo "make figures      draw the pictures of README and pages anew; what needs measurements, from results/ if there"
	@echo "make check        lint, docs and test: what a change has to pass"
	@echo "make release      sdist and wheel in dist, checked, and tried without the repository and extras"
	@echo "make format       let ruff rewrite what it can"
	@echo "make clean        remove .venv and build outputs"

# constraints.txt pins the tested versions (of torch above all, whose newest builds are gigabytes).
$(INSTALLED): setup.cfg pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) --editable '.[agents,tune,dev]'
	touch $@

$(DOCS_INSTALLED): $(INSTALLED)
	$(PIP_INSTALL) --editable '.[docs]'
	touch $@

demo: $(INSTALLED)
	$(BIN)/ssdgym demo

# Compiled beforehand, so that processes of tests do not compile the same at the same time. An engine that loops for
# ever obeys no signal: its process is ended, and the test named.
test: $(INSTALLED)
	$(BIN)/ssdgym doctor --compile
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow' --timeout 600 --timeout-method thread

test-all: $(INSTALLED)
	$(BIN)/ssdgym doctor --compile
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Torch is the pinned one: other builds are gigabytes.
test-lowest:
	$(PYTHON) -m venv --clear $(LOWEST)
	sed -nE 's/^    ([A-Za-z0-9._-]+)(\[[a-z]+\])?>=([0-9.]+).*/\1==\3/p' setup.cfg | grep -v '^torch==' > $(LOWEST)/constraints.txt
	grep '^torch==' constraints.txt >> $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt --editable '.[agents,tune,dev]'
	$(LOWEST)/bin/ssdgym doctor --compile
	$(LOWEST)/bin/python -m pytest -n 2 --dist worksteal -m 'not slow' --timeout 600 --timeout-method thread

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/python -m tests.prose
	$(BIN)/mypy

# NO_MKDOCS_2_WARNING silences an announcement that mkdocs-material prints at every build.
docs: $(DOCS_INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# A minute. Curves of training are drawn where results/ has the runs, which take an hour; step.svg is a measurement:
# `python docs/examples/step_time.py --out docs/pictures/step.svg` on a quiet machine.
figures: $(INSTALLED)
	$(BIN)/python docs/examples/environments.py
	$(BIN)/python docs/examples/house.py
	for page in speedupgc ippbe block-size subftl pen; do \
	  $(BIN)/python docs/examples/claims.py docs/reproductions/$$page.md --out docs/pictures/$$page.svg || exit 1; \
	done
	$(BIN)/python docs/examples/ageing.py --out docs/pictures/ippbe-ageing.svg
	$(BIN)/python docs/examples/demo_picture.py --out docs/pictures
	$(BIN)/python docs/examples/td_lifetime.py --out docs/pictures/td_lifetime.svg
	$(BIN)/python docs/examples/credit_curves.py
	$(BIN)/python docs/examples/search_settings.py
	$(BIN)/python docs/examples/tuned.py
	$(BIN)/python docs/examples/standings.py
	if test -d results/learning; then \
	  $(BIN)/python docs/examples/learning_curves.py && cp results/learning/learning.svg docs/pictures/; \
	fi
	if test -d results/improving; then \
	  $(BIN)/python docs/examples/improve_on_heuristics.py && cp results/improving/improving.svg docs/pictures/; \
	fi

check: lint docs test

# The wheel is built from the sdist, and used where nothing of the repository is.
release:
	rm -rf dist $(RELEASE)
	$(PYTHON) -m venv $(RELEASE)/tools
	$(RELEASE)/tools/bin/python -m pip install --quiet build twine
	$(RELEASE)/tools/bin/python -m build
	$(RELEASE)/tools/bin/python -m twine check --strict dist/*
	$(PYTHON) -m venv $(RELEASE)/tried
	$(RELEASE)/tried/bin/python -m pip install --quiet --constraint constraints.txt dist/*.whl
	cd $(RELEASE)/tried && bin/ssdgym --version
	cd $(RELEASE)/tried && bin/ssdgym run --device tiny --host-pages 2000 --timing none
	cd $(RELEASE)/tried && bin/ssdgym zoo watch --decisions 5 --env-arg device=tiny

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
