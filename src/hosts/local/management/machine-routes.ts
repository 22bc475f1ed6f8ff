import { type Ipv4Subnet, ipv4Network } from "../../../intent/addresses/ipv4.ts";
import { runOnMachine, succeeded } from "../machine/machine.ts";

/** A destination that the machine has a route for. */
export interface MachineRoute extends Ipv4Subnet {
  /** The device, or the type of a route without one. */
  readonly device: string;
}

/** Shorter prefixes are default routes, also as halves of the addresses. */
const shortestPrefix = 4;

/** Returns the machine's routes, also of its own addresses, without default routes. @param without a device whose routes are left out */
export async function machineRoutes(without: string | undefined): Promise<readonly MachineRoute[]> {
  const argv = ["ip", "-4", "-j", "route", "show", "table", "all"];
  const { stdout } = succeeded(argv, await runOnMachine(argv));
  const routes = JSON.parse(stdout || "[]") as readonly { readonly dst: string; readonly dev?: string; readonly type?: string }[];
  return routes.flatMap(({ dst, dev, type }) => {
    const subnet = ipv4Network(dst);
    if (subnet === undefined || subnet.length < shortestPrefix || (dev !== undefined && dev === without)) return [];
    return [{ ...subnet, device: dev ?? type ?? "without a device" }];
  });
}
