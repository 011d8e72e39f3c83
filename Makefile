# Everything a new machine needs is made by these targets: a virtual environment in .venv with the
# locked Python packages, and the engine built in release mode from the locked crates.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(HOME)/.cargo/bin:$(PATH)
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.PHONY: help setup demo test lint bench bench-peers docs lock clean
help: ## show what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/.python: requirements.lock
	$(PYTHON) scripts/make_venv.py $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $@

$(VENV)/.towtank: $(VENV)/.python pyproject.toml $(RUST_SOURCES)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e reference/content_server
	touch $@

setup: $(VENV)/.towtank ## install the Python packages and build the engine

demo: setup ## run the shipped study content-users in its quick preset
	$(BIN)/towtank run content-users --preset quick

test: setup ## all tests, Rust and Python
	cargo test --workspace --locked --profile checked --quiet
	$(BIN)/python -m pytest -n 2 --dist loadgroup

lint: setup ## formatting, lints, types, schemas up to date
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --profile checked -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python scripts/schemas --check
	$(BIN)/python scripts/figures --check

bench: bench-peers ## install the peers that are missing, then speed and accuracy of the load engine beside them
	$(BIN)/python benches --quick

bench-peers: setup ## install the peers of the benches, those of Debian where allowed, the others into .venv/benches
	$(BIN)/python benches/install_peers.py

lock: $(VENV)/.python ## resolve the Python packages anew
	scripts/lock

clean: ## remove what was built
	rm -rf $(VENV) target
