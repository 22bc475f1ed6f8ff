#!/bin/sh
# Builds what the npm package contains. npm pack and npm publish run it, also on a clean clone: there it installs the npm packages first.
set -eu

cd "$(dirname "$0")/.."
# npm's output is the name of the archive, or JSON.
exec >&2
[ -d node_modules ] || sh scripts/npm-packages.sh
PATH="$PWD/node_modules/.bin:$PATH" node scripts/build.ts
