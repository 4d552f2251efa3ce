#!/usr/bin/env bash
# Packs the release build for one platform into an archive and prints the row for
# lua/flemma/release.lua:  scripts/archive.sh TARGET [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
target="$1"
folder="${2:-target/archives}"
build="target/$target/release"
[ -d "$build" ] || build="target/release"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
archive="flemma-$version-$target.tar.gz"
programs=(flemma flemma-leash)
case "$target" in *windows*) programs=(flemma.exe) ;; esac

mkdir -p "$folder"
# The same input gives the same archive, so that its digest can be checked by others.
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$build" -cf - "${programs[@]}" |
  gzip -n >"$folder/$archive"
digest=$(sha256sum "$folder/$archive" | cut -d ' ' -f 1)
printf '    ["%s"] = "%s",\n' "$target" "$digest"
