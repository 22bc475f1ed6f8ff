#!/bin/sh
# Labwright on the Node that its package brings.
exec /usr/lib/labwright/bin/node /usr/lib/labwright/dist/bundle/cli/main.js "$@"
