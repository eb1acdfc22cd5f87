# Every target starts from nothing: it makes .venv, installs the pinned tools and
# builds the library as needed. Needed on the machine: Go (see go.mod), gcc,
# Python 3.10 or newer with venv.

PYTHON ?= python3
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
VERL := .work/verl
LIB := python/rankbuffer/_lib/librankbuffer.so
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

GO_SOURCES := go.mod go.sum $(shell find core capi build -type f \
	! -name '*_test.go' ! -path '*/testdata/*' ! -path '*/__pycache__/*')
PY_DIRS := python tests build setup.py

.PHONY: all build demo test test-go test-python test-verl lint lint-go lint-python wheel bench clean

all: $(LIB) $(VENV)/.ready

build: $(LIB)

# RankBuffer on the sample that comes with it: one query's buffer as it grows.
demo: all
	$(BIN)/rankbuffer demo

test: test-go test-python

test-go:
	go vet ./...
	go test -race ./...

# tests/abi compiles and runs the C program, tests/wheel builds a wheel.
# tests/verl/stack needs verl itself, which this environment is without. Of tests/trl
# and tests/python/test_prepare.py it leaves out what needs TRL, torch or pyarrow.
test-python: all
	$(BIN)/python -m pytest $(PYTEST_ARGS) --ignore tests/verl/stack tests

# The wheel in stock verl and TRL, both on CPU, in an environment of their own.
# Installs 0.9 GB; 15 to 30 minutes in all on 2 cores.
test-verl: $(VERL)/.ready $(VENV)/.ready
	rm -rf .work/verl-wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir .work/verl-wheel .
	$(VERL)/bin/python -m pip install --quiet --no-deps --force-reinstall .work/verl-wheel/*.whl
	$(VERL)/bin/python -m pytest -c tests/verl/stack/pytest.ini $(PYTEST_ARGS) tests/verl/unit \
		tests/trl tests/python/test_prepare.py tests/python/test_loop.py
	$(VERL)/bin/python -m pytest -c tests/verl/stack/pytest.ini $(PYTEST_ARGS) -s tests/verl/stack

$(VERL)/.ready: tests/verl/install/install.sh tests/verl/install/alone.txt \
		tests/verl/install/with_dependencies.txt tests/verl/install/cuda_stubs.py
	rm -rf $(VERL)
	tests/verl/install/install.sh $(VERL)
	touch $@

lint: lint-go lint-python

lint-go:
	@unformatted=$$(go run cmd/gofmt -l core capi tests); \
	if [ -n "$$unformatted" ]; then echo "gofmt -w these:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...

lint-python: $(VENV)/.ready
	$(BIN)/ruff check $(PY_DIRS)
	$(BIN)/ruff format --check $(PY_DIRS)
	$(BIN)/mypy --strict python/rankbuffer

# dist/rankbuffer-*-py3-none-*.whl
wheel: $(VENV)/.ready
	$(BIN)/python -m pip wheel --no-deps --wheel-dir dist .

# Prints ratios; see tests/bench/README.md.
bench: all
	for method in rankbuffer scr pairwise agr tournament arena pointwise listwise; do \
		$(BIN)/python tests/bench/step.py --method $$method || exit 1; done
	$(BIN)/python tests/bench/gil.py
	$(BIN)/python tests/bench/snapshot.py

clean:
	rm -rf $(VENV) .work dist python/rankbuffer/_lib python/*.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache
	find python tests build -name __pycache__ -type d -prune -exec rm -rf {} +

$(LIB): $(GO_SOURCES) python/rankbuffer/_version.py
	$(PYTHON) build/gobuild.py -o $@

# Editable, so that the sources are what runs; the library it builds is $(LIB).
$(VENV)/.ready: pyproject.toml setup.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@
