import { eventually, type TestLocalHost } from "./test-local-host.fixture.ts";

/** A lab of nodes with one address each. */
export function hosts(names: readonly string[], links: readonly string[], more = ""): string {
  const nodes = names.map(
    (name, i) => `  ${name}:\n    template: linux\n    ethernet: 2\n    exec: ["ip addr add 10.0.0.${i + 1}/24 dev eth0"]\n`,
  );
  return `name: t\nnodes:\n${nodes.join("")}${more}links:\n${links.map((link) => `  - [${link}]\n`).join("") || "  []\n"}`;
}

/** Returns functions that wait for a state of a lab. @param local the host, which may be opened later */
export function labChecks(local: () => TestLocalHost) {
  const pings = async (path: string, from: string, address: string) =>
    (await local().exec(path, from, "ping", "-c", "1", "-W", "1", address)).code === 0;
  const reaches = (path: string, from: string, address: string, wanted = true, ms = 30_000) =>
    eventually(
      `${from} ${wanted ? "reaches" : "does not reach"} ${address}`,
      ms,
      () => pings(path, from, address),
      (answer) => answer === wanted,
    );
  const power = async (path: string) =>
    Object.fromEntries((await local().session.status(path)).nodes.map((node) => [node.name, node.status]));
  const powers = (path: string, wanted: Readonly<Record<string, string>>) =>
    eventually(
      `${path} is ${JSON.stringify(wanted)}`,
      60_000,
      () => power(path),
      (all) => JSON.stringify(all) === JSON.stringify(wanted),
    );
  const allRun = (path: string) =>
    eventually(
      "all nodes run",
      60_000,
      () => power(path),
      (all) => Object.values(all).every((one) => one === "running"),
    );
  return { pings, reaches, power, powers, allRun };
}
