#!/bin/sh
# systemd-root.sh SHARED STATE IMAGES: systemd as the first process of namespaces of its own, over a copy of this machine's root file system whose changes are
# lost. SHARED is visible in it at the same path. STATE is its /var/lib/labwright, because nodes cannot have overlays on an overlay, with IMAGES as the images of
# labs. The network is the machine's. Ends with all of its processes.
set -eu

# shellcheck disable=SC2016 # the inner shells expand them
exec unshare --mount --uts --ipc --pid --cgroup --fork --kill-child --propagation private sh -euc '
shared=$1
state=$2
images=$3
mount -t tmpfs work /mnt
mkdir /mnt/upper /mnt/work /mnt/root
root=/mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs -o mode=755 cgroup "$root/sys/fs/cgroup"
mkdir "$root/sys/fs/cgroup/systemd"
mount -t cgroup -o none,name=systemd systemd "$root/sys/fs/cgroup/systemd"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mkdir -p "$root$shared" "$root/var/lib/labwright" "$state/images"
mount --bind "$shared" "$root$shared"
mount --bind "$state" "$root/var/lib/labwright"
mount --bind "$images" "$root/var/lib/labwright/images"
# None of the services of this machine.
rm -rf "$root"/etc/systemd/system/*.wants
printf "[Unit]\nDefaultDependencies=no\nRequires=dbus.socket\n" > "$root/etc/systemd/system/labwright-test.target"
mkdir "$root/old"
cd "$root"
pivot_root . old
exec chroot . sh -euc "umount -l /old; exec env -i container=labwright PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=labwright-test.target --log-target=null --show-status=no"
' sh "$@"
