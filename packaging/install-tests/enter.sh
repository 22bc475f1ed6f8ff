#!/bin/sh
# enter.sh ROOT COMMAND...: runs a command in a root file system, in mount and process namespaces of its own. All of its processes end with it.
# The network is the machine's. pivot_root, not chroot alone: the kernel gives no user namespaces, and so no labs, to a process in a chroot.
set -eu

# shellcheck disable=SC2016 # the inner shells expand them
exec unshare --mount --uts --ipc --pid --fork --kill-child --propagation private sh -eu -c '
  root=$1
  shift
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs -o mode=755 run "$root/run"
  cd "$root"
  pivot_root . mnt
  exec chroot . sh -eu -c '\''umount -l /mnt; exec "$@"'\'' sh env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
' sh "$@"
