#!/bin/sh
# Chromium in a network of its own: browser.fixture.ts says why. What it starts ends with it.
exec unshare --net --pid --fork --kill-child --mount-proc -- "$LABWRIGHT_TEST_NODE" "$(dirname "$0")/chromium-alone.ts" "$@"
