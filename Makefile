# The project's commands. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
export CARGO_TARGET_DIR ?= $(CURDIR)/target

# Every build selects the whole workspace, because the features of a selected package differ and cargo would
# compile the dependencies again.
CARGO_ALL := --workspace --locked
XTASK := $(CARGO_TARGET_DIR)/debug/xtask
# The web UI is a separate workspace with a separate target folder.
export DROVER_UI_TARGET ?= $(CARGO_TARGET_DIR)/ui
UI_CARGO := cd frontend && export CARGO_TARGET_DIR=$(DROVER_UI_TARGET) && cargo
UI_BUNDLE := run --quiet --locked --package drover-ui-bundle --
# Builds the programs as for a release, and runs a bench.
BENCH := .ci/install bench; cargo build $(CARGO_ALL) --bin xtask; $(XTASK) bench
# The runner of the suites of `make check` and `make test`, which ci/src/suites.rs declares.
SUITES := cargo run --quiet --locked --package drover-ci --

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## Start the server with three simulated clusters and print the address and password (without root)
	@.ci/install run
	@.ci/demonstration

.PHONY: ui
ui: ## Build the web UI into frontend/dist for the server's build (DEV=1: fast build)
	@.ci/install run
	@$(UI_CARGO) $(UI_BUNDLE) $(if $(DEV),--dev)

.PHONY: check
check: ## Check format, lints, licences, documentation and the repository's rules
	@.ci/install check
	@$(SUITES) check

.PHONY: test
test: ## Run all tests: unit tests, fuzz corpora, real Kubernetes, real browser
	@.ci/install test
	@$(SUITES) test

.PHONY: suites
suites: ## Run suites and the suites that they need (NAMES='unit e2e'), or list all suites
	@.ci/install check test
	@$(SUITES) $(or $(NAMES),list)

.PHONY: conformance
conformance: ## Compare the embedded API with kube-apiserver: the same requests to both (SCRIPTS=FOLDER: own scripts)
	@.ci/install test
	@cargo test $(CARGO_ALL) --test conformance -- $(if $(SCRIPTS),--scripts $(abspath $(SCRIPTS))) $(NAMES)

.PHONY: conformance-table
conformance-table: ## Write e2e/conformance/COVERAGE.md from the features that the scripts declare
	@cargo test $(CARGO_ALL) --test conformance -- --write-table

.PHONY: instructions
instructions: ## Count the instructions of hot paths with valgrind (ACCEPT=1: accept the new counts)
	@.ci/install test
	@cargo build $(CARGO_ALL) --bin xtask
	@$(XTASK) instructions $(if $(ACCEPT),--accept)

.PHONY: weaken
weaken: ## Mutation tests: remove each defence; only the named test must fail (takes hours)
	@.ci/install test
	@cargo build $(CARGO_ALL) --bins
	@$(XTASK) weaken

.PHONY: compat-fleet
compat-fleet: ## Deploy bundles with Fleet's own agent at both hubs, and with Drover's agent at Fleet's own controllers (builds Fleet; not in CI)
	@.ci/install test
	@cargo build $(CARGO_ALL) --bins
	@$(XTASK) compat-fleet
	@DROVER_TEST_HUB=embedded $(XTASK) compat-fleet --only fleet-agent

.PHONY: pictures
pictures: ## Take the pictures of README.md from the demonstration in a real browser
	@.ci/install test
	@$(UI_CARGO) $(UI_BUNDLE)
	@cargo build $(CARGO_ALL) --bins
	@$(XTASK) pictures

.PHONY: bench
bench: bench-programs bench-proxy bench-hub bench-scale bench-failover bench-gitops bench-access bench-ui ## Run all benches with new programs

.PHONY: bench-programs
bench-programs: ## Record a new profile for the compiler, and build the programs of the benches
	@$(BENCH) --record

.PHONY: bench-proxy
bench-proxy: ## Proxied requests: added latency, throughput, stalled readers, memory
	@$(BENCH) proxy

.PHONY: bench-hub
bench-hub: ## Embedded hub compared with kube-apiserver and etcd: writes, reads, watches, memory, start
	@$(BENCH) hub

.PHONY: bench-scale
bench-scale: ## One server with 5,000 clusters: memory per cluster, reconnection after a crash, latency
	@$(BENCH) scale

.PHONY: bench-failover
bench-failover: ## Node agents: takeover after faults of the agent, memory, token reviews
	@$(BENCH) failover

.PHONY: bench-gitops
bench-gitops: ## Bundles: time until they are ready on real and simulated clusters, requests, memory of agents
	@$(BENCH) gitops

.PHONY: bench-access
bench-access: ## Authorization with 10,000 users and 50,000 bindings: decision time, memory, sync to 200 clusters
	@$(BENCH) access

.PHONY: bench-ui
bench-ui: ## Web UI in a browser: bytes, cold and warm load, 2,000 clusters, 10,000 pods
	@.ci/install test
	@$(UI_CARGO) $(UI_BUNDLE)
	@$(BENCH) ui
