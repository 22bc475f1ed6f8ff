#!/bin/sh
# The init of a user-mode Linux with cgroup v2: runs the tests that it is told, on the machine's own files, which it cannot change. Started by
# main.ts as init=…/init.sh uml_settings=<file of settings>
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
. "$(tr ' ' '\n' < /proc/cmdline | sed -n 's/^uml_settings=//p')"
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup

# A module after those that it needs, which modules.dep names last first.
load() {
  for path in $(sed -n "s|^\(.*/$1\.ko\):\(.*\)|\1 \2|p" "$modules/modules.dep" | busybox awk '{ for (i = NF; i > 0; i--) print $i }'); do
    grep -q "^$(basename "$path" .ko | tr - _) " /proc/modules || busybox insmod "$modules/$path"
  done
}
for module in overlay veth sch_ingress act_mirred cls_u32 sch_netem bridge tun; do load $module; done
# Not before: settings and modules may be below the machine's own.
mount -t tmpfs -o mode=1777 tmpfs /tmp
ip link set lo up
echo "cgroup v2 with $(cat /sys/fs/cgroup/cgroup.controllers)"

cd "$repository" || echo o > /proc/sysrq-trigger
# Nothing can be written beside the sources, so that their configuration must be taken as it is.
eval "node node_modules/vitest/vitest.mjs run --configLoader native --no-cache --no-color --no-file-parallelism $tests" 2>&1
code=$?
# On a line of its own: vitest ends with a terminal's sequence and no line break.
printf '\n= exit %s\n' "$code"
echo o > /proc/sysrq-trigger
sleep 10
