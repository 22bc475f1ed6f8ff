#!/bin/sh
# plan.sh plan|apply FILE REPORT [JUNIT]
# apply also runs the tests of the file, and writes their results to JUNIT. A test that does not pass is exit code 1.
# Exit code 0: nothing to do, or all is done. 1: the file or the plan is wrong. plan: changes alone are no error, they are in the report.
# The service is that of LABWRIGHT_URL and LABWRIGHT_PIN; LABWRIGHT_TOKEN is an API token of the scope deploy.
set -eu
mode=$1
file=$2
report=$3
junit=${4:-}
: > "$report"

# Without a service: mistakes are told with their line.
if ! labwright validate -t "$file" > "$report" 2>&1; then
  cat "$report" >&2
  exit 1
fi

code=0
labwright plan -t "$file" --no-color > "$report" || code=$?
case $code in
  0) echo "no changes" >> "$report" ;;
  2) [ "$mode" = apply ] || echo "changes are pending" >> "$report" ;;
  *) exit 1 ;;
esac
[ "$mode" = apply ] || exit 0

# apply plans anew and adds its plan to the report; where something changes between that plan and the change, it does nothing (plan_stale).
# The repository decides what the lab is: each run has another machine and folder, hence --take-over.
[ "$code" = 0 ] || labwright apply -t "$file" --yes --take-over --no-color >> "$report"

# A lab without tests needs no host that can run programs in nodes.
if grep -q '^tests:' "$file"; then
  labwright test -t "$file" --no-color ${junit:+--junit "$junit"} >> "$report"
fi
