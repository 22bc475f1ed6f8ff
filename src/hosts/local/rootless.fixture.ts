import { eventually, labOf, testLocalHost } from "./testing/test-local-host.fixture.ts";

/**
 * Uses the embedded host as an ordinary user, and prints the results as JSON. rootless.test.ts runs it.
 */
await using local = await testLocalHost();
const path = "/rootless";
const lab = labOf(`
name: rootless
nodes:
  a: {template: linux, exec: ["ip addr add 10.0.0.1/24 dev eth0", "ip link set eth0 up"]}
  b: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0", "ip link set eth0 up"]}
links: [["a:eth0", "b:eth0"]]
`);
/** A lab with a node that needs more than its limits allow, if there are limits. */
const small = labOf("name: small\nnodes:\n  s: {template: linux, ram: 64, cpu: 0.5}\n");
const { features } = await local.session.capabilities();
const delegated = features.cpuLimit && features.memoryLimit && features.processLimit;
const rules = await local.session.rules();
const managed = labOf("name: managed\nmanagement: true\nnodes: {m: {template: linux}}\n");
const { unsupported, operations } = (await local.plan("/managed", managed)).plan;
await local.deploy("/managed", managed);
const unmanaged = (await local.plan("/managed", managed)).plan.unsupported;
await local.deploy("/managed", null);
const linux = rules.templates.find(({ id }) => id === "linux");

async function power(node: string, step: "stop" | "start", mode: 0 | 1 | 2 | 3): Promise<string | undefined> {
  const nodes = Object.fromEntries((await local.session.observe(path))!.nodes.map(({ id, name }) => [name, id]));
  const action = {
    id: "0",
    of: "0",
    op: step,
    kind: "node",
    key: node,
    disruption: "none",
    affects: [],
    changes: [],
    prune: false,
  } as const;
  const reason = { code: "requested", text: "" } as const;
  const operation = { ...action, reason, step: step === "stop" ? { do: step, node, mode } : { do: step, node } };
  await local.session.apply(path, [operation], { ids: { nodes, networks: {}, links: {} }, step: () => undefined });
  return (await local.session.status(path)).nodes.find(({ name }) => name === node)?.status;
}

await local.deploy(path, lab);
const ping = await eventually(
  "a reaches b",
  60_000,
  () => local.exec(path, "a", "ping", "-c", "1", "-W", "2", "10.0.0.2"),
  ({ code }) => code === 0,
);
const id = await local.exec(path, "a", "id", "-u");
await local.exec(path, "a", "sh", "-c", "echo kept > /root/kept");
const suspended = await power("a", "stop", 2);
const resumed = await power("a", "start", 3);
const stopped = await power("a", "stop", 3);
const started = await power("a", "start", 3);
const kept = await local.exec(path, "a", "cat", "/root/kept");
await local.deploy(path, null);
if (delegated) await local.deploy("/small", small);
const hog = delegated
  ? await local.exec(
      "/small",
      "s",
      "sh",
      "-c",
      "sleep 1000 & dd if=/dev/zero of=/dev/null bs=200M count=1; kill -0 $! && echo alive; kill $!",
    )
  : undefined;
const load = delegated
  ? await eventually(
      "the status has the node's load",
      20_000,
      async () => (await local.session.status("/small")).nodes[0],
      (one) => one?.memory_bytes !== undefined,
    )
  : undefined;
if (delegated) await local.deploy("/small", null);
const labs = await local.session.labs();

process.stdout.write(
  JSON.stringify({
    uid: process.getuid?.(),
    nat: features.nat,
    hibernate: features.hibernate,
    management: [unsupported, unmanaged, operations.length > 0],
    networkTypes: rules.networkTypes,
    cpu: [linux?.fields["cpu"], linux?.why?.["cpu"]],
    ping: ping.code,
    id: id.stdout.trim(),
    power: [suspended, resumed, stopped, started],
    kept: kept.stdout.trim(),
    labs,
    limits: delegated && { hog: hog?.stdout, memory: load?.memory_bytes, cpu: load?.cpu_percent },
    warnings: local.warnings,
  }),
);
