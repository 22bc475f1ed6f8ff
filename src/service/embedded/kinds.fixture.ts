import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { tarArchive } from "../../files/tar/tar-writer.ts";
import { testedProgram } from "../../files/tested-program.fixture.ts";
import { busyboxLayer, configOf, directory, dockerArchive, file } from "../../hosts/local/containers/tests/archive.fixture.ts";
import { findImages } from "../../hosts/local/images/images.ts";
import { localPaths } from "../../hosts/local/machine/paths.ts";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import type { Call } from "../common/call.ts";
import { createService } from "../create-service.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

/** A kind of container, and how its software is started, spoken to and saved. */
export interface Kind {
  readonly template: string;
  /** The image that a user names. */
  readonly image: string;
  /** Entrypoint of the image. */
  readonly entrypoint?: readonly string[];
  /** The program that is the software, as its image has it. */
  readonly main: string;
  /** Its command line when it was started. */
  readonly argv: RegExp;
  /** Variables that it was started with. */
  readonly env?: Readonly<Record<string, RegExp>>;
  /** Programs to ask and to configure it. */
  readonly programs: readonly string[];
  /** Its prompt, which the console shows. */
  readonly prompt: string;
  /** The name of an interface in a link, and in the kernel of the node. */
  readonly interface: readonly [link: string, kernel: string];
  /** The file with the startup-config when the software starts. */
  readonly config: string;
  readonly startup: string;
  /** Its process expects to be the first one. */
  readonly isFirst?: boolean;
  /** What `labwright save` returns; absent: it saves nothing. */
  readonly saved?: string;
}

const saved = "saved by the stand-in";
const root = (name: string) => `root@${name}:~# `;

export const kinds: readonly Kind[] = [
  {
    template: "frr-container",
    image: "quay.io/frrouting/frr:10.2.1",
    entrypoint: ["/sbin/tini", "--", "/usr/lib/frr/docker-start"],
    main: "/sbin/tini",
    argv: /tini -- \/usr\/lib\/frr\/docker-start$/,
    env: { LABWRIGHT_DAEMONS: /ospfd/ },
    programs: ["/usr/bin/vtysh"],
    prompt: "frr-container# ",
    interface: ["eth3", "eth3"],
    config: "/etc/frr/frr.conf",
    startup: "router bgp 65001\n",
    saved,
  },
  {
    template: "bird",
    image: "ghcr.io/srl-labs/bird:2.13",
    main: "/usr/sbin/bird",
    argv: /bird -f -c \/etc\/bird.conf -s \/run\/bird.ctl$/,
    programs: ["/usr/sbin/birdc"],
    prompt: "bird> ",
    interface: ["eth0", "eth0"],
    config: "/etc/bird.conf",
    startup: "router id 10.0.0.1;\n",
  },
  {
    template: "gobgp",
    image: "docker.io/osrg/gobgp:latest",
    main: "/usr/bin/gobgpd",
    argv: /gobgpd -f \/etc\/gobgp\/gobgp.conf -t toml$/,
    programs: ["/usr/bin/gobgp"],
    prompt: "/ # ",
    interface: ["eth1", "eth1"],
    config: "/etc/gobgp/gobgp.conf",
    startup: "# a comment\n[global.config]\n  as = 65001\n",
  },
  {
    template: "openbgpd",
    image: "docker.io/openbgpd/openbgpd:latest",
    main: "/usr/sbin/bgpd",
    argv: /bgpd -d -f \/etc\/bgpd\/bgpd.conf$/,
    programs: ["/usr/sbin/bgpctl"],
    prompt: "/ # ",
    interface: ["eth1", "eth1"],
    config: "/etc/bgpd/bgpd.conf",
    startup: "AS 65001\n",
  },
  {
    template: "holo",
    image: "ghcr.io/holo-routing/holo:latest",
    entrypoint: ["/usr/bin/holod"],
    main: "/usr/bin/holod",
    argv: /holod$/,
    programs: ["/usr/bin/holo-cli"],
    prompt: "holo# ",
    interface: ["eth1", "eth1"],
    config: "/etc/holo.startup",
    startup: "routing\n!\n",
    saved,
  },
  {
    template: "nokia_srlinux",
    image: "ghcr.io/nokia/srlinux:24.10.1",
    entrypoint: ["/tini", "--", "fixuid", "-q", "/entrypoint.sh"],
    main: "/opt/srlinux/bin/sr_linux",
    argv: /sr_linux$/,
    env: { SRLINUX: /^1$/ },
    programs: ["/usr/bin/sr_cli"],
    prompt: "A:nokia_srlinux# ",
    interface: ["ethernet-1/2", "e1-2"],
    config: "/etc/opt/srlinux/config.json",
    startup: '{"system": {}}\n',
    saved,
  },
  {
    template: "arista_ceos",
    image: "ceos:4.32.0F",
    main: "/sbin/init",
    argv: /init systemd.setenv=CEOS=1 .*systemd.setenv=INTFTYPE=eth systemd.setenv=MAPETH0=1 systemd.setenv=MGMT_INTF=eth0$/,
    env: { container: /^docker$/ },
    programs: ["/usr/bin/Cli"],
    prompt: "arista_ceos#",
    interface: ["Et2", "eth2"],
    config: "/mnt/flash/startup-config",
    startup: "hostname leaf\n",
    isFirst: true,
    saved,
  },
  {
    template: "juniper_crpd",
    image: "crpd:24.2R1",
    entrypoint: ["/sbin/runit-init.sh"],
    main: "/sbin/runit-init.sh",
    argv: /runit-init.sh$/,
    programs: ["/usr/bin/cli"],
    prompt: "root@juniper_crpd> ",
    interface: ["eth1", "eth1"],
    config: "/config/juniper.conf",
    startup: "system { host-name r1; }\n",
    isFirst: true,
    saved,
  },
  {
    template: "cisco_xrd",
    image: "xrd:24.2.1",
    entrypoint: ["/usr/sbin/init"],
    main: "/usr/sbin/init",
    argv: /init$/,
    env: {
      XR_INTERFACES: /^linux:Gi0-0-0-0,xr_name=Gi0\/0\/0\/0;linux:Gi0-0-0-1,xr_name=Gi0\/0\/0\/1$/,
      XR_FIRST_BOOT_CONFIG: /^\/etc\/xrd\/first-boot.cfg$/,
    },
    programs: ["/pkg/bin/xr_cli", "/pkg/bin/xr_cli.sh"],
    prompt: "RP/0/RP0/CPU0:xrd#",
    interface: ["Gi0/0/0/1", "Gi0-0-0-1"],
    config: "/etc/xrd/first-boot.cfg",
    startup: "hostname xrd\n",
    isFirst: true,
    saved,
  },
  {
    template: "sonic-vs",
    image: "docker-sonic-vs:202405",
    entrypoint: ["/usr/local/bin/supervisord"],
    main: "/usr/local/bin/supervisord",
    argv: /supervisord$/,
    programs: ["/usr/bin/supervisorctl", "/usr/bin/sonic-cfggen"],
    prompt: root("sonic"),
    interface: ["Ethernet8", "eth3"],
    config: "/etc/sonic/config_db.json",
    startup: '{"DEVICE_METADATA": {}}\n',
    saved,
  },
  {
    template: "vyosnetworks_vyos",
    image: "vyos:1.5",
    main: "/sbin/init",
    argv: /init$/,
    env: { container: /^docker$/ },
    programs: ["/usr/bin/su", "/usr/bin/systemctl"],
    prompt: "vyos@vyos:~$ ",
    interface: ["eth1", "eth1"],
    config: "/opt/vyatta/etc/config/config.boot",
    startup: "system { }\n",
    isFirst: true,
    saved,
  },
  {
    template: "cumulus_cvx",
    image: "docker.io/networkop/cx:4.4.0",
    main: "/sbin/init",
    argv: /init$/,
    programs: ["/usr/bin/systemctl"],
    prompt: root("cvx"),
    interface: ["swp2", "swp2"],
    config: "/etc/network/interfaces",
    startup: "auto swp2\n",
    isFirst: true,
    saved: "auto swp2",
  },
  {
    template: "vrnetlab",
    image: "vrnetlab/cisco_c8000v:17.11",
    entrypoint: ["/launch.py"],
    main: "/launch.py",
    argv: /launch.py --username admin --password admin --hostname vrnetlab --connection-mode tc --trace$/,
    env: { CLAB_INTFS: /^1$/ },
    programs: ["/usr/bin/telnet", "/healthcheck.py"],
    prompt: "vrnetlab#",
    interface: ["Gi2", "eth1"],
    config: "/config/startup-config.cfg",
    startup: "hostname csr\n",
  },
];

/** The software of a kind and all its programs. On a terminal it is a command line with the prompt of the kind. */
const standIn = `#!/bin/sh
. /stand-in.conf
name=\${0##*/}
if [ "$0" = "$MAIN" ]; then
  echo "$0 $*" > /run/stand-in.argv
  env > /run/stand-in.env
  echo $$ > /run/stand-in.pid
  ls /sys/class/net > /run/stand-in.links
  cat "$CONFIG" > /run/stand-in.config
  set -- $(ls -ld /run/stand-in)
  echo "$1 $3" > /run/stand-in.directory
  trap 'exit 0' TERM
  touch /run/stand-in.up
  while :; do sleep 0.3; done
fi
[ -e /run/stand-in.up ] || { echo "$name: the software does not run" >&2; exit 1; }
case $name in systemctl|supervisorctl) echo "active RUNNING"; exit 0 ;; esac
if [ -t 0 ] && [ -t 1 ]; then
  while printf '%s' "$PROMPT" && read -r line; do
    case $line in "") ;; exit) exit 0 ;; *) echo "$KIND has read: $line" ;; esac
  done
  exit 0
fi
case "$name $*" in
  'sr_cli -ed') cat > /run/stand-in.entered ;;
  *'configuration save') mkdir -p /etc/opt/srlinux; echo "$SAVED" > /etc/opt/srlinux/config.json ;;
  *'write memory') echo "$SAVED" > "$CONFIG" ;;
  *running*|*configuration*|*print-data*) echo "$SAVED"; echo running ;;
  *) echo running ;;
esac
`;

/** Returns the archive of an image in which all programs of the kind are the stand-in. */
function imageOf(kind: Kind, system: Buffer): Buffer {
  const settings = {
    KIND: kind.template,
    MAIN: kind.main,
    PROMPT: kind.prompt,
    CONFIG: kind.config,
    SAVED: kind.saved ?? "",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}='${value}'`);
  const executable = { mode: 0o755 };
  const layer = tarArchive([
    file("stand-in.conf", `${lines.join("\n")}\n`),
    file("etc/profile", `PS1='${kind.prompt}'\n`),
    file("etc/passwd", "root:x:0:0::/root:/bin/sh\nfrr:x:92:92::/:/bin/sh\n"),
    file("etc/group", "root:x:0:\nfrr:x:92:\n"),
    file("usr/bin/bash", '#!/bin/sh\nexec /bin/sh "$@"\n', executable),
    directory("run/stand-in", 0o750),
    ...[...new Set([kind.main, ...kind.programs])].map((path) => file(path.replace(/^\/bin\//, "/usr/bin/").slice(1), standIn, executable)),
  ]);
  const config = kind.entrypoint === undefined ? {} : { Entrypoint: kind.entrypoint };
  return dockerArchive([system, layer], configOf([system, layer], config), [kind.image]);
}

/** A service on an embedded host that has the images of kinds. */
export interface KindsService extends AsyncDisposable {
  readonly local: TestLocalHost;
  post<Id extends keyof Handlers>(id: Id, body: object): ReturnType<Handlers[Id]>;
}

export async function kindsService(some: readonly Kind[]): Promise<KindsService> {
  const images = await mkdtemp(join(tmpdir(), "labwright-kinds-"));
  await chmod(images, 0o711);
  const machine = localPaths(process.env, 0);
  const base = (await findImages(machine.images)).find(({ name }) => name === "base")!;
  await symlink(dirname(base.rootfs), join(images, basename(dirname(base.rootfs))));
  const local = await testLocalHost({ images });
  const system = busyboxLayer(base.rootfs);
  for (const kind of some) {
    const path = join(images, "image.tar");
    await writeFile(path, imageOf(kind, system));
    const env = { ...process.env, LABWRIGHT_STATE_DIR: local.paths.state, LABWRIGHT_IMAGE_DIR: images };
    const argv = [testedProgram("hosts/local/containers/main"), "add", path, "--name", kind.image];
    execFileSync(process.execPath, argv, { env, stdio: "pipe" });
    await rm(path);
  }
  const service: Service = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  const call: Call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };
  const request = { body: { username: "admin", password: "test" }, query: undefined, params: undefined };
  const token = (await service.handlers.login(request, null, call)).token!;
  return {
    local,
    post: (id, body) => {
      const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => never;
      return handle({ body, query: {}, params: body }, service.authenticate(token), call);
    },
    async [Symbol.asyncDispose]() {
      await service.close();
      await local[Symbol.asyncDispose]();
      await rm(images, { recursive: true, force: true });
    },
  };
}

/** Returns a lab with one node of each kind, all in one network. */
export function labOfKinds(some: readonly Kind[]): { readonly yaml: string; readonly files: Readonly<Record<string, string>> } {
  const nodes = some.map(
    ({ template, image }) => `  ${template}: {template: ${template}, image: "${image}", ram: 128, startup-config: ${template}.cfg}`,
  );
  const links = some.map(({ template, interface: [name] }) => `  - ["${template}:${name}", lan]`);
  const yaml = `name: kinds\nnodes:\n${nodes.join("\n")}\nnetworks:\n  lan: {type: bridge}\nlinks:\n${links.join("\n")}\n`;
  return { yaml, files: Object.fromEntries(some.map(({ template, startup }) => [`${template}.cfg`, startup])) };
}
