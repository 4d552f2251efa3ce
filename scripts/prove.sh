#!/usr/bin/env bash
# Runs the long forms of the tests: property tests with many cases, ignored tests named
# `prove_…`, and a sample of mutants. Each step has a time limit. All steps run, and a
# table at the end shows their results.
#
#   FLEMMA_PROVE_SEED   seed of all random choices (default: a fixed one)
#   FLEMMA_PROVE_CASES  cases per property (default 20000)
#   FLEMMA_PROVE_MUTANTS  number of mutants in the sample of chat and provider (default
#                         200); half as many of policy
#   FLEMMA_PROVE_LIMIT  time limits in percent of the defaults (default 100)
#   FLEMMA_PROVE_STEPS  run only steps whose names match this regular expression, which
#                       must contain "prove_" to include tests with that name
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.tools/bin:$PATH"

export FLEMMA_PROVE_SEED="${FLEMMA_PROVE_SEED:-20260923}"
CASES="${FLEMMA_PROVE_CASES:-20000}"
MUTANTS="${FLEMMA_PROVE_MUTANTS:-200}"
LIMIT="${FLEMMA_PROVE_LIMIT:-100}"
STEPS="${FLEMMA_PROVE_STEPS:-.}"
# Minimum share of caught mutants among those that compile, in percent.
LEAST_CAUGHT=95

logs=target/prove
rm -rf "$logs"
mkdir -p "$logs"
rows=()
failed=0

# step NAME SECONDS COMMAND...: runs a command. Its last line `prove: …` is the summary.
step() {
  local name="$1" seconds=$(($2 * LIMIT / 100)) log code summary ended start=$SECONDS
  shift 2
  [[ "$name" =~ $STEPS ]] || return 0
  log="$logs/$(tr -c '[:alnum:]_\n' '-' <<<"$name").log"
  printf '== %s (at most %s s)\n' "$name" "$seconds"
  timeout --kill-after 10 "$seconds" "$@" </dev/null >"$log" 2>&1
  code=$?
  # The test harness may print its own text before it on the same line.
  summary=$(grep -o 'prove: .*' "$log" | tail -n 1 | cut -c 8-)
  case "$code" in
    0) ended=ok ;;
    124 | 137) ended="TIMED OUT" ;;
    *) ended=FAILED ;;
  esac
  if [ "$code" != 0 ]; then
    failed=$((failed + 1))
    tail -n 40 "$log"
  fi
  rows+=("$(printf '%-9s %6s s  %s%s' "$ended" $((SECONDS - start)) "$name" "${summary:+: $summary}")")
}

# Property tests of a crate, with more cases than in `make test`. Property tests that
# start real programs have their own `prove_` tests.
properties() {
  PROPTEST_CASES="$CASES" PROPTEST_RNG_SEED="$FLEMMA_PROVE_SEED" \
    cargo test -q -p "$1" --lib --tests -- "${@:2}" &&
    echo "prove: $CASES cases per property, seed $FLEMMA_PROVE_SEED"
}

# Empty if no such test is selected, because listing the tests compiles everything.
packages() {
  [[ "$STEPS" = . || "$STEPS" = *prove_* ]] || return 0
  cargo tree --workspace --depth 0 --prefix none --format '{p}' | awk 'NF { print $1 }' | sort -u
}

# The paths of a package's ignored tests named prove_….
proofs() {
  cargo test -q -p "$1" --tests -- --ignored --list 2>/dev/null |
    sed -n -E 's/^((.*::)?prove_[A-Za-z0-9_]*): test$/\1/p' | sort -u
}

# mutants COUNT PACKAGE...: tests a sample of the mutants of these packages: every n-th,
# starting at one that the seed selects. cargo-mutants changes only a copy of the tree.
mutants() {
  local count=$1 out="$logs/mutants-$2" crates=() package all n caught missed share
  for package in "${@:2}"; do crates+=(-p "$package"); done
  mkdir -p "$out"
  all=$(cargo mutants --list "${crates[@]}" | wc -l)
  n=$(((all + count - 1) / count))
  [ "$n" -gt 0 ] || n=1
  cargo mutants "${crates[@]}" --jobs 1 --sharding round-robin \
    --shard "$((FLEMMA_PROVE_SEED % n))/$n" --no-shuffle --colors never --output "$out"
  # The exit code only says whether any mutant was missed, so count them.
  lines() { cat "${@/#/$out/mutants.out/}" 2>/dev/null | wc -l; }
  caught=$(lines caught.txt timeout.txt)
  missed=$(lines missed.txt)
  cat "$out/mutants.out/missed.txt"
  if [ $((caught + missed)) = 0 ]; then
    echo "prove: no mutant ran"
    return 1
  fi
  share=$((caught * 1000 / (caught + missed)))
  echo "prove: every ${n}th of $all, seed $FLEMMA_PROVE_SEED: $caught caught," \
    "$missed missed, $(lines unviable.txt) not viable; $((share / 10)).$((share % 10))% caught"
  [ "$share" -ge $((LEAST_CAUGHT * 10)) ]
}
export -f properties mutants
export CASES MUTANTS LEAST_CAUGHT logs

echo "seed $FLEMMA_PROVE_SEED"
step build 3600 cargo test --workspace --no-run
step "properties of chat" 1800 bash -c 'properties flemma-chat'
step "properties of provider" 1800 bash -c 'properties flemma-provider'
step "properties of tools" 1800 bash -c \
  'properties flemma-tools edit:: calculator::expression output::capture read::window shell::'
for package in $(packages); do
  for proof in $(proofs "$package"); do
    # The lines of `$shell-safe` run in shells of their own, some of them until their time limit.
    step "$package $proof" 5400 cargo test -q -p "$package" --tests -- \
      --ignored --exact --nocapture "$proof"
  done
done
step mutants 10800 bash -c 'mutants "$MUTANTS" flemma-chat flemma-provider'
step "mutants of policy" 7200 bash -c 'mutants $((MUTANTS / 2)) flemma-policy'

printf '\nseed %s\n' "$FLEMMA_PROVE_SEED"
printf '%s\n' "${rows[@]}"
if [ "${#rows[@]}" = 0 ]; then
  echo "prove: no step is named like \"$STEPS\"" >&2
  exit 1
fi
if [ "$failed" -gt 0 ]; then
  echo "prove: $failed of ${#rows[@]} steps failed; see their output in $logs" >&2
  exit 1
fi
echo "prove: all ${#rows[@]} steps passed"
