import { afterAll, beforeAll, expect } from "vitest";
import { eventually, exampleLab, type TestLocalHost, testLocalHost } from "../src/hosts/local/testing/test-local-host.fixture.ts";

type Routes = Readonly<
  Record<string, readonly { readonly selected?: boolean; readonly protocol: string; readonly nexthops: readonly NextHop[] }[]>
>;
type NextHop = { readonly fib?: boolean; readonly interfaceName: string };

/** Deploys example labs on an embedded host of the test file's own, and looks into their nodes. */
export function deployedLabs() {
  let made: TestLocalHost | undefined;
  const local = (): TestLocalHost => made!;
  beforeAll(async () => {
    made = await testLocalHost();
  });
  afterAll(async () => {
    await made?.[Symbol.asyncDispose]();
  });
  const patience = 120_000;

  const deploy = async (name: string, edit?: (yaml: string) => string) => {
    const lab = await exampleLab(name, edit);
    const { plan } = await local().deploy(`/${name}`, lab);
    expect(plan.blocked).toEqual([]);
    expect((await local().plan(`/${name}`, lab)).plan.operations).toEqual([]);
    return plan;
  };
  const run = async (name: string, node: string, ...argv: readonly string[]) => (await local().exec(`/${name}`, node, ...argv)).stdout;
  const frr = async <T>(name: string, node: string, command: string): Promise<T | undefined> => {
    const { code, stdout } = await local().exec(`/${name}`, node, "vtysh", "-c", `${command} json`);
    try {
      return code === 0 ? (JSON.parse(stdout) as T) : undefined;
    } catch {
      return undefined; // daemons report their start in text
    }
  };
  /** Interfaces that the forwarding table sends the prefix out of, by the protocol. */
  const ways = async (name: string, node: string, prefix: string, protocol: string) => {
    const routes = await frr<Routes>(name, node, `show ip route ${prefix}`);
    const chosen = routes?.[prefix]?.find((route) => route.selected === true && route.protocol === protocol);
    return (chosen?.nexthops ?? []).flatMap((hop) => (hop.fib === true ? hop.interfaceName : [])).sort();
  };
  const goes = (name: string, node: string, prefix: string, protocol: string, wanted: readonly string[]) =>
    eventually(
      `${node} sends ${prefix} out of ${wanted}`,
      patience,
      () => ways(name, node, prefix, protocol),
      (found) => JSON.stringify(found) === JSON.stringify(wanted),
    );
  const pings = (name: string, node: string, address: string) =>
    eventually(
      `${node} reaches ${address}`,
      patience,
      () => local().exec(`/${name}`, node, "ping", "-c", "1", "-W", "2", address),
      ({ code }) => code === 0,
    );
  /** The machine's address on a nat network, once the node has it as its default route. */
  const leadsOut = async (name: string, node: string) =>
    (await eventually(
      `${node} has a default route`,
      patience,
      async () => /default via (\S+)/.exec(await run(name, node, "ip", "route"))?.[1],
      (found) => found !== undefined,
    )) ?? "";
  /** The shortest round trip of a few, in ms. */
  const roundTrip = async (name: string, node: string, address: string) =>
    Number(/min\/avg.* = ([\d.]+)\//.exec(await run(name, node, "ping", "-c", "5", "-i", "0.2", "-W", "5", address))?.[1]);
  return { local, deploy, run, goes, pings, leadsOut, roundTrip, frr, patience };
}
