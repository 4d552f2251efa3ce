#!/usr/bin/env bash
# Static checks. Runs all of them, even after a failure, and names the failed ones at
# the end.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.tools/bin:$PATH"
nvim="${FLEMMA_NVIM:-.tools/bin/nvim}"

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

# Patterns that make a reader stumble, in doc comments, messages, help, and documents.
plain_english() {
  local patterns=(
    '(?<![Tt]here )(?<!is )\b(is|are) no (?!longer|more\b|one\b|different)[a-z]'
    '\bnothing is named\b'
    '\b(said|known) of (it|them|this|that)\b'
    '\bWhat ([a-z]+ ){1,6}is said\b'
    '\b[Hh]as the [a-z]+ decide\b'
    '\b(was|were|is|are|been) decided about\b'
    '\btak(e|es|en|ing) ([a-z]+ ){1,4}back\b'
    '\bagree(s|d)? to\b'
  )
  local any found
  any=$(IFS='|'; echo "${patterns[*]}")
  found=$(
    grep -nP "$any" ./*.md tests/README.md doc/*.txt
    # Doc comments, and lines with a text in quotes.
    grep -rnP --include='*.rs' --include='*.lua' "(//[/!]|---|\").*($any)" crates lua plugin tests
    # The rows of options are help, where "Whether" is usual.
    grep -rnP --include='*.rs' --exclude-dir=rows --exclude=rows.rs '^\s*//[/!] (Whether|Of) ' crates tests
  )
  [ -z "$found" ] || { printf '%s\n' "$found" >&2; return 1; }
}

check "rustfmt" cargo fmt --all --check
check "rustfmt of examples" rustfmt --check --edition 2024 examples/*/src/*.rs
check "clippy" cargo clippy --quiet --workspace --all-targets --keep-going -- -D warnings
check "stylua" stylua --check "${lua[@]}"
check "luacheck" luacheck --quiet --no-color "${lua[@]}"
# The program for other systems, where Rust's library and a C compiler for them are installed. The
# harness of the tests and the benchmarks need Linux.
targets=$(rustup target list --installed 2>/dev/null)
cross() {
  local system="$1" target="$2" has_compiler="$3"
  if [ -n "$has_compiler" ] && grep -qx "$target" <<<"$targets"; then
    check "clippy for $system" cargo clippy --quiet --target "$target" --workspace \
      --exclude flemma-harness --exclude flemma-bench -- -D warnings
  else
    printf '== not checked for %s: needs a C compiler and `rustup target add %s`\n' "$system" "$target"
  fi
}
macos_compiler="${CC_aarch64_apple_darwin:-}"
if [ "$(uname)" = Darwin ]; then
  macos_compiler=cc
fi
cross Windows x86_64-pc-windows-gnu "$(command -v x86_64-w64-mingw32-gcc)"
cross macOS aarch64-apple-darwin "$macos_compiler"
check "cargo deny" cargo deny --log-level error check licenses bans sources
check "plain English" plain_english
check "help tags" "$nvim" --clean --headless -l scripts/help-tags.lua doc
check "web help" "$nvim" --clean --headless -l scripts/web-help.lua doc target/help

if [ "${#failed[@]}" -gt 0 ]; then
  printf 'check: failed: %s\n' "$(IFS=,; echo "${failed[*]}")" >&2
  exit 1
fi
echo "check: all passed"
