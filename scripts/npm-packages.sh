#!/bin/sh
# Installs the npm packages of package-lock.json, the exact Node among them, unless they are installed already. Needs npm, no root.
set -eu

cd "$(dirname "$0")/.."
start=$(date +%s%N)
report() { printf 'npm packages: %s (%s s)\n' "$1" "$(awk -v from="$start" -v to="$(date +%s%N)" 'BEGIN { printf "%.1f", (to - from) / 1e9 }')"; }
fail() {
  printf 'set-up stopped: %s\n  %s\n' "$1" "$2" >&2
  exit 1
}

digest=$(sha256sum < package-lock.json)
stamp=node_modules/.labwright-lock
if [ -r "$stamp" ] && [ "$(cat "$stamp")" = "$digest" ]; then
  report 'all there'
  exit
fi
command -v npm > /dev/null || fail 'npm is missing' 'Install it: apt-get install npm (any Node from 18 on will do; the exact one comes with npm ci).'
echo 'npm packages: installing'
# npm runs on the machine's own Node, because npm ci replaces the one below node_modules. An old npm leaves out compiled parts of tools
# (optional packages, picked by system and by the Node it runs on), so a newer npm and the pinned Node come first if the machine's are older.
outside=$(printf '%s' "$PATH" | tr ':' '\n' | grep -v '/node_modules/\.bin$' | paste -s -d : -)
if [ "$(PATH=$outside npm --version | cut -d . -f 1)" -lt 11 ] || [ "$(PATH=$outside node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
  tools=$(mktemp -d)
  trap 'rm -rf "$tools"' EXIT
  case $(uname -m) in x86_64) arch=x64 ;; aarch64) arch=arm64 ;; *) fail "there is no Node for this machine ($(uname -m))" 'x86-64 and arm64 have one.' ;; esac
  node=$(sed -n "s/.*\"node-linux-$arch\": \"\(.*\)\".*/\1/p" scripts/node/package.json)
  (cd "$tools" && PATH=$outside npm install --prefix "$tools" --no-save --ignore-scripts --no-audit --no-fund --loglevel=error \
    npm@11.6.2 "node-linux-$arch@$node") || fail 'npm could not fetch a newer npm and Node' 'Its messages are above.'
  # Debian's own Node trusts the machine's certificates; the pinned one needs this variable to do so.
  export NODE_USE_SYSTEM_CA=1
  outside=$tools/node_modules/.bin:$tools/node_modules/node-linux-$arch/bin:$outside
fi
PATH=$outside npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || fail 'npm ci failed' 'Its messages are above.'
# Some versions of npm create no link for a package of a workspace.
if [ ! -e node_modules/.bin/node ]; then
  for node in node_modules/node-linux-*/bin/node; do
    [ -x "$node" ] || fail "npm installed no Node for this machine ($(uname -m))" 'Node 24 comes for Linux on x86-64 and arm64.'
    ln -s "../${node#node_modules/}" node_modules/.bin/node
  done
fi
printf '%s\n' "$digest" > "$stamp"
report installed
