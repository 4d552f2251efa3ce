#!/usr/bin/env bash
# Opens Neovim on a copy of the first chat, with this checkout as the plugin.
# Without a terminal the same session is played by scripts/demo.lua with real
# keys, and the finished chat is printed.
set -euo pipefail
cd "$(dirname "$0")/.."
repository="$PWD"
demo="$repository/.tools/demo"

# A copy: the conversation is written into the file, and its tools write too.
rm -rf "$demo"
mkdir -p "$demo"
cp -R examples/. "$demo/"
cd "$demo"

export FLEMMA_REPOSITORY="$repository"
nvim="$repository/.tools/bin/nvim"
if [ -t 0 ] && [ -t 1 ]; then
  exec "$nvim" --clean -u "$repository/scripts/demo-init.lua" hello.chat
fi
exec "$nvim" --clean -l "$repository/scripts/demo.lua" "$nvim" "$repository/scripts/demo-init.lua" hello.chat
