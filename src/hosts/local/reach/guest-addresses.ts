import { Failure } from "../../../contract/errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { InterfaceAddresses } from "./interface-addresses.ts";

/** Maximum number of programs at the same time. Each asks one guest. */
const maxAtOnce = 4;
/** Maximum time of an answer, ms, and its maximum bytes: the node is not trusted. */
const limits = { timeoutMs: 3_000, maxOutputBytes: 1 << 20 };
/** Maximum addresses of an interface that are reported. */
const maxAddresses = 64;

/** Reads the addresses of running nodes with kernels of their own, as interfaceAddresses does for others. A node that does not answer has none. */
export async function guestAddresses(
  sandbox: Pick<Sandbox, "exec">,
  nodes: readonly number[],
): Promise<ReadonlyMap<number, InterfaceAddresses>> {
  const found = new Map<number, InterfaceAddresses>();
  const queue = [...nodes];
  const next = async () => {
    for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
      try {
        found.set(node, addressesIn((await sandbox.exec(node, ["ip", "-o", "address", "show"], limits)).stdout));
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: maxAtOnce }, next));
  return found;
}

/** Reads lines such as "2: eth0    inet 10.0.0.1/24 scope global eth0". */
function addressesIn(text: string): InterfaceAddresses {
  const found = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [, name = "", address = "", rest = ""] = /^\d+: (\S+) +inet6? ([\da-f.:]+\/\d+) (.*)$/.exec(line) ?? [];
    if (address === "" || rest.includes("scope host")) continue;
    const known = found.get(name) ?? [];
    found.set(name, known);
    if (known.length < maxAddresses) known.push(address);
  }
  return found;
}
