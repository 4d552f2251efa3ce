#!/usr/bin/env bash
# Our side of the Model Context Protocol against programs that others wrote: their
# servers with our client, their clients with our server, and the conformance suite
# with both. `make test-mcp` installs them into .tools/mcp first.
set -uo pipefail
cd "$(dirname "$0")/../.."
export PATH="$PWD/.tools/mcp/bin:$PATH"
bin="$PWD/.tools/mcp/node_modules/.bin"
target="${CARGO_TARGET_DIR:-target}/debug"
home=$(mktemp -d)
served=""
failed=()

clean_up() {
  if [ -n "$served" ]; then kill "$served" 2>/dev/null; fi
  rm -rf "$home"
}
trap clean_up EXIT
# Where cargo is does not change with the home of the programs under test.
export RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}"
export HOME="$home" XDG_CONFIG_HOME="$home/config" XDG_STATE_HOME="$home/state"

check() {
  local name="$1"
  shift
  printf '== %s\n' "$name"
  "$@" || failed+=("$name")
}

# Starts a server in the background and waits until it says that it serves.
serve() {
  local said="$home/said"
  if [ -n "$served" ]; then
    kill "$served"
    wait "$served" 2>/dev/null
  fi
  : >"$said"
  "$@" 2>"$said" &
  served=$!
  until grep -q 'Serving at' "$said"; do
    kill -0 "$served" || { cat "$said"; exit 1; }
  done
}

inspect() {
  local wanted="$1" answer
  shift
  answer=$("$bin/mcp-inspector" --cli "$@") || return 1
  grep -q "$wanted" <<<"$answer" || { printf '%s\n' "$answer"; return 1; }
}

check "their servers, our client" \
  cargo test -q -p flemma-mcp --test others -- --ignored

serve "$target/flemma" mcp serve --http 127.0.0.1:18746
check "inspector over HTTP" \
  inspect '"calculator"' http://127.0.0.1:18746/mcp --transport http --method tools/list
check "inspector over standard streams" inspect '"56"' "$target/flemma" mcp serve \
  --method tools/call --tool-name calculator --tool-arg 'expression=7*8'

serve "$target/examples/conformance" serve 127.0.0.1:18747
check "conformance, server" "$bin/conformance" server --url http://127.0.0.1:18747/mcp \
  --expected-failures tests/mcp/not-served.yaml -o "$home/server"
check "conformance, client" "$bin/conformance" client --suite all \
  --command "$target/examples/conformance client" \
  --expected-failures tests/mcp/not-served.yaml -o "$home/client"

if [ "${#failed[@]}" -gt 0 ]; then
  printf 'test-mcp: failed: %s\n' "$(IFS=,; echo "${failed[*]}")" >&2
  exit 1
fi
echo "test-mcp: all passed"
