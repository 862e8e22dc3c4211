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
UI_WASM := --locked --workspace --exclude drover-ui-bundle --target wasm32-unknown-unknown
UI_NATIVE := --locked --package drover-ui-bundle

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## Start the server with three simulated clusters and print the address and password (without root)
	@.ci/install run
	@$(UI_CARGO) $(UI_BUNDLE)
	@cargo build $(CARGO_ALL) --bins
	@$(XTASK) demo

.PHONY: ui
ui: ## Build the web UI into frontend/dist for the server's build (DEV=1: fast build)
	@.ci/install run
	@$(UI_CARGO) $(UI_BUNDLE) $(if $(DEV),--dev)

.PHONY: check
check: ## Check format, lints, licences, documentation and the repository's rules
	@.ci/install check
	@.ci/suite format 30 bash -c 'cargo fmt --all --check && cd frontend && cargo fmt --all --check'
	@.ci/suite clippy 900 cargo clippy $(CARGO_ALL) --all-targets --all-features -- -D warnings
	@.ci/suite ui-clippy 400 bash -c '$(UI_CARGO) clippy $(UI_WASM) -- -D warnings && \
	  cargo clippy $(UI_NATIVE) --all-targets -- -D warnings'
	@# The program without the server also builds for Windows.
	@.ci/suite windows 400 cargo clippy --locked --package drover-cli --package drover-server --lib \
	  --bins --no-default-features --target x86_64-pc-windows-gnu -- -D warnings
	@.ci/suite deny 120 .ci/deny
	@RUSTDOCFLAGS='-D warnings' .ci/suite docs 600 cargo doc $(CARGO_ALL) --no-deps
	@.ci/suite layering 600 cargo test $(CARGO_ALL) --test rules

.PHONY: test
test: ## Run all tests: unit tests, fuzz corpora, real Kubernetes, real browser
	@.ci/install test
	@.ci/suite xtask 600 cargo build $(CARGO_ALL) --bin xtask
	@.ci/behind $(XTASK) kubernetes build
	@.ci/suite ui 900 bash -c '$(UI_CARGO) test $(UI_NATIVE) && cargo $(UI_BUNDLE)'
	@.ci/suite build 1500 cargo test $(CARGO_ALL) --no-run
	@.ci/suite programs 600 cargo build $(CARGO_ALL) --bins
	@.ci/suite go-programs 1800 $(XTASK) kubernetes build
	@.ci/behind $(XTASK) images
	@.ci/suite unit 600 cargo test $(CARGO_ALL) --no-fail-fast --lib --bins --test it --test rules
	@.ci/suite trust 300 cargo test $(CARGO_ALL) --test trust
	@.ci/suite active-directory 180 cargo test $(CARGO_ALL) --test active-directory
	@.ci/suite fault-vfs 300 cargo test --locked -p fault-vfs
	@.ci/suite examples 300 cargo test $(CARGO_ALL) --doc
	@.ci/suite conformance 180 cargo test $(CARGO_ALL) --test conformance
	@# More threads than cores, because most tests wait for controllers.
	@.ci/suite kubernetes 1500 cargo test $(CARGO_ALL) --no-fail-fast --test kubernetes -- --test-threads 3
	@.ci/suite images 1500 $(XTASK) images
	@# The embedded hub runs all tests except two: a test cannot stop the embedded hub alone, and cannot
	@# write to it without admission.
	@.ci/beside env DROVER_TEST_HUB=embedded .ci/suite e2e-embedded 900 cargo test $(CARGO_ALL) --test proxy -- \
	    --skip proxy_forwards_requests_while_the_hub_is_down --skip demoted_administrator \
	  :: .ci/suite e2e 1500 cargo test $(CARGO_ALL) --no-fail-fast --test proxy --test pods
	@.ci/suite install 240 cargo test $(CARGO_ALL) --test install
	@.ci/suite browser 600 cargo test $(CARGO_ALL) --test browser
	@.ci/suite simulated 300 cargo test $(CARGO_ALL) --test simulated
	@.ci/suite demo 120 $(XTASK) demo --once --port 0 --folder "$$(mktemp -d)"
	@.ci/suite weaken 60 $(XTASK) weaken --check
	@.ci/suite weaken-changed 300 $(XTASK) weaken --changed --minutes 4

.PHONY: conformance
conformance: ## Compare the embedded API with kube-apiserver: the same requests to both (SCRIPTS=FOLDER: own scripts)
	@.ci/install test
	@cargo test $(CARGO_ALL) --test conformance -- $(if $(SCRIPTS),--scripts $(abspath $(SCRIPTS))) $(NAMES)

.PHONY: conformance-table
conformance-table: ## Write e2e/conformance/COVERAGE.md from the features that the scripts declare
	@cargo test $(CARGO_ALL) --test conformance -- --write-table

.PHONY: weaken
weaken: ## Mutation tests: remove each defence; only the named test must fail (takes hours)
	@.ci/install test
	@cargo build $(CARGO_ALL) --bins
	@$(XTASK) weaken

.PHONY: pictures
pictures: ## Take the pictures of README.md from the demonstration in a real browser
	@.ci/install test
	@$(UI_CARGO) $(UI_BUNDLE)
	@cargo build $(CARGO_ALL) --bins
	@$(XTASK) pictures

.PHONY: bench
bench: bench-proxy bench-hub bench-scale bench-access bench-ui ## Run all benches

.PHONY: bench-proxy
bench-proxy: ## Proxied requests: added latency, throughput, stalled readers, memory
	@.ci/install bench
	@cargo build $(CARGO_ALL) --release --bins
	@$(CARGO_TARGET_DIR)/release/drover-bench proxy

.PHONY: bench-hub
bench-hub: ## Embedded hub compared with kube-apiserver and etcd: writes, reads, watches, memory, start
	@.ci/install bench
	@cargo build $(CARGO_ALL) --release --bins
	@$(CARGO_TARGET_DIR)/release/drover-bench hub

.PHONY: bench-scale
bench-scale: ## One server with 5,000 clusters: memory per cluster, reconnection after a crash, latency
	@.ci/install bench
	@cargo build $(CARGO_ALL) --release --bins
	@$(CARGO_TARGET_DIR)/release/drover-bench scale

.PHONY: bench-access
bench-access: ## Authorization with 10,000 users and 50,000 bindings: decision time, memory, sync to 200 clusters
	@.ci/install bench
	@cargo build $(CARGO_ALL) --release --bins
	@$(CARGO_TARGET_DIR)/release/drover-bench access

.PHONY: bench-ui
bench-ui: ## Web UI in a browser: bytes, cold and warm load, 2,000 clusters, 10,000 pods
	@.ci/install test
	@$(UI_CARGO) $(UI_BUNDLE)
	@cargo build $(CARGO_ALL) --release --bins
	@$(CARGO_TARGET_DIR)/release/drover-bench ui
