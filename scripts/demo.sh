#!/usr/bin/env bash
# Opens Neovim with a copy of the first chat and this checkout as the plugin.
# Without a terminal, scripts/demo.lua plays the same session with real keys and
# prints the finished chat.
set -euo pipefail
cd "$(dirname "$0")/.."
repository="$PWD"
demo="$repository/.tools/demo"

# A copy, because the conversation and its tools write to the files.
rm -rf "$demo"
mkdir -p "$demo"
cp -R examples/. "$demo/"
cd "$demo"

export FLEMMA_REPOSITORY="$repository"
nvim="${FLEMMA_NVIM:-.tools/bin/nvim}"
case "$nvim" in /*) ;; *) nvim="$repository/$nvim" ;; esac
if [ -t 0 ] && [ -t 1 ]; then
  exec "$nvim" --clean -u "$repository/scripts/demo-init.lua" hello.chat
fi
exec "$nvim" --clean -l "$repository/scripts/demo.lua" "$nvim" "$repository/scripts/demo-init.lua" hello.chat
