#!/usr/bin/env bash
# The tests of the pure Lua modules, inside the editor that will run them.
set -euo pipefail
cd "$(dirname "$0")/.."
"${FLEMMA_NVIM:-.tools/bin/nvim}" --clean -l tests/lua/run.lua
