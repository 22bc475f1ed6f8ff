#!/bin/sh
# The Debian package, as its users install it, use it, and remove it.
. /root/install-tests/common.sh

quiet_apt update
step 'apt install ./labwright_….deb'
quiet_apt install -y --no-install-recommends ./labwright_*.deb
sed -n '/^Setting up labwright/,$p' /tmp/apt.log
no_compiler
! command -v node > /dev/null || fail 'this Debian has a Node: the test would not see that the package brings none'
labwright version

step 'labwright up lab.yaml'
run_lab

step 'the package is installed again while the lab runs'
quiet_apt install -y --reinstall ./labwright_*.deb
labwright exec h1 -- ping -c 1 -W 5 10.0.0.2

step 'systemd accepts the units'
quiet_apt install -y --no-install-recommends systemd
systemd-analyze verify --man=no /usr/lib/systemd/system/labwright.service /usr/lib/systemd/system/labwright-api.service
systemd-analyze security --offline=true --threshold=20 /usr/lib/systemd/system/labwright-api.service

step 'bash completes commands'
# shellcheck disable=SC2016 # bash expands them
completed=$(bash -c '. /usr/share/bash-completion/completions/labwright; COMP_WORDS=(labwright vali); COMP_CWORD=1; _labwright; echo "${COMPREPLY[*]}"')
[ "$completed" = validate ] || fail "bash completes \"vali\" to \"$completed\""

step 'the package is removed'
labwright destroy --yes -t lab.yaml
quiet_apt purge -y labwright
for path in /usr/bin/labwright /usr/lib/labwright /etc/default/labwright /etc/default/labwright-api /var/lib/labwright; do
  [ ! -e "$path" ] || fail "$path is left: $(find "$path" | head -n 5)"
done
