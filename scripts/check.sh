#!/usr/bin/env bash
# Static checks. Runs all of them, even after a failure, and names the failed ones at
# the end.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.tools/bin:$PATH"

failed=()

check() {
  local name="$1"
  shift
  printf '== %s\n' "$name"
  "$@" || failed+=("$name")
}

# The project's own Lua files, without built or installed ones.
lua_files() {
  find lua plugin ftplugin ftdetect after tests scripts examples bench \
    -name '*.lua' -print 2>/dev/null | sort
}

mapfile -t lua < <(lua_files)

check "rustfmt" cargo fmt --all --check
check "rustfmt of examples" rustfmt --check --edition 2024 examples/*/src/*.rs
check "clippy" cargo clippy --quiet --workspace --all-targets --keep-going -- -D warnings
check "stylua" stylua --check "${lua[@]}"
check "luacheck" luacheck --quiet --no-color "${lua[@]}"
# Where Rust's library for Windows is installed. The other crates use Unix.
windows=x86_64-pc-windows-gnu
if rustup target list --installed 2>/dev/null | grep -qx "$windows"; then
  check "crates for Windows" cargo check --quiet --target "$windows" -p flemma-chat -p flemma-provider
fi
check "cargo deny" cargo deny --log-level error check licenses bans sources
check "help tags" nvim --clean --headless -l scripts/help-tags.lua doc
check "web help" nvim --clean --headless -l scripts/web-help.lua doc target/help

if [ "${#failed[@]}" -gt 0 ]; then
  printf 'check: failed: %s\n' "$(IFS=,; echo "${failed[*]}")" >&2
  exit 1
fi
echo "check: all passed"
