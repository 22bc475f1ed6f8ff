import fc from "fast-check";
import { canonicalShape, type LabShape } from "../shapes/shape.ts";
import { canonicalLab } from "./canonical.ts";
import type { Endpoint, Lab, LabLink, LabNetwork, LabNode, Quality, Scalar, Vxlan } from "./lab.ts";
import type { Switching } from "./switching.ts";

/**
 * Valid canonical labs: templates linux, frr, switch and pc, networks bridge and nat, every interface (eth1 …) used once. Two labs of one run share
 * many keys, so that a plan from one to the other creates, changes and deletes.
 */
export function arbitraryLab(
  limits: { readonly maxNodes?: number; readonly maxLinks?: number; readonly hasShapes?: boolean; readonly hasTunnels?: boolean } = {},
): fc.Arbitrary<Lab> {
  const { maxNodes = 6, maxLinks = 8, hasShapes = false, hasTunnels = false } = limits;
  return fc
    .record({
      name: fc.constantFrom("campus", "bgp-1", "Lab.2"),
      description: fc.option(text, { nil: undefined }),
      management: fc.constantFrom(
        undefined,
        undefined,
        {},
        { ipv4Subnet: "172.20.20.0/24" },
        { ipv4Subnet: "10.9.0.0/16", ipv6Subnet: "fd00::/64" },
        { ipv6Subnet: "auto" },
      ),
      nodeKeys: fc.uniqueArray(fc.constantFrom(...nodeKeys), { maxLength: maxNodes }),
      networkKeys: fc.uniqueArray(fc.constantFrom("lan", "inet", "core-net", "b"), { maxLength: 3 }),
      texts: fc.array(fc.record({ text, x: coordinate, y: coordinate }), { maxLength: 2 }),
      ...(hasShapes && { shapes: fc.array(arbitraryShape(), { maxLength: 2 }) }),
    })
    .chain(({ name, description, management, nodeKeys: keys, networkKeys, texts, shapes = [] }) =>
      fc
        .record({
          nodes: fc.tuple(...keys.map(arbitraryNode)),
          networks: fc.tuple(...networkKeys.map((key) => arbitraryNetwork(key, hasTunnels))),
          links: fc.array(arbitraryRawLink(keys, networkKeys), { maxLength: keys.length === 0 ? 0 : maxLinks }),
          filters: fc.uniqueArray(arbitraryFilter(keys), { maxLength: 2, selector: (filter) => filter.name }),
        })
        .map(({ nodes, networks, links: raw, filters }) => {
          const links = connect(raw);
          const used = (key: string) =>
            links.flatMap(({ endpoints }) => endpoints).filter((end) => "node" in end && end.node === key).length;
          return canonicalLab({
            name,
            ...(description === undefined ? {} : { description }),
            ...(management === undefined ? {} : { management }),
            nodes: nodes.map((node) => (node.ethernet === undefined ? node : { ...node, ethernet: node.ethernet + used(node.key) })),
            networks,
            links,
            trafficFilters: filters.map(({ link, ...filter }) =>
              link === undefined || links.length === 0 ? filter : { ...filter, links: [canonicalKey(links, link)] },
            ),
            texts,
            shapes,
          });
        }),
    );
}

function arbitraryShape(): fc.Arbitrary<LabShape> {
  const size = fc.integer({ min: 1, max: 500 });
  const color = fc.constantFrom(undefined, "#2563eb", "#ff000080");
  const look = {
    color,
    style: fc.constantFrom(undefined, "dashed" as const, "dotted" as const),
    thickness: fc.constantFrom(undefined, 0, 5),
    layer: fc.constantFrom(undefined, -1, 2),
  };
  const mark = fc.constantFrom(undefined, "arrow" as const, "circle" as const, "square" as const);
  const whole = fc.integer({ min: -2000, max: 2000 });
  const place = { x: whole, y: whole };
  const type = fc.constantFrom("rectangle" as const, "ellipse" as const);
  return fc
    .oneof(
      fc.record({ type, ...place, width: size, height: size, ...look, fill: color, rotation: fc.constantFrom(undefined, 30, 145) }),
      fc.record({ type: fc.constant("line" as const), ...place, x2: whole, y2: whole, ...look, start: mark, end: mark }),
    )
    .map((shape) => canonicalShape(shape as LabShape));
}

const nodeKeys = ["r1", "r2", "r3", "sw-1", "h1", "h2", "R_10", "1", "constructor", "a.b"];

/** Mostly ordinary words, sometimes words with a special meaning in YAML. */
const text: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom("core", "two words", "10.0.0.1/24", "ip link set eth1 up", "hostname r1\n!\nline\n", "first\n\n  second\n"),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "yes",
      "null",
      "0x1F",
      "1e3",
      "- a",
      "a: b",
      "a #b",
      "'",
      '"',
      "[x]",
      "{y}",
      "&a",
      "*b",
      "!t",
      "%d",
      "@",
      "`",
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      " lead",
      "trail ",
      "\n",
      "a\n\n",
      "\ta\n b\n",
      "a\r\nb\r\n",
      "a\n ",
      "---",
      "...\n---\n",
      "ü→😀",
      "a\u2028b",
      "\u0085",
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }).filter((some) => !some.includes("\0")) },
);

const line: fc.Arbitrary<string> = text.map((some) => some.replace(/\p{Cc}/gu, " ").slice(0, 60)).filter((some) => some.trim() !== "");

const coordinate = fc.oneof(fc.integer({ min: -2000, max: 2000 }), fc.constantFrom(0, 0.5, -12.25));

const position = fc.record({ x: coordinate, y: coordinate });

const variable = fc.constantFrom("A", "PATH_2", "tz", "__proto__", "1", "x.y-z");

function record<T>(value: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> {
  return fc
    .uniqueArray(fc.tuple(variable, value), { maxLength: 3, selector: ([key]) => key })
    .map((entries) => Object.fromEntries(entries));
}

const scalar: fc.Arbitrary<Scalar> = fc.oneof(text, fc.boolean(), fc.integer(), fc.constantFrom(0.5, -1.25, 1e21));

const config = fc.oneof(
  fc.constant({}),
  text.map((some) => ({ startupConfig: some })),
  fc.constantFrom("hostname a\n", "", "one line", "x\ny").map((some) => ({ startupConfig: some, file: true })),
);

const fileAttributes = fc.record({ mode: fc.constantFrom(0o644, 0o7, 0o755), owner: fc.constantFrom("frr", "0:0") }, { requiredKeys: [] });
const nodeFile = fc.tuple(text, fileAttributes).map(([some, more]) => ({ text: some, ...more }));

/** The fields of a node for its files; the first one may come from a file of the lab. */
function arbitraryFiles(key: string): fc.Arbitrary<Pick<LabNode, "files" | "fileSources">> {
  return fc.tuple(fc.record({ "/etc/a": nodeFile, "/opt/b c": nodeFile }, { requiredKeys: [] }), fc.boolean()).map(([files, hasSource]) => {
    if (Object.keys(files).length === 0) return {};
    return { files, ...(hasSource && Object.hasOwn(files, "/etc/a") && { fileSources: { "/etc/a": `files/${key}.txt` } }) };
  });
}

function arbitraryNode(key: string): fc.Arbitrary<LabNode> {
  return fc
    .record({
      config,
      files: arbitraryFiles(key),
      required: fc.record({
        name: fc.oneof(fc.constant(key), line),
        template: fc.constantFrom("linux", "frr", "switch", "pc"),
        exec: fc.array(text, { maxLength: 2 }),
        env: record(text),
        attributes: record(scalar),
        labels: record(text),
      }),
      optional: fc.record(
        {
          image: fc.oneof(fc.constantFrom("default", "7.10", "frr:9.1"), line),
          icon: fc.constantFrom("Router.png", "Server 2.png"),
          kernel: fc.constant("own" as const),
          cpu: fc.constantFrom(1, 2, 0.5),
          ram: fc.constantFrom(64, 256, 1024),
          ethernet: fc.integer({ min: 0, max: 4 }),
          start: fc.boolean(),
          position,
          // Without interfaces, which links would have to use.
          switching: fc.constantFrom<Switching>({}, { spanningTree: { mode: "off" } }, { spanningTree: { mode: "rstp", priority: 4096 } }),
        },
        { requiredKeys: [] },
      ),
    })
    .map(({ config: some, files, required, optional }) => {
      const { startupConfig, file } = some as { readonly startupConfig?: string; readonly file?: boolean };
      return {
        key,
        ...required,
        ...optional,
        ...files,
        ...(startupConfig === undefined ? {} : { startupConfig }),
        ...(file ? { startupConfigFile: `configs/${key}.conf` } : {}),
      } as LabNode;
    });
}

const arbitraryVxlan: fc.Arbitrary<Vxlan> = fc.record(
  {
    remote: fc.constantFrom("192.0.2.7", "198.51.100.1"),
    vni: fc.integer({ min: 1, max: 16_777_215 }),
    port: fc.integer({ min: 1, max: 4000 }),
  },
  { requiredKeys: ["remote", "vni"] },
);

function arbitraryNetwork(key: string, hasTunnels: boolean): fc.Arbitrary<LabNetwork> {
  return fc
    .record({ name: fc.oneof(fc.constant(key), line), type: fc.constantFrom("bridge", "nat") })
    .chain((required) =>
      fc
        .record({ icon: fc.constantFrom("Cloud.png"), position, ...(hasTunnels && { vxlan: arbitraryVxlan }) }, { requiredKeys: [] })
        .map((optional) => ({ key, ...required, ...optional, ...(optional.vxlan !== undefined && { type: "vxlan" }) })),
    );
}

const quality: fc.Arbitrary<Quality> = fc.record(
  {
    delay: fc.constantFrom(0, 20, 10_000),
    jitter: fc.constantFrom(0, 2, 0.5),
    loss: fc.constantFrom(0, 0.5, 100),
    bandwidth: fc.constantFrom(0, 10_000),
  },
  { requiredKeys: [] },
);

interface RawLink {
  readonly a: string;
  readonly b: string;
  readonly toNetwork: boolean;
  readonly effects: Partial<Pick<LabLink, "quality" | "suspended" | "mtu">>;
}

function arbitraryRawLink(nodes: readonly string[], networks: readonly string[]): fc.Arbitrary<RawLink> {
  if (nodes.length === 0) return fc.constant({ a: "", b: "", toNetwork: false, effects: {} });
  const ends = fc.oneof(
    fc.record({ b: fc.constantFrom(...nodes), toNetwork: fc.constant(false) }),
    ...(networks.length === 0 ? [] : [fc.record({ b: fc.constantFrom(...networks), toNetwork: fc.constant(true) })]),
  );
  const effects = fc.record(
    {
      quality: fc.oneof(
        quality.map((both) => ({ a: both, b: both })),
        fc.record({ a: quality, b: quality }, { requiredKeys: [] }),
      ),
      suspended: fc.record({ a: fc.boolean(), b: fc.boolean() }),
      mtu: fc.constantFrom(1400, 1500, 9000),
    },
    { requiredKeys: [] },
  );
  return fc
    .record({ a: fc.constantFrom(...nodes), ends, effects })
    .map(({ a, ends: { b, toNetwork }, effects: some }) => ({ a, b, toNetwork, effects: some }));
}

/** Gives every end the next interface of its node. */
function connect(raw: readonly RawLink[]): readonly LabLink[] {
  const next = new Map<string, number>();
  const end = (node: string): Endpoint => {
    const number = (next.get(node) ?? 0) + 1;
    next.set(node, number);
    return { node, interface: `eth${number}` };
  };
  const links = raw.map(({ a, b, toNetwork, effects }) => {
    const endpoints: readonly [Endpoint, Endpoint] = [end(a), toNetwork ? { network: b } : end(b)];
    return { key: "", endpoints, ...effects };
  });
  return canonicalLab({ name: "", nodes: [], networks: [], links, trafficFilters: [], texts: [] }).links;
}

function arbitraryFilter(nodes: readonly string[]) {
  return fc
    .record({
      name: fc.constantFrom("bgp", "all icmp", "f3"),
      match: fc.constantFrom("tcp port 179", "icmp", "host 10.0.0.1 and not arp"),
      optional: fc.record(
        {
          color: fc.constantFrom("#ff0000", "green"),
          ...(nodes.length === 0 ? {} : { nodes: fc.array(fc.constantFrom(...nodes), { minLength: 1, maxLength: 3 }) }),
          link: fc.nat({ max: 100 }),
        },
        { requiredKeys: [] },
      ),
    })
    .map(({ optional, ...required }) => ({ ...required, ...optional })) as fc.Arbitrary<{
    readonly name: string;
    readonly match: string;
    readonly color?: string;
    readonly nodes?: readonly string[];
    readonly link?: number;
  }>;
}

function canonicalKey(links: readonly LabLink[], index: number): string {
  return (links[index % links.length] as LabLink).key;
}
