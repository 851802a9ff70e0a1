#!/usr/bin/env bash
# Builds two refs of a git repository, races a command of theirs, and writes a summary.
#
# The variables RACE_COMMAND, RACE_BUILD, RACE_BASE, RACE_HEAD, RACE_GATE, RACE_TIME, RACE_MAX_TIME and
# RACE_FAIL_ON_UNDECIDED are the inputs of action.yml. Without RACE_PACKAGE, tideproof must be installed.
# Exit codes: 0 not slower, or undecided; 1 slower, or undecided with RACE_FAIL_ON_UNDECIDED=true; 2 anything else.
set -euo pipefail

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/race.XXXXXX")
summary=${GITHUB_STEP_SUMMARY:-/dev/stdout}
output=${GITHUB_OUTPUT:-/dev/null}

# shellcheck disable=SC2329  # the trap calls it
cleanup() {
  for name in base head; do
    git worktree remove --force "$folder/$name" 2>/dev/null || true
  done
}
trap cleanup EXIT

fail() {
  echo "::error::$1"
  exit 2
}

if [ -n "${RACE_PACKAGE:-}" ]; then
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet "$RACE_PACKAGE" || fail "pip cannot install $RACE_PACKAGE"
  PATH="$folder/venv/bin:$PATH"
fi

# Both paths have the same length, because the length of a program's path can change its speed.
for name in base head; do
  ref=$RACE_BASE
  [ "$name" = base ] || ref=$RACE_HEAD
  git rev-parse --quiet --verify "$ref^{commit}" >/dev/null ||
    git fetch --quiet --depth 1 origin "$ref:refs/race/$name" ||
    fail "there is no ref $ref; give actions/checkout the option fetch-depth: 0"
  commit=$(git rev-parse --quiet --verify "$ref^{commit}" || git rev-parse --verify "refs/race/$name")
  git worktree add --quiet --detach "$folder/$name" "$commit"
  (cd "$folder/$name" && bash -c "$RACE_BUILD") || fail "$RACE_BUILD fails in $ref"
done

code=0
tideproof bench --no-progress --shell sh --name base --name head --gate "$RACE_GATE" --time "$RACE_TIME" \
  --max-time "$RACE_MAX_TIME" --export-json "$folder/race.json" --export-markdown "$folder/race.md" \
  "cd $folder/base && exec $RACE_COMMAND" "cd $folder/head && exec $RACE_COMMAND" || code=$?

case $code in
  0) standing="not slower" ;;
  1) standing=slower ;;
  3) standing=undecided ;;
  *) fail "tideproof bench has failed with exit code $code" ;;
esac
cat "$folder/race.md" >>"$summary"
{
  echo "standing=$standing"
  echo "json=$folder/race.json"
} >>"$output"
if [ "$standing" = undecided ]; then
  echo "::warning::tideproof bench cannot say yet whether the head is slower; a larger max-time helps"
  [ "$RACE_FAIL_ON_UNDECIDED" != true ] || exit 1
  exit 0
fi
exit "$code"
