# What a person types. Each target installs what it needs into .tools/ first;
# how is in scripts/install.sh, what is checked is in scripts/check.sh.

.DEFAULT_GOAL := help
.PHONY: help demo test test-wire test-mcp test-peers test-model prove check bench clean-tools

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: ## Open Neovim on a first chat, ready to press Ctrl-]
	@scripts/install.sh nvim
	cargo build --release -p flemma
	@scripts/demo.sh

test: ## Run every test
	@scripts/install.sh nvim bubblewrap
	cargo test --workspace
	cargo test -p flemma-agent --test it -- --ignored
	@scripts/lua-tests.sh
	@$(MAKE) --no-print-directory test-peers

test-wire: ## Compare requests with the types of the providers' own SDKs
	@scripts/install.sh sdks
	rm -rf target/wire
	FLEMMA_WIRE_CORPUS="$$PWD/target/wire" cargo test -q -p flemma-provider --test requests corpus
	.tools/sdks/bin/python tests/wire/validate.py target/wire

test-peers: ## Of those, the ones against somebody else's idea of each provider
	@scripts/install.sh peers
	cargo test -q -p flemma --test e2e -- --ignored outside::peers

test-model: ## Talk to a real model, which llama.cpp runs here
	@scripts/install.sh model
	cargo test -p flemma --test e2e -- --ignored --test-threads 1 outside::model

test-mcp: ## Try our side of the Model Context Protocol against others' programs
	@scripts/install.sh mcp
	cargo build -p flemma -p flemma-mcp --bins --examples
	@tests/mcp/others.sh

prove: ## Run the long forms of the tests, and a sample of mutants (hours)
	@scripts/install.sh nvim cargo-mutants
	@scripts/prove.sh

check: ## Check formatting, lints, licences and help tags
	@scripts/install.sh nvim stylua luacheck cargo-deny
	@scripts/check.sh

bench: ## Measure, against the same work by hand
	@scripts/install.sh nvim
	cargo build --release -p flemma
	cargo run --release -p flemma-bench

clean-tools: ## Remove what install.sh put into .tools
	rm -rf .tools
