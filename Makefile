# Everything sets itself up: `make demo` and `make test` need Python >= 3.11, make and a C
# compiler. Another interpreter: make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON ?= python3
VENV ?= .venv
FLOOR_VENV ?= .venv-floor
ENGINES_VENV ?= .venv-engines
RELEASE_VENV ?= .venv-release
CROSS_VENV ?= .venv-cross
# For pytest, e.g. make test ARGS="tests/test_graph.py -n 0 -x"
ARGS ?=
NAME ?=
# Of make fuzz and make test-random: examples of each test, how many times as many cases as usual,
# and what they are drawn from. A failure prints its seed; the same seed gives the same cases.
EXAMPLES ?= 20000
TIMES ?= 10
SANITIZED_EXAMPLES ?= 100
ifndef SEED
SEED := $(shell date +%s)
endif

# The oldest releases that the package promises to work with. scikit-learn before 1.9 does not see the
# names of columns of polars 2.
FLOOR = numpy==2.0.* scipy==1.13.* scikit-learn==1.6.* pandas==2.2.* matplotlib==3.9.* polars==1.*

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
KERNELS := $(wildcard $(foreach suffix,pyx pxd h,skchmm/_kernels/*/*.$(suffix)))

# Prints what pyproject.toml asks for: to build, to run, and in the extras named after it.
REQUIREMENTS := $(BIN)/python -c 'import sys, tomllib; \
  p = tomllib.load(open("pyproject.toml", "rb")); extras = p["project"]["optional-dependencies"]; \
  print(*p["build-system"]["requires"], *p["project"]["dependencies"], \
  *[each for name in sys.argv[1:] for each in extras[name]], sep="\n")'
JOBS := $(or $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null),2)
SITE_PACKAGES := 'import sysconfig; print(sysconfig.get_path("purelib"))'

# One process per core, so BLAS and OpenMP need no threads of their own; the processes must agree on
# the names of tests, and so on the order in which a set prints.
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONHASHSEED=0

.PHONY: help demo test test-floor test-engines test-pythons test-stress fuzz test-random sanitize lint format bench paper \
  doc doc-check wheel sdist wheels cross test-arm64 test-windows check-project check-dist check-release build clean
.DELETE_ON_ERROR:

help:
	@echo "make demo        label genes of the fruit fly without and with rules; writes demo.png"
	@echo "make test        all tests, the code in README and docs included"
	@echo "make test-floor  the same with the oldest supported numpy, scipy and scikit-learn"
	@echo "make test-engines  search, prediction and learning on Dask, Ray and Spark (which needs Java)"
	@echo "make test-pythons  on each Python from 3.11 to 3.14 that is here, and threads on 3.14t"
	@echo "make fuzz        wrong input of every kind for hours; fewer: make fuzz EXAMPLES=1000"
	@echo "make test-random the random tests with fresh cases, TIMES=10 times as many, from SEED="
	@echo "make sanitize    kernels under sanitizers of memory, undefined behaviour and threads"
	@echo "make lint        ruff, cython-lint and mypy  make format  let ruff rewrite"
	@echo "make bench       speed side by side with other libraries"
	@echo "make paper       the experiments of the paper, some by NAME=\"fly har\""
	@echo "make doc         doc/_build/html/index.html"
	@echo "make doc-check   the same, and looks at every page in headless Chromium, if there is one"
	@echo "make wheel, make sdist, make clean; make wheels  for this system, each Python (cibuildwheel)"
	@echo "make cross       compile for ARM, Windows and macOS  make test-arm64  and run on an emulator"
	@echo "make test-windows  run by wine, with WINDOWS_PYTHON= a folder with Python for Windows"
	@echo "make check-release  all that has to be right before a release; see RELEASING.rst"

# ------------------------------------------------------------------ set-up
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo \
	  "$(PYTHON) is missing or older than 3.11; name another one: make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The checkout itself goes on the path, and setup.py builds the kernels in it: unlike pip's
# editable install it compiles only those that changed.
$(VENV)/.run-packages: pyproject.toml | $(BIN)/python
	$(REQUIREMENTS) plot > $(VENV)/requirements.txt
	$(PIP) install -q -r $(VENV)/requirements.txt
	echo "$(CURDIR)" > $$($(BIN)/python -c $(SITE_PACKAGES))/skchmm-checkout.pth
	@touch $@

$(VENV)/.packages: $(VENV)/.run-packages
	$(REQUIREMENTS) test lint > $(VENV)/test-requirements.txt
	$(PIP) install -q -r $(VENV)/test-requirements.txt
	@touch $@

$(VENV)/.kernels: $(VENV)/.run-packages setup.py $(KERNELS)
	@echo "building the kernels (the first time: about a minute on two cores)"
	@SKCHMM_BUILD_JOBS=$(JOBS) $(BIN)/python setup.py build_ext --inplace -j $(JOBS) > $(VENV)/build.log 2>&1 \
	  || { cat $(VENV)/build.log >&2; exit 1; }
	@touch $@

$(VENV)/.doc-packages: $(VENV)/.run-packages
	$(REQUIREMENTS) doc > $(VENV)/doc-requirements.txt
	$(PIP) install -q -r $(VENV)/doc-requirements.txt
	@touch $@

build: $(VENV)/.kernels

# -------------------------------------------------------------------- use
demo: $(VENV)/.kernels
	$(BIN)/python examples/plot_genes.py demo.png

test: $(VENV)/.kernels $(VENV)/.packages
	$(TEST_ENV) $(BIN)/python -m pytest -n auto $(ARGS)

$(FLOOR_VENV)/.packages: pyproject.toml Makefile | $(VENV)/.kernels
	$(PYTHON) -m venv $(FLOOR_VENV)
	$(REQUIREMENTS) test > $(FLOOR_VENV)/requirements.txt
	$(FLOOR_VENV)/bin/python -m pip install -q -r $(FLOOR_VENV)/requirements.txt $(FLOOR)
	@touch $@

# The kernels built above are used: numpy's C API is upward and downward compatible from 2.0 on.
# Old releases warn of their own age, so warnings are not errors here.
test-floor: $(FLOOR_VENV)/.packages $(VENV)/.kernels
	$(TEST_ENV) $(FLOOR_VENV)/bin/python -m pytest -n auto -W default $(ARGS)

$(ENGINES_VENV)/.packages: pyproject.toml Makefile | $(VENV)/.kernels
	$(PYTHON) -m venv $(ENGINES_VENV)
	$(REQUIREMENTS) test engines > $(ENGINES_VENV)/requirements.txt
	$(ENGINES_VENV)/bin/python -m pip install -q -r $(ENGINES_VENV)/requirements.txt
	echo "$(CURDIR)" > $$($(ENGINES_VENV)/bin/python -c $(SITE_PACKAGES))/skchmm-checkout.pth
	@touch $@

# Engines start processes of their own, so tests run one after the other. They warn a lot.
test-engines: $(ENGINES_VENV)/.packages $(VENV)/.kernels
	@command -v java > /dev/null || echo "there is no Java: the tests of Spark are skipped"
	$(TEST_ENV) $(ENGINES_VENV)/bin/python -m pytest -W default tests/engines tests/datasets/test_tables.py $(ARGS)

# Each in an environment of its own, with the newest numpy and scipy that it can have; the one without
# a global lock under many threads.
test-pythons:
	@failed=; for python in $$(.ci/pythons); do \
	  name=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	  echo "Python $$name: $$python"; \
	  $(MAKE) test PYTHON=$$python VENV=.venv-$$name || failed="$$failed $$name"; \
	done; \
	for python in $$(.ci/pythons --free-threaded); do \
	  echo "Python 3.14t: $$python"; \
	  $(MAKE) test-stress PYTHON=$$python VENV=.venv-3.14t ARGS= || failed="$$failed 3.14t"; \
	done; \
	[ -z "$$failed" ] || { echo "failed on Python$$failed" >&2; exit 1; }

# Few packages, so that it can run on a Python for which others have no wheels yet.
test-stress: $(VENV)/.kernels
	$(PIP) install -q pytest hypothesis
	$(TEST_ENV) $(BIN)/python -m pytest tests/inference/test_stress.py $(ARGS)

fuzz: $(VENV)/.kernels $(VENV)/.packages
	@echo "replay with: make fuzz SEED=$(SEED) EXAMPLES=$(EXAMPLES)"
	SKCHMM_FUZZ_EXAMPLES=$(EXAMPLES) $(TEST_ENV) $(BIN)/python -X faulthandler -m pytest -n auto \
	  --hypothesis-seed=$(SEED) tests/fuzz $(ARGS)

test-random: $(VENV)/.kernels $(VENV)/.packages
	@echo "replay with: make test-random SEED=$(SEED) TIMES=$(TIMES)"
	SKCHMM_RANDOM_TIMES=$(TIMES) $(TEST_ENV) $(BIN)/python -m pytest -n auto -m hypothesis \
	  --hypothesis-seed=$(SEED) tests --ignore=tests/fuzz $(ARGS)

# In a copy, so that the kernels here stay as they are.
sanitize: $(VENV)/.kernels $(VENV)/.packages
	.ci/sanitize $(BIN)/python $(SANITIZED_EXAMPLES)

# All of them, then the verdict. cython-lint calls pycodestyle by name.
lint: $(VENV)/.packages
	@failed=; export PATH="$(abspath $(BIN)):$$PATH"; \
	for check in "ruff check ." "ruff format --check ." "cython-lint skchmm" \
	  "mypy skchmm"; do \
	  echo "$$check"; $$check || failed="$$failed [$$check]"; \
	done; \
	[ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

format: $(VENV)/.packages
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.kernels $(VENV)/.packages
	$(BIN)/python -m benchmarks.peers $(ARGS)

paper: $(VENV)/.kernels $(VENV)/.packages
	$(BIN)/python -m benchmarks.paper $(NAME) $(ARGS)

doc: $(VENV)/.kernels $(VENV)/.doc-packages
	$(BIN)/python -m sphinx $(FRESH) -q -W --keep-going -b html doc doc/_build/html
	@echo "doc/_build/html/index.html"

# Pages are opened in Chromium (Debian: apt-get install chromium); see doc/check.py. All are written
# anew: where Sphinx writes only those that changed, the search forgets index entries of the others.
doc-check: FRESH = -E
doc-check: doc
	$(BIN)/python doc/check.py doc/_build/html

wheel sdist: | $(BIN)/python
	$(PIP) install -q build
	$(BIN)/python -m build --$@

wheels: | $(BIN)/python
	$(PIP) install -q "cibuildwheel>=3.1"
	$(BIN)/python -m cibuildwheel --output-dir dist

# ----------------------------------------------------------- other systems
$(CROSS_VENV)/.packages: pyproject.toml | $(VENV)/.kernels
	$(PYTHON) -m venv $(CROSS_VENV)
	$(REQUIREMENTS) cross > $(CROSS_VENV)/requirements.txt
	$(CROSS_VENV)/bin/python -m pip install -q -r $(CROSS_VENV)/requirements.txt
	@touch $@

# Some of them: make cross ARGS=aarch64-macos
cross: $(CROSS_VENV)/.packages $(VENV)/.kernels
	$(CROSS_VENV)/bin/python .ci/cross.py $(ARGS)
	$(CROSS_VENV)/bin/python .ci/msvc.py

# On Debian, by qemu; about ten minutes, besides what is compiled and installed the first time.
test-arm64: $(CROSS_VENV)/.packages $(VENV)/.kernels
	$(CROSS_VENV)/bin/python .ci/cross.py aarch64-linux-gnu.2.28
	.ci/arm64 $(CROSS_VENV)/bin/python $(ARGS)

# By wine, with the embeddable package of Python for Windows in a folder:
# make test-windows WINDOWS_PYTHON=python-3.11.9-embed-amd64
test-windows: $(CROSS_VENV)/.packages $(VENV)/.kernels
	$(CROSS_VENV)/bin/python .ci/cross.py x86_64-windows-gnu
	$(CROSS_VENV)/bin/python .ci/wine.py $(WINDOWS_PYTHON) $(ARGS)

# ----------------------------------------------------------------- release
$(RELEASE_VENV)/.packages: pyproject.toml | $(BIN)/python
	$(PYTHON) -m venv $(RELEASE_VENV)
	$(REQUIREMENTS) release > $(RELEASE_VENV)/requirements.txt
	$(RELEASE_VENV)/bin/python -m pip install -q -r $(RELEASE_VENV)/requirements.txt
	@touch $@

check-project: $(RELEASE_VENV)/.packages
	$(RELEASE_VENV)/bin/python .ci/project.py

check-dist: $(RELEASE_VENV)/.packages
	.ci/dist $(RELEASE_VENV)/bin/python $(PYTHON) $(ARGS)

# One after the other: each uses all cores. Random tests and fuzzer run where the wheel is tested, or
# by targets of their own.
check-release:
	$(MAKE) lint
	$(MAKE) check-project
	$(MAKE) doc
	$(MAKE) test-floor ARGS="--ignore=tests/fuzz -m 'not hypothesis'"
	$(MAKE) check-dist
	@echo "all is right for a release"

# Leaves virtual environments and what git tracks.
clean:
	rm -rf build dist *.egg-info doc/_build doc/api/generated doc/auto_examples demo.png
	rm -f skchmm/_kernels/made_with.txt skchmm/_kernels/*.c skchmm/_kernels/*.so skchmm/_kernels/*/*.c skchmm/_kernels/*/*.so
	rm -f $(VENV)/.kernels
