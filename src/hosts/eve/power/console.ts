import { connect, type Socket } from "node:net";
import { telnetStream } from "../../../console/stream/telnet.ts";
import { Failure } from "../../../contract/errors.ts";
import type { HostConsole } from "../../host.ts";
import { numberOf } from "../api/answer.ts";
import { hostFailure } from "../api/host-failure.ts";
import { shortText } from "../api/short-text.ts";
import { numberClash, readPower } from "../labs/clashes.ts";
import type { EvePlace } from "../labs/world.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { mustReadHead } from "../read/lab-read.ts";
import { powerOf } from "../read/observe.ts";
import { consoleType } from "../templates/template.ts";

const connectMs = 10_000;

/**
 * Opens the node's console by telnet to the host. Reads the port each time, because on Professional it changes with each start. Uses the address of
 * the host's web interface: the host name in the console's URL may not be reachable.
 */
export async function openConsole(place: EvePlace, at: EveLabPath, nodeId: string, tenant: number | undefined): Promise<HostConsole> {
  await mustReadHead(place.account, at);
  const { nodes, clashes } = await readPower(place, at);
  const node = nodes.find(({ id }) => String(id) === nodeId);
  if (node === undefined) throw new Failure("node_not_found", `the lab has no node with id ${nodeId}`);
  if (consoleType(node.console) !== "telnet") {
    throw new Failure("unsupported", `the console of ${node.name} is ${node.console}, which is not text`, {
      data: { feature: "consoleStream" },
    });
  }
  const clash = clashes.get(node.id);
  if (clash !== undefined) throw numberClash(`the console of ${node.name} was not opened`, clash);
  if (node.status !== 2 && node.status !== 3) {
    const owners = place.world.owners.of(place.account);
    const { power } = powerOf(node, place.world.edition, clashes, (id) => owners.isStarting(id, at.path));
    throw new Failure("node_not_running", `node ${node.name} is ${power}`, { data: { node: node.name, power, log: false } });
  }
  const shared = place.world.edition.sharedNames && tenant !== undefined ? communityPort(tenant, node.id) : undefined;
  // PNETLab reports it beside the URL, which may lack it.
  const port = consolePort(node.url) ?? (place.account.pnetlab ? numberOf(node.data.port) : shared);
  if (port === undefined) throw hostFailure(`the host reports no console port for ${node.name}: ${shortText(node.url)}`);
  const socket = await dial(place.world.address, port, node.name);
  const { stream, resize } = telnetStream(socket);
  return { stream, resize };
}

/** Returns the port in a console's URL: telnet://host:port, or the encoded port in a URL of the web console. */
export function consolePort(url: string): number | undefined {
  const native = /^telnet:\/\/(?:\[[^\]]*\]|[^:/]*):(\d+)/.exec(url)?.[1];
  if (native !== undefined) return Number(native);
  const packed = /^\/html5\/#\/client\/([A-Za-z0-9+/=_-]+)/.exec(url)?.[1];
  if (packed === undefined) return undefined;
  const [port = "", kind] = Buffer.from(packed, "base64").toString("latin1").split("\0");
  return kind === "c" && /^\d+$/.test(port) && Number(port) < 65_536 ? Number(port) : undefined;
}

/** On Community Edition the port follows from user and node. */
export function communityPort(tenant: number, node: number): number {
  return 32_768 + 128 * tenant + node;
}

function dial(host: string, port: number, name: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    const fail = (why: string) => {
      socket.destroy();
      reject(hostFailure(`the console of ${name} cannot be reached at ${host}:${port}: ${why}`));
    };
    socket.setTimeout(connectMs, () => fail("no answer"));
    socket.once("error", (error: NodeJS.ErrnoException) => fail(error.code === "ECONNREFUSED" ? "connection refused" : error.message));
    socket.once("connect", () => {
      socket.setTimeout(0);
      socket.removeAllListeners("error").removeAllListeners("timeout");
      resolve(socket);
    });
  });
}
