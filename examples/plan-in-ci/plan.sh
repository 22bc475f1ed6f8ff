#!/bin/sh
# plan.sh plan|apply FILE REPORT
# Exit code 0: nothing to do, or all is done. 1: the file or the plan is wrong. plan: changes alone are no error, they are in the report.
# The service is that of LABWRIGHT_URL and LABWRIGHT_PIN; the session that of LABWRIGHT_USER and LABWRIGHT_PASSWORD.
set -eu
mode=$1
file=$2
report=$3
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
[ "$mode" = apply ] && [ "$code" = 2 ] || exit 0

# apply plans anew and adds its plan to the report; where something changes between that plan and the change, it does nothing (plan_stale).
# The repository decides what the lab is: each run has another machine and folder, hence --take-over.
labwright apply -t "$file" --yes --take-over --no-color >> "$report"
