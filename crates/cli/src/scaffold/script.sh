#!/usr/bin/env bash
# Arguments are in variables, and as one JSON object on standard input.
# What is printed is what the model reads; another exit code than 0 is an error.
set -euo pipefail

for ((i = 0; i < ARG_TIMES; i++)); do
  echo "Hello, $ARG_NAME!"
done
