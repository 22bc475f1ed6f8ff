#!/bin/sh
# The first program of the virtual machine that microvm.ts boots. It loads all modules of the image tiny, makes /machine the root, and runs
# /microvm/command there. Prints the command's output and "= exit CODE" on the second serial line; the kernel's messages go to the first.
export PATH=/usr/sbin:/usr/bin
if [ "$1" != moved ]; then
  mount -t proc proc /proc
  while read -r module; do insmod "/usr/lib/modules/$module.ko"; done < /usr/lib/modules/order
  while read -r module; do insmod "/usr/lib/modules/$module.ko"; done < /usr/lib/modules/loadable-order
  cd /machine || exit
  mkdir -p proc sys dev run tmp
  # A root that can be moved away: it is not the RAM disk's own.
  mount -o bind /machine /machine
  cd /machine || exit
  mount -t proc proc proc
  mount -t sysfs sysfs sys
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  mount -t devtmpfs devtmpfs dev
  mkdir -p dev/pts dev/shm
  mount -t devpts devpts dev/pts
  mount -t tmpfs -o mode=1777 tmpfs dev/shm
  mount -t tmpfs tmpfs run
  mount -t tmpfs -o mode=1777 tmpfs tmp
  mount -o move . /
  exec chroot . /bin/sh /microvm/init.sh moved
fi
# As on a disk that the tests must not change: in this root a file's bytes are memory of the group that wrote it.
mount -o remount,bind,ro /
exec < /dev/null > /dev/ttyS1 2>&1
stty -F /dev/ttyS1 raw
ip link set lo up
sh /microvm/command
# On a line of its own: the command may end without a line break.
printf '\n= exit %s\n' $?
# Until the line has sent everything. It takes no time: the clock goes on at once if there is nothing to do.
sleep 2
echo b > /proc/sysrq-trigger
