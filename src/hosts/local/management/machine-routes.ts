import { type Ipv4Subnet, ipv4Network } from "../../../intent/addresses/ipv4.ts";
import { type Ipv6Subnet, ipv6Network } from "../../../intent/addresses/ipv6.ts";
import { runOnMachine, succeeded } from "../machine/machine.ts";

/** A destination that the machine has a route for. */
export type MachineRoute<Subnet> = Subnet & {
  /** The device, or the type of a route without one. */
  readonly device: string;
};

/** Routes with a shorter prefix count as default routes: 0.0.0.0/0, but also its halves 0.0.0.0/1 and 128.0.0.0/1. */
const shortestPrefix = 4;

/** Returns the machine's routes, also of its own addresses, without default routes. @param without a device whose routes are left out */
export function machineRoutes(without: string | undefined): Promise<readonly MachineRoute<Ipv4Subnet>[]> {
  return read("-4", ipv4Network, without);
}

/** Returns the same for IPv6. */
export function machineRoutes6(without: string | undefined): Promise<readonly MachineRoute<Ipv6Subnet>[]> {
  return read("-6", ipv6Network, without);
}

async function read<Subnet extends { readonly length: number }>(
  family: "-4" | "-6",
  networkOf: (text: string) => Subnet | undefined,
  without: string | undefined,
): Promise<readonly MachineRoute<Subnet>[]> {
  const argv = ["ip", family, "-j", "route", "show", "table", "all"];
  const { stdout } = succeeded(argv, await runOnMachine(argv));
  const routes = JSON.parse(stdout || "[]") as readonly { readonly dst: string; readonly dev?: string; readonly type?: string }[];
  return routes.flatMap(({ dst, dev, type }) => {
    const subnet = networkOf(dst);
    if (subnet === undefined || subnet.length < shortestPrefix || (dev !== undefined && dev === without)) return [];
    return [{ ...subnet, device: dev ?? type ?? "without a device" }];
  });
}
