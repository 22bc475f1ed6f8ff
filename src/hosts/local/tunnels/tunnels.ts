import { setTimeout as delay } from "node:timers/promises";
import { KeyedQueue } from "../../../base/keyed-queue.ts";
import { Failure } from "../../../contract/errors.ts";
import { networkBridge } from "../links/fabric.ts";
import { asWire } from "../links/fabric-change.ts";
import { runOnMachine, succeeded } from "../machine/machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type Tunnel, tunnelDevice } from "./tunnel.ts";
import { tunnelFilter, tunnelTable } from "./tunnel-filter.ts";
import { inUnderlay, type TunnelPolicy, type TunnelUnderlay } from "./tunnel-policy.ts";

/** A tunnel as the kernel has it. */
export interface LiveTunnel extends Omit<Tunnel, "isWire"> {
  readonly local: string;
  readonly up: boolean;
}

/** Changes of a lab's tunnels. A lab that ends removes its rules, also during a change, which must not make them again after that. */
const labQueue = new KeyedQueue();

/**
 * Makes the tunnels of a lab what is wanted. A device is made in the fabric at once, from the machine's namespace: it sends and receives there, and the lab
 * never sees that namespace. A move of the device would wait for the kernel's readers.
 */
export function ensureTunnels(
  lab: string,
  sandbox: Pick<Sandbox, "pid" | "run">,
  wanted: readonly Tunnel[],
  policy: TunnelPolicy | undefined,
  underlay?: TunnelUnderlay,
): Promise<void> {
  return labQueue.run(lab, async () => {
    const actual = await readTunnels(sandbox);
    if (wanted.length === 0 && actual.length === 0) return;
    const means = policy ?? underlay;
    if (means === undefined) {
      if (actual.length > 0) {
        await removeDevices(sandbox, actual);
        await deleteTable(lab, undefined);
      }
      if (wanted.length > 0) throw new Failure("operation_not_allowed", noTunnels);
      return;
    }
    const localOf = ({ isWire }: Pick<Tunnel, "isWire">) => (isWire === true ? (underlay ?? means).local : means.local);
    const isSame = (a: LiveTunnel, b: Tunnel) =>
      a.network === b.network &&
      a.remote === b.remote &&
      a.vni === b.vni &&
      a.port === b.port &&
      a.mtu === b.mtu &&
      a.local === localOf(b) &&
      a.up;
    const gone = actual.filter((one) => !wanted.some((other) => isSame(one, other)));
    const kept = new Set(actual.filter((one) => !gone.includes(one)).map(({ network }) => network));
    const missing = wanted.filter(({ network }) => !kept.has(network));
    if (gone.length > 0) await removeDevices(sandbox, gone);
    if (wanted.length === 0) return deleteTable(lab, means);
    const filter = async (tunnels: readonly Tunnel[]) => {
      if (tunnels.length === 0) return deleteTable(lab, means);
      const rules = tunnelFilter(lab, tunnels, localOf);
      succeeded(["nft", "-f", "-"], await runOnMachine(inUnderlay(means, ["nft", "-f", "-"]), rules));
    };
    if (missing.length === 0) return filter(wanted);
    try {
      await makeDevices(sandbox, missing, means, localOf, () => filter(wanted));
    } catch (error) {
      // The filter of a number that belongs to another lab would cut the tunnel of that lab.
      await filter(wanted.filter(({ network }) => kept.has(network)));
      throw error;
    }
  });
}

/**
 * Removes the tunnels of a lab that is about to end or has ended.
 * @param sandbox absent: it has ended, or does not answer; the kernel then removes the devices with the fabric, a moment after its end
 */
export function removeTunnels(
  lab: string,
  policy: TunnelUnderlay | undefined,
  sandbox: Pick<Sandbox, "alive" | "run"> | undefined,
): Promise<void> {
  if (policy === undefined) return Promise.resolve();
  return labQueue.run(lab, async () => {
    if (sandbox !== undefined) await endDevices(sandbox);
    await deleteTable(lab, policy);
  });
}

async function endDevices(sandbox: Pick<Sandbox, "alive" | "run">): Promise<void> {
  try {
    await removeDevices(sandbox, await readTunnels(sandbox));
  } catch (error) {
    // A sandbox that ended has none.
    if (await sandbox.alive()) throw error;
  }
}

/** Reads the tunnels of the fabric from the kernel. */
export async function readTunnels(sandbox: Pick<Sandbox, "run">): Promise<readonly LiveTunnel[]> {
  const argv = ["ip", "-d", "-j", "link", "show", "type", "vxlan"];
  const found = JSON.parse(succeeded(argv, await sandbox.run(argv)).stdout || "[]") as Partial<IpVxlan>[];
  return found.flatMap(({ ifname, flags = [], mtu = 0, linkinfo, master }) => {
    const network = /^v(\d+)$/.exec(ifname ?? "")?.[1];
    if (network === undefined) return [];
    const { id = 0, remote = "", local = "", port = 0 } = linkinfo?.info_data ?? {};
    const up = flags.includes("UP") && master === networkBridge(Number(network));
    return [{ network: Number(network), remote, vni: id, port, mtu, local, up }];
  });
}

interface IpVxlan {
  readonly ifname: string;
  readonly flags: readonly string[];
  readonly mtu: number;
  readonly master: string;
  readonly linkinfo: {
    readonly info_data?: { readonly id?: number; readonly remote?: string; readonly local?: string; readonly port?: number };
  };
}

/**
 * Without learning, all frames go to the remote machine: arriving packets change nothing.
 * @param filter called before the devices go up: no packet of another machine may enter a new device, and a number of another lab must not be filtered
 */
async function makeDevices(
  sandbox: Pick<Sandbox, "pid" | "run">,
  tunnels: readonly Tunnel[],
  policy: TunnelUnderlay,
  localOf: (tunnel: Tunnel) => string,
  filter: () => Promise<void>,
): Promise<void> {
  const lines = tunnels.map((tunnel) => {
    const { network, vni, remote, port, mtu } = tunnel;
    const ends = `local ${localOf(tunnel)} remote ${remote}`;
    return `link add name ${tunnelDevice(network)} netns ${sandbox.pid} mtu ${mtu} type vxlan id ${vni} ${ends} dstport ${port} nolearning\n`;
  });
  for (let left = releaseAttempts; ; left--) {
    const made = await runOnMachine(inUnderlay(policy, ["ip", "-batch", "-"]), lines.join(""));
    if (made.code === 0) break;
    // Those before the failure.
    await removeDevices(
      sandbox,
      (await readTunnels(sandbox)).filter(({ up }) => !up),
    );
    const taken = /VNI already exists/.test(made.stderr) ? tunnels[Number(/-:(\d+)/.exec(made.stderr)?.[1] ?? 0) - 1] : undefined;
    if (taken === undefined) succeeded(["ip", "-batch", "-"], made);
    else if (left === 0) throw takenVni(taken);
    await delay(50);
  }
  await filter();
  const argv = ["ip", "-batch", "-"];
  const joined = tunnels
    .map(({ network, isWire }) => {
      const device = tunnelDevice(network);
      return `link set dev ${device} master ${networkBridge(network)} up\n${isWire === true ? `${asWire(device)}\n` : ""}`;
    })
    .join("");
  // The kernel opens the port for the first device that is up.
  const up = await sandbox.run(argv, joined);
  if (/Address already in use/.test(up.stderr)) throw takenPort(tunnels[0]!.port);
  succeeded(argv, up);
}

function takenPort(port: number): Failure {
  const message = `another program of this machine has the UDP port ${port} of links between machines: ss -lunp shows which; end it, and try again`;
  return new Failure("host_error", message, { data: { host: { message } } });
}

/** The kernel frees the numbers of a fabric whose holder was killed a moment after its end. */
const releaseAttempts = 20;

/** Returns the failure of a tunnel whose number is in use on this machine. */
export function takenVni({ vni, port }: Pick<Tunnel, "vni" | "port">): Failure {
  const message = `VNI ${vni} at port ${port} belongs to another lab or program of this machine: choose another VNI, the same on both machines`;
  return new Failure("host_error", message, { data: { host: { code: "vni_taken", message } } });
}

const noTunnels =
  "networks of type vxlan are not available: labwright serve --vxlan-local ADDRESS --vxlan-remote NETWORK, as root, allows them";

/** Deletes the devices as one group, which waits once for the kernel's readers. */
async function removeDevices(sandbox: Pick<Sandbox, "run">, tunnels: readonly Tunnel[]): Promise<void> {
  if (tunnels.length === 0) return;
  const argv = ["ip", "-batch", "-"];
  const lines = tunnels.map(({ network }) => `link set dev ${tunnelDevice(network)} group ${removalGroup}\n`);
  succeeded(argv, await sandbox.run(argv, `${lines.join("")}link del group ${removalGroup}\n`));
}

/** A device group that nothing else in a fabric has. */
const removalGroup = 67;

async function deleteTable(lab: string, policy: TunnelUnderlay | undefined): Promise<void> {
  const argv = ["nft", "delete", "table", "inet", tunnelTable(lab)];
  const result = await runOnMachine(inUnderlay(policy, argv));
  if (result.code !== 0 && !/No such file or directory/.test(result.stderr)) succeeded(argv, result);
}
