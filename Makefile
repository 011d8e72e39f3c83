# Everything a new machine needs is made by these targets: a virtual environment in .venv with the
# locked Python packages, and the engine built in release mode from the locked crates. In a new clone
# `scripts/preflight` looks at the machine first.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(HOME)/.cargo/bin:$(PATH)
# Some machines forbid Python to keep its compiled modules: every command would compile them anew, a third of its CPU time.
unexport PYTHONDONTWRITEBYTECODE
# Generated files of each kind of import that `make judge` compares.
PLANS ?= 20
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.PHONY: help setup demo test smoke test-all test-packages test-anywhere nightly pages plant fuzz soak certify judge docs wheel lint bench bench-peers lock clean
help: ## show what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# Profile of Cargo.toml in which the engine is built; `checked` is that of the tests.
PROFILE ?= release

# The engine's crates compile while the Python packages arrive; a failure shows in the build of the engine itself.
$(VENV)/.python: requirements.lock
	@scripts/preflight $(PYTHON)
	$(PYTHON) scripts/make_venv.py $(VENV)
	@cargo build --locked --quiet --profile $(PROFILE) -p towtank-engine >/dev/null 2>&1 & \
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock || \
		{ echo "error: the Python packages could not be fetched; make the registry of pip reachable, then type the same again" >&2; exit 1; }
	@touch $@

$(VENV)/.towtank: $(VENV)/.python pyproject.toml $(RUST_SOURCES)
	$(BIN)/python scripts/vega-runtime
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--config-settings=build-args="--profile $(PROFILE)" -e .
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e reference/content_server
	touch $@

setup: $(VENV)/.towtank ## install the Python packages and build the engine

demo: setup ## run the shipped study content-users in its quick preset
	$(BIN)/towtank run content-users --preset quick

# Tests marked `waits` need seconds, a server, a network of hosts or another tool; all others are the gate.
# Two workers for two cores; tests that wait leave room for a third one.
WORKERS ?= 2
WAITERS ?= 3
PYTEST = $(BIN)/python -m pytest --dist loadgroup

test: setup ## the gate, before each commit: all tests that do not wait; no root, server or network
	cargo test --workspace --locked --profile checked --quiet --lib --bins --tests
	$(PYTEST) -n $(WORKERS) -m "not waits"

smoke: setup ## each service, host and protocol is used once, a study runs from file to report; as root on Debian it installs servers
	@$(BIN)/python scripts/packages.py
	$(PYTEST) -n $(WAITERS) -m smoke --second-try

test-all: setup ## all tests, Rust and Python; as root on Debian it installs what they need
	@$(BIN)/python scripts/packages.py
	cargo test --workspace --locked --profile checked --quiet --features waits
	status=0; \
	$(PYTEST) -n $(WAITERS) -m "not alone" --second-try || status=1; \
	$(PYTEST) -n 0 -m alone --second-try || status=1; \
	exit $$status

nightly: PLANS = 200
nightly: export TOWTANK_NEW_EXAMPLES = 1
nightly: test-all test-anywhere judge pages plant fuzz ## all tests with new examples, again as on other machines and for other users, and planted faults
	TOWTANK_STUDIES=5000 TOWTANK_WORKLOADS=5000 $(BIN)/python -m pytest -n 2 \
		tests/results/test_results_any_data.py tests/workload/test_workload_agreement.py
	TOWTANK_SIZINGS=240 $(BIN)/python -m pytest -n 2 tests/size/test_size_contradictions.py
	TOWTANK_KILLS=1000 TOWTANK_FULL_DISKS=100 $(BIN)/python -m pytest -n 2 \
		tests/integration/test_integration_kills.py tests/integration/test_integration_full_disks.py

test-packages: ## as root: install what some tests need, of scripts/packages.txt
	@$(BIN)/python scripts/packages.py

test-anywhere: setup ## the suite as on other machines and for other users; VARIATION="NAME NAME+NAME ..." chooses, EVERYTHING=1 runs all of it
	$(BIN)/python scripts/test_anywhere.py $(VARIATION) $(if $(EVERYTHING),--everything)

pages: setup ## every command of README, docs, examples and studies as it stands; some two hours, as root, on a quiet machine
	TOWTANK_PAGES=nightly $(BIN)/python -m pytest tests/docs/test_docs_commands.py

certify: setup ## measure what is known, beside what Towtank shows of it, and write docs/certification.md
	TOWTANK_CERTIFICATION=$(CURDIR)/docs/certification.md TOWTANK_CERTIFY=500 TOWTANK_GRID=600 TOWTANK_STATIONS=400 TOWTANK_NETWORKS=200 TOWTANK_RETURNS=200 TOWTANK_CLOSED=400 \
		$(BIN)/python -m pytest -m certify tests/certified tests/integration tests/model tests/results tests/size tests/system/hosts

judge: setup ## run JMeter (from Maven) and k6 (built by Go) beside imports of their files, PLANS=20 generated ones each, and `towtank judge` on result files of all tools
	scripts/import-keys --jmeter $(CURDIR)/$(VENV)/jmeter
	scripts/import-keys --k6 $(CURDIR)/$(VENV)/k6
	TOWTANK_JMETER=$(CURDIR)/$(VENV)/jmeter TOWTANK_K6=$(CURDIR)/$(VENV)/k6 TOWTANK_PLANS=$(PLANS) \
		$(BIN)/python -m pytest tests/workload/importers/judged_by_*.py tests/workload/importers/test_importers_judged_by_*.py tests/workload/importers/test_importers_generated.py tests/foreign/judged_by_tools.py

# Faults per night in Python and in Rust; each takes some seconds of tests.
PLANT_PYTHON ?= 100
PLANT_RUST ?= 30
plant: setup ## plant single faults into what states numbers, another sample each day, and report what no test notices
	@status=0; $(BIN)/python scripts/plant --size $(PLANT_PYTHON) || status=1; \
		$(BIN)/python scripts/plant --rust --size $(PLANT_RUST) || status=1; exit $$status

# Minutes in all; each of nine readers in Rust has a twelfth of them, those in Python the rest, at 60 inputs a second.
MINUTES ?= 10
fuzz: export TOWTANK_NEW_EXAMPLES = 1
fuzz: setup ## damaged inputs for all that reads from outside, others each day; MINUTES=10 in all
	export TOWTANK_FUZZ_S=$$(( $(MINUTES) * 5 )) TOWTANK_FUZZ_SEED=$$(date +%Y%m%d); \
		cargo test --locked --profile checked --quiet -p towtank-load -p towtank-queueing --test damaged -- --test-threads 1 && \
		cargo test --locked --profile checked --quiet -p towtank-drivers --lib no_bytes_make_it_panic -- --test-threads 1
	TOWTANK_EXAMPLES=$$(( $(MINUTES) * 45 )) $(BIN)/python -m pytest -n 2 tests/units/test_units_damaged_inputs.py

soak: setup ## as root: a load of hours, with memory and open files of every process of ours flat; MINUTES=180
	$(BIN)/python scripts/soak --minutes $(if $(filter file default,$(origin MINUTES)),180,$(MINUTES))

docs: setup ## build the documentation site in target/site, without network, and check its links
	$(BIN)/python scripts/site

wheel: setup ## build the wheel and the source archive in target/dist
	$(BIN)/python scripts/wheel --sdist

lint: setup ## formatting, lints, types, schemas up to date, plain English
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features waits --locked --profile checked -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python scripts/stale_tests.py
	$(BIN)/python scripts/schemas --check
	$(BIN)/python scripts/figures --check
	$(BIN)/python scripts/words
	$(BIN)/python scripts/ratchet
	$(BIN)/lint-imports --no-cache --no-logo 2>/dev/null || $(BIN)/lint-imports --no-cache

bench: bench-peers ## install the peers that are missing, then speed and accuracy of the load engine beside them
	$(BIN)/python benches --quick

bench-peers: setup ## install the peers of the benches, those of Debian where allowed, the others into .venv/benches
	$(BIN)/python benches/install_peers.py

lock: $(VENV)/.python ## resolve the Python packages anew
	scripts/lock

clean: ## remove what was built
	rm -rf $(VENV) target
