#!/bin/sh
# throwaway-root.sh SHARED COMMAND...: runs a command on a copy of this machine's root file system whose changes are lost, except those below SHARED: an error of
# a test that runs as root does not reach the machine.
set -eu

# shellcheck disable=SC2016 # the inner shells expand them
exec unshare --mount --fork --kill-child --propagation private sh -euc '
shared=$1
shift
mount -t tmpfs work /mnt
mkdir /mnt/upper /mnt/work /mnt/root
root=/mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work "$root"
for path in /proc /sys /dev; do mount --rbind "$path" "$root$path"; done
mount -t tmpfs -o mode=755 run "$root/run"
mkdir -p "$root$shared" "$root/old"
mount --bind "$shared" "$root$shared"
cd "$root"
pivot_root . old
exec chroot . sh -euc "umount -l /old; exec \"\$@\"" sh "$@"
' sh "$@"
