#!/usr/bin/env bash
# Arguments are in variables, and as a JSON object on standard input. The model reads the
# output. An exit code other than 0 is an error.
set -euo pipefail

for ((i = 0; i < ARG_TIMES; i++)); do
  echo "Hello, $ARG_NAME!"
done
