#!/bin/sh
# Labwright on the Node that its package brings.
exec /usr/lib/labwright/bin/node /usr/lib/labwright/dist/cli/main.js "$@"
