# Entry points for developers. Each target first installs the tools that it needs into
# .tools/ (scripts/install.sh). scripts/check.sh has the checks. FLEMMA_NVIM=PATH runs a target
# with another Neovim; a relative path starts from here.

.DEFAULT_GOAL := help
.PHONY: help demo test test-views test-strict test-wire test-mcp test-peers test-model prove check bench help-web clean-tools

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: ## Open Neovim with a first chat; press Ctrl-] to send it
	@scripts/install.sh nvim
	cargo build -p flemma
	@scripts/demo.sh

test: ## Run all tests
	@scripts/install.sh nvim bubblewrap
	cargo test --workspace
	cargo test -p flemma-agent --test it -- --ignored
	@scripts/lua-tests.sh
	@$(MAKE) --no-print-directory test-peers test-views

test-views: ## Look at every view in a real terminal (part of `test`); draws target/views
	@scripts/install.sh nvim tmux
	cargo build -p flemma
	@tests/views/run.py

test-strict: ## Test against providers that check requests as the services do (part of `test`)
	@scripts/install.sh nvim
	cargo test -p flemma-harness --test strict
	cargo test -p flemma --test e2e strict::

test-wire: ## Validate requests against the types of the providers' SDKs
	@scripts/install.sh sdks
	rm -rf target/wire
	FLEMMA_WIRE_CORPUS="$$PWD/target/wire" cargo test -q -p flemma-provider --test requests corpus
	.tools/sdks/bin/python tests/wire/validate.py target/wire

test-peers: ## Test against an independent provider mock (part of `test`)
	@scripts/install.sh peers
	cargo test -q -p flemma --test e2e -- --ignored outside::peers

test-model: ## Test with a real model in llama.cpp
	@scripts/install.sh model
	cargo test -p flemma --test e2e -- --ignored --test-threads 1 outside::model

test-mcp: ## Test MCP against independent servers and clients
	@scripts/install.sh mcp
	cargo build -p flemma -p flemma-mcp --bins --examples
	@tests/mcp/others.sh

help-web: ## Make web pages of the help, with pictures, in target/help
	@scripts/install.sh nvim
	@$${FLEMMA_NVIM:-.tools/bin/nvim} --clean --headless -l scripts/web-help.lua doc target/help

prove: ## Run the long forms of the tests and a sample of mutants (hours)
	@scripts/install.sh nvim cargo-mutants
	@scripts/prove.sh

check: ## Check formatting, lints, licenses, and help tags
	@scripts/install.sh nvim stylua luacheck cargo-deny
	@scripts/check.sh

bench: ## Measure speed and memory, compared with the same work by hand
	@scripts/install.sh nvim
	cargo build --release -p flemma
	cargo run --release -p flemma-bench

clean-tools: ## Remove .tools
	rm -rf .tools
