import type { ProgramName } from "../programs/compile.ts";
import type { GuestKernel } from "./guest-kernel.ts";

/** The contents of an image. Paths are those of a merged-/usr system: /usr/bin, never /bin. */
export interface Recipe {
  readonly name: string;
  readonly description: string;
  /** The image below. Its files are not repeated. */
  readonly over?: string;
  /** Debian packages from which files are taken. Libraries are added automatically. */
  readonly packages: readonly string[];
  /**
   * Files to take: a path, or one that ends with `/` for a whole directory. `@` is the machine's library directory name such as
   * x86_64-linux-gnu. The libraries of programs are taken too.
   */
  readonly take: readonly string[];
  /** Symbolic links, path → target. */
  readonly links: Readonly<Record<string, string>>;
  /** Directories and files that need another owner or mode than root's 0755 or the file's own. Directories are made. */
  readonly modes: readonly { readonly path: string; readonly mode: number; readonly uid?: number; readonly gid?: number }[];
  /** Links every busybox applet that is not in the image as a separate program. */
  readonly busybox: boolean;
  /** Files of Labwright in setup/rootfs/NAME are added. */
  readonly ownFiles: boolean;
  /** Labwright's own programs that are compiled for the image, by their path in it. */
  readonly programs?: Readonly<Record<string, ProgramName>>;
  /** The image is for a virtual machine: a Linux kernel, an initial RAM disk with the tree, these modules and their dependencies, and an empty disk. */
  readonly machine?: {
    readonly modules: readonly string[];
    /** Modules that are included with their dependencies, but not loaded at boot. */
    readonly loadable: readonly string[];
    /** The same, for modprobe: the kernel loads them and `loadable` when a program needs them. */
    readonly onDemand: readonly string[];
    readonly commandLine: string;
    readonly diskMb: number;
  };
  /** The image is the kernel of nodes with `kernel: own`: init is a program of the image. */
  readonly guest?: GuestKernel;
  /** The tree is also made as a disk, for nodes with a kernel of their own. */
  readonly disk?: true;
  /** Only for machines with this library directory name. Absent: for all. */
  readonly only?: string;
}

const base: Recipe = {
  name: "base",
  description: "busybox, iproute2, ping, mtr, dig, tcpdump, curl, iperf3, nftables, dnsmasq, lldpd, sshd, vim, socat, wg, multicast tools",
  packages: [
    "bind9-dnsutils",
    "busybox",
    "ca-certificates",
    "curl",
    "dnsmasq-base",
    "ethtool",
    "iperf",
    "iperf3",
    "iproute2",
    "iputils-arping",
    "iputils-ping",
    "iputils-tracepath",
    "less",
    "lldpd",
    "mtr-tiny",
    "ncat",
    "ncurses-base",
    "netbase",
    "nftables",
    "openssh-client",
    "openssh-server",
    "openssh-sftp-server",
    "procps",
    "smcroute",
    "socat",
    "ssmping",
    "tcpdump",
    "traceroute",
    "tzdata",
    "vim-common",
    "vim-tiny",
    "wireguard-tools",
  ],
  take: [
    "/usr/bin/arping",
    "/usr/bin/busybox",
    "/usr/bin/asmping",
    "/usr/bin/curl",
    "/usr/bin/delv",
    "/usr/bin/dig",
    "/usr/bin/iperf",
    "/usr/bin/iperf3",
    "/usr/bin/ip",
    "/usr/bin/less",
    "/usr/bin/mcfirst",
    "/usr/bin/mtr",
    "/usr/bin/mtr-packet",
    "/usr/bin/ncat",
    "/usr/bin/nstat",
    "/usr/bin/nsupdate",
    "/usr/bin/pgrep",
    "/usr/bin/ping",
    "/usr/bin/ping4",
    "/usr/bin/ping6",
    "/usr/bin/pkill",
    "/usr/bin/scp",
    "/usr/bin/sftp",
    "/usr/bin/socat",
    "/usr/bin/ss",
    "/usr/bin/ssh",
    "/usr/bin/ssh-keygen",
    "/usr/bin/ssh-keyscan",
    "/usr/bin/ssmping",
    "/usr/bin/ssmpingd",
    "/usr/bin/tcpdump",
    "/usr/bin/tracepath",
    "/usr/bin/traceroute.db",
    "/usr/bin/vim.tiny",
    "/usr/bin/wg",
    "/usr/lib/openssh/sftp-server",
    // ncat loads it, and prints an error if it is missing.
    "/usr/lib/@/ossl-modules/legacy.so",
    "/usr/sbin/bridge",
    "/usr/sbin/dnsmasq",
    "/usr/sbin/ethtool",
    "/usr/sbin/ip",
    "/usr/sbin/lldpcli",
    "/usr/sbin/lldpd",
    "/usr/sbin/nft",
    "/usr/sbin/smcroutectl",
    "/usr/sbin/smcrouted",
    "/usr/sbin/sshd",
    "/usr/sbin/tc",
    "/usr/lib/terminfo/",
    ...["Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Etc", "Europe", "Indian", "Pacific", "US"].map(
      (area) => `/usr/share/zoneinfo/${area}/`,
    ),
    ...["CET", "EET", "EST", "GMT", "HST", "MET", "MST", "UTC", "WET"].map((zone) => `/usr/share/zoneinfo/${zone}`),
    "/usr/lib/@/tc/normal.dist",
    "/usr/lib/@/tc/pareto.dist",
    "/usr/lib/@/tc/paretonormal.dist",
    "/usr/share/ca-certificates/mozilla/",
    "/etc/iproute2/",
    "/etc/protocols",
    "/etc/services",
    "/etc/ethertypes",
  ],
  links: {
    "/bin": "usr/bin",
    "/sbin": "usr/sbin",
    "/lib": "usr/lib",
    "/lib64": "usr/lib64",
    "/usr/bin/traceroute": "traceroute.db",
    "/usr/bin/vi": "vim.tiny",
    "/usr/bin/vim": "vim.tiny",
    "/usr/sbin/lldpctl": "lldpcli",
    "/usr/sbin/smcroute": "smcroutectl",
    "/var/run": "/run",
    "/usr/bin/labwright-boot": "/usr/lib/labwright/boot",
    "/etc/mtab": "/proc/self/mounts",
    // The host writes this at every start, so it does not belong on the node's disk.
    "/etc/labwright": "/run/labwright",
  },
  modes: [
    ...["/dev", "/etc", "/home", "/mnt", "/proc", "/run", "/sys", "/usr/lib64", "/var/lib/labwright", "/var/lib/misc", "/var/log"].map(
      (path) => ({
        path,
        mode: 0o755,
      }),
    ),
    { path: "/root", mode: 0o700 },
    { path: "/tmp", mode: 0o1777 },
    { path: "/var/tmp", mode: 0o1777 },
  ],
  busybox: true,
  ownFiles: true,
  disk: true,
};

/** The ids of rootfs/frr/etc/passwd and group. */
const frrUser = 100;
const frrvtyGroup = 101;

const python: Recipe = {
  name: "python",
  description: "base with Python 3, for example for Ansible",
  over: "base",
  packages: ["python3.11", "python3.11-minimal"],
  take: ["/usr/bin/python3.11", "/usr/lib/python3.11/"],
  links: { "/usr/bin/python3": "python3.11", "/usr/bin/python": "python3" },
  modes: [],
  busybox: false,
  ownFiles: false,
  disk: true,
};

const frr: Recipe = {
  name: "frr",
  description: "base with FRRouting and vtysh",
  over: "base",
  packages: ["frr", "libpam-modules"],
  take: [
    "/usr/bin/vtysh",
    ...["babeld", "bfdd", "bgpd", "eigrpd", "fabricd", "isisd", "ldpd", "nhrpd", "ospf6d", "ospfd", "pathd", "pbrd"].map(
      (d) => `/usr/lib/frr/${d}`,
    ),
    ...["pimd", "ripd", "ripngd", "staticd", "vrrpd", "zebra"].map((d) => `/usr/lib/frr/${d}`),
    "/usr/lib/@/security/pam_permit.so",
    "/usr/share/yang/",
  ],
  links: { "/usr/sbin/frr-start": "../lib/labwright/frr-start" },
  modes: [
    { path: "/etc/frr", mode: 0o750, uid: frrUser, gid: frrUser },
    { path: "/etc/frr/vtysh.conf", mode: 0o640, uid: frrUser, gid: frrvtyGroup },
    { path: "/var/log/frr", mode: 0o750, uid: frrUser, gid: frrUser },
  ],
  busybox: false,
  ownFiles: true,
  disk: true,
};

/** The root file system of the process pair that runs all VLAN-aware switches of a lab. */
const openvswitch: Recipe = {
  name: "openvswitch",
  description: "base with Open vSwitch",
  over: "base",
  packages: ["openvswitch-common", "openvswitch-switch"],
  take: [
    ...["ovs-appctl", "ovs-ofctl", "ovs-vsctl", "ovsdb-client", "ovsdb-tool"].map((name) => `/usr/bin/${name}`),
    "/usr/sbin/ovsdb-server",
    "/usr/lib/openvswitch-switch/ovs-vswitchd",
    "/usr/share/openvswitch/vswitch.ovsschema",
  ],
  links: { "/usr/sbin/ovs-vswitchd": "../lib/openvswitch-switch/ovs-vswitchd" },
  modes: [],
  busybox: false,
  ownFiles: true,
};

/** The root file system of VM nodes: the hypervisor and its supervisor. The files of a guest's firmware are included, but no boot from a network, no sound and no screen but VNC. */
const qemu: Recipe = {
  name: "qemu",
  description: "base with QEMU for x86-64 guests",
  over: "base",
  packages: ["genisoimage", "qemu-system-common", "qemu-system-data", "qemu-system-x86", "qemu-utils", "ovmf", "seabios"],
  take: [
    "/usr/bin/genisoimage",
    "/usr/bin/qemu-img",
    "/usr/bin/qemu-system-x86_64",
    ...["kvmvapic.bin", "linuxboot.bin", "linuxboot_dma.bin", "multiboot.bin", "multiboot_dma.bin", "pvh.bin"].map(
      (file) => `/usr/share/qemu/${file}`,
    ),
    ...["accel-tcg-x86_64", "hw-display-virtio-gpu", "hw-display-virtio-gpu-pci", "hw-display-virtio-vga"].map(
      (name) => `/usr/lib/@/qemu/${name}.so`,
    ),
    "/usr/share/qemu/keymaps/",
    // The firmware of QEMU's microvm machine, in which tests run.
    "/usr/share/qemu/qboot.rom",
    "/usr/share/seabios/",
    // UEFI, for guests of firmware: uefi.
    "/usr/share/ovmf/OVMF.fd",
  ],
  links: {},
  modes: [],
  busybox: false,
  ownFiles: true,
  programs: { "/usr/lib/labwright/vm": "supervisor" },
};

/** The guest of template vm: small, and up in seconds without hardware virtualisation. */
const tiny: Recipe = {
  name: "tiny",
  description: "small Linux virtual machine: Debian's cloud kernel, busybox, iproute2",
  packages: ["busybox", "iproute2", "linux-image-cloud-amd64", "qemu-guest-agent"],
  take: ["/usr/bin/busybox", "/usr/bin/ip", "/usr/sbin/qemu-ga", "/usr/sbin/bridge", "/usr/sbin/tc", "/etc/iproute2/"],
  links: {
    "/bin": "usr/bin",
    "/sbin": "usr/sbin",
    "/lib": "usr/lib",
    "/lib64": "usr/lib64",
    "/var/run": "/run",
    "/etc/mtab": "/proc/self/mounts",
  },
  modes: [
    ...["/config", "/dev", "/disk", "/mnt", "/proc", "/run", "/sys", "/system", "/tmp", "/usr/lib64", "/var/log"].map((path) => ({
      path,
      mode: 0o755,
    })),
    { path: "/root", mode: 0o700 },
  ],
  busybox: true,
  ownFiles: true,
  machine: {
    modules: ["virtio_pci", "virtio_blk", "virtio_console", "virtio_net", "isofs", "overlay", "button", "evdev", "8021q"],
    // A kernel with the features that tests of shaping and limits need: test/microvm/microvm.ts boots it.
    loadable: ["act_mirred", "bridge", "cls_u32", "overlay", "sch_ingress", "sch_netem", "tun", "veth"],
    // The same parts of networks as in nodes with a kernel of their own.
    onDemand: [
      ...["bonding", "dummy", "esp4", "esp6", "gcm", "geneve", "ip6_gre", "ip_gre", "ipip", "ipvlan", "macsec", "macvlan", "mpls_gso"],
      ...["mpls_iptunnel", "mpls_router", "sctp", "sit", "team", "vrf", "vxlan", "wireguard", "xfrm_interface", "xfrm_user"],
    ],
    // As in nodes with a kernel of their own, no interface bond0 appears by itself.
    commandLine: "console=ttyS0 quiet panic=5 mitigations=off random.trust_cpu=on cryptomgr.notests no_timer_check bonding.max_bonds=0",
    diskMb: 256,
  },
  only: "x86_64-linux-gnu",
};

/** The kernel of nodes with `kernel: own`. Their roots are those of nodes without it. */
const kernel: Recipe = {
  name: "kernel",
  description: "Debian's cloud kernel for nodes with a kernel of their own",
  packages: ["linux-image-cloud-amd64"],
  take: [],
  links: {},
  modes: [],
  busybox: false,
  ownFiles: false,
  programs: { "/init": "guest" },
  guest: {
    // mpls_router: its sysctls must exist before a program asks for them. The kernel loads the others when they are needed.
    loaded: ["virtio_mmio", "virtio_blk", "virtio_net", "squashfs", "overlay", "virtio_balloon", "mpls_router", "mpls_iptunnel"],
    folders: ["net", "crypto", "lib", "arch/x86/crypto", "drivers/net"],
    without: [
      "drivers/net/ethernet",
      "drivers/net/wireless",
      "drivers/net/phy",
      "drivers/net/usb",
      "drivers/net/hyperv",
      "net/bluetooth",
      "net/9p",
    ],
    diskMb: 2048,
  },
  only: "x86_64-linux-gnu",
};

/** In build order: an image comes after the image below it. */
const recipes: readonly Recipe[] = [base, python, frr, openvswitch, qemu, tiny, kernel];

/** Returns the recipes for machines with this library directory name. */
export function recipesFor(triplet: string): readonly Recipe[] {
  return recipes.filter(({ only }) => only === undefined || only === triplet);
}
