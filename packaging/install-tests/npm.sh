#!/bin/sh
# The npm package, which `npm install -g` put below /opt/labwright, on Debian's own Node 18 and on the Node 24 in /opt/node.
. /root/install-tests/common.sh
PATH=/opt/labwright/bin:$PATH

quiet_apt update
step "on Debian's own Node"
quiet_apt install -y --no-install-recommends nodejs
case $(node --version) in v1[0-9].* | v2[0-3].*) ;; *) fail "Debian has Node $(node --version), which is not too old" ;; esac
if labwright version > /tmp/old 2>&1; then fail "labwright runs on Node $(node --version)"; fi
cat /tmp/old
grep -q '^error: labwright needs Node 24 or newer; this is ' /tmp/old || fail 'labwright does not name the Node that it needs'
[ "$(wc -l < /tmp/old)" -eq 2 ] || fail 'labwright prints more than the error and its hint'

step 'on Node 24'
PATH=/opt/node/bin:$PATH
labwright version
if labwright setup > /tmp/setup 2>&1; then fail 'labwright setup finds everything that it needs in a minimal Debian'; fi
cat /tmp/setup
missing=$(sed -n 's/.*apt-get install --no-install-recommends //p' /tmp/setup)
case " $missing " in *' gcc '*) fail 'labwright setup wants a compiler, although the package has the programs' ;; esac
# shellcheck disable=SC2086 # one word a package
quiet_apt install -y --no-install-recommends $missing
no_compiler
labwright setup

step 'labwright up lab.yaml'
run_lab
labwright destroy --yes -t lab.yaml
labwright down
