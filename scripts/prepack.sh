#!/bin/sh
# Builds the content of the npm package. npm pack and npm publish run it. On a clean clone it first installs the npm packages.
set -eu

cd "$(dirname "$0")/.."
# npm's output is the name of the archive, or JSON.
exec >&2
[ -d node_modules ] || sh scripts/npm-packages.sh
PATH="$PWD/node_modules/.bin:$PATH" node scripts/build.ts
