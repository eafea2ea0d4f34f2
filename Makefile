# Every target prepares what it needs: a fresh machine with Python >= 3.11 is enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

# Tests start hundreds of commands: without bytecode each compiles the sources again.
test test-all test-part test-versions: export PYTHONDONTWRITEBYTECODE =

.PHONY: demo docs test test-all test-part test-versions lint wheel bench clean

$(BIN)/python:
	$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and f"evermix needs Python 3.11 or newer, {sys.executable} is {v}; try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade "pip>=25.1"

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install -q -e '.[cli,plot]'
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install -q --no-compile -e '.[all]' --group test --group lint
	@touch $@ $(VENV)/.demo

$(VENV)/.part: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install -q --no-compile -e '.[arrow,cli]' --group test
	@touch $@

$(VENV)/.docs: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install -q --group docs
	@touch $@

$(VENV)/.bench: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install -q -e '.[all,bench]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo        ## cluster the docstrings of Python's standard library
	$(BIN)/evermix demo

test: $(VENV)/.test        ## the fast tests, warnings are errors
	$(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder

test-all: $(VENV)/.test    ## also the slow statistical tests
	$(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder -m ''

test-part: $(VENV)/.part   ## a minute's part of the tests, marked with every_python
	$(BIN)/python -m pytest -q -p no:cacheprovider -m every_python $$(grep -rl --include='*.py' every_python tests)

test-versions: $(BIN)/python  ## test-part on every other supported Python of this machine
	$(BIN)/python .ci/versions.py $(VENV)

lint: $(VENV)/.test        ## style, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs        ## the site in site/; a warning or a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

wheel: $(BIN)/python       ## build sdist and wheel, and fit with the wheel alone, then with its command
	rm -rf dist $(VENV)-wheel
	$(BIN)/python -m pip install -q build
	mkdir dist
	$(BIN)/python -m build --outdir dist . >dist/log 2>&1 || { cat dist/log; exit 1; }
	$(BIN)/python -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/python -m pip install -q --no-compile dist/*.whl
	$(VENV)-wheel/bin/python -I -W error .ci/one_fit.py
	$(VENV)-wheel/bin/python -m pip install -q --no-compile "$$(ls dist/*.whl)[cli]"
	$(VENV)-wheel/bin/python -I -W error .ci/one_fit.py

bench: $(VENV)/.bench      ## evermix beside its peers; needs EVERMIX_DATA for real corpora
	$(BIN)/python -m benchmarks.streaming
	$(BIN)/python -m benchmarks.batch
	$(BIN)/python -m benchmarks.variational
	$(BIN)/python -m benchmarks.online
	$(BIN)/python -m benchmarks.river
	$(BIN)/python -m benchmarks.topics
	$(BIN)/python -m benchmarks.bertopic

clean:
	rm -rf $(VENV) $(VENV)-* dist site demo_output results .pytest_cache .mypy_cache .ruff_cache
