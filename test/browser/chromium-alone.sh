#!/bin/sh
# Starts Chromium in its own network namespace; see launch-chromium.ts. Its child processes end with it.
exec unshare --net --pid --fork --kill-child --mount-proc -- "$LABWRIGHT_TEST_NODE" "$(dirname "$0")/chromium-alone.ts" "$@"
