import { afterEach, describe, expect, it } from "vitest";
import type { FakeEveOptions } from "../../../test/fakes/eve/options.ts";
import { planLab } from "../../engine/plan/plan-lab.ts";
import { isUnreadableLab } from "../host-unreadable.ts";
import { type EveBench, eveBench, lab, link, node, operation } from "./eve-bench.fixture.ts";
import { readUnl, type UnlLab } from "./lab-file/unl.ts";
import { renumbered } from "./write/given-ids.ts";

let benches: EveBench[] = [];

afterEach(async () => {
  for (const bench of benches) {
    await bench[Symbol.asyncDispose]();
    expect(bench.fake.defects).toEqual([]);
  }
  benches = [];
});

const images = { linux: ["linux-tiny-1.0"], vios: ["vios-15.6"], iol: ["i86bi.bin"], c7200: ["c7200-15.image"], bigip: ["bigip-16"] };

async function bench(options: FakeEveOptions = {}): Promise<EveBench> {
  const made = await eveBench({ notices: "visible", images, templates: Object.keys(images).concat("vpcs"), ...options });
  benches.push(made);
  return made;
}

const nodesOf = ({ fake }: EveBench, path: string) => readUnl(fake.labFile(`${path}.unl`) ?? "").nodes;

const oneOfEach = lab({
  name: "all",
  nodes: [
    node("srv", "linux", { attributes: { console: "telnet" } }),
    node("lb", "bigip"),
    node("r1", "vios", { startupConfig: "hostname r1\n" }),
    node("r2", "iol"),
    node("r3", "c7200"),
    node("pc", "vpcs"),
  ],
  networks: [{ key: "lan", name: "lan", type: "bridge" }],
  links: [link("srv:e0", "lan"), link("r1:Gi0/0", "lan"), link("r2:e0/0", "pc:eth0")],
  texts: [{ text: "here", x: 1, y: 2 }],
});

describe.each([
  { edition: "ce5", php: 7 },
  { edition: "ce6", php: 8 },
  { edition: "ce5", php: 7, notices: "hidden" },
] as const)("$edition with PHP $php and notices $notices (absent: visible)", (host) => {
  it("reads an imported lab with a node of each kind, and a change of it by import", async () => {
    const here = await bench(host);
    await here.make("/all", oneOfEach);
    const counted = nodesOf(here, "/all").filter(({ type }) => type !== "dynamips");
    expect(counted.map(({ ethernet = 0 }) => ethernet > 0)).toEqual(counted.map(() => true));
    const more = [1, 2, 3, 4, 5].map((index) => node(`more${index}`, "linux"));
    await here.make("/all", { ...oneOfEach, nodes: [...oneOfEach.nodes, ...more] });
    expect(here.calls().filter((call) => call === "POST /api/import")).toHaveLength(2);
  });

  it("gives each node that needs one the MAC address of its number, and keeps another", async () => {
    const here = await bench({ ...host, users: ["admin", "ann"].map((username) => ({ username, password: "eve" })) });
    const nodes = [node("a", "linux"), node("b", "linux", { attributes: { firstmac: "52:54:00:aa:bb:00" } }), node("c", "vios")];
    await here.make("/macs", lab({ name: "macs", nodes }));
    const macs = () => nodesOf(here, "/macs").map(({ name, firstmac }) => [name, firstmac]);
    const ids = new Map(nodesOf(here, "/macs").map(({ name, id }) => [name, id]));
    const hex = (name: string) => (ids.get(name) ?? 0).toString(16).padStart(2, "0");
    expect(macs()).toEqual([
      ["a", `00:50:00:00:${hex("a")}:00`],
      ["b", "52:54:00:aa:bb:00"],
      ["c", undefined],
    ]);
    const before = macs();
    const renamed = nodes.map((one) => ({ ...one, name: `${one.name}x`, ram: 256 }));
    await here.make("/macs", lab({ name: "macs", nodes: [...renamed, node("d", "vpcs"), node("e", "vpcs")] }));
    expect(macs().slice(0, 3)).toEqual(before.map(([name, mac]) => [`${name}x`, mac]));
  });
});

it("a node with another number gets the MAC address of that number, unless its address was given", () => {
  const made = { id: 3, firstmac: "00:50:01:00:03:00", interfaces: [] };
  const given = { id: 4, firstmac: "52:54:00:aa:bb:00", interfaces: [] };
  const both: UnlLab = { nodes: [made, given], networks: [], textObjects: [], pictures: [], configs: [] };
  const { nodes } = renumbered(both, { node: (id) => id + 20, network: (id) => id });
  expect(nodes).toMatchObject([
    { id: 23, firstmac: "00:50:01:00:17:00" },
    { id: 24, firstmac: "52:54:00:aa:bb:00" },
  ]);
});

describe("an import over a file of others", () => {
  it("writes what EVE-NG would choose again at each read, and keeps the rest", async () => {
    const here = await bench({ notices: "hidden" });
    here.fake.putLabFile(
      "/old.unl",
      '<lab name="old" id="aa316708-7d9c-44ad-a049-d593ea46d293" version="1"><topology><nodes>' +
        '<node id="1" name="a" type="qemu" template="linux" image="linux-tiny-1.0" firstmac="00:50:00:00:07:00"/>' +
        '<node id="2" name="b" type="qemu" template="linux" ethernet="3" uuid="bbbbbbbb-7d9c-44ad-a049-d593ea46d293" left="7" top="8"/>' +
        '<node id="3" name="pc" type="vpcs" template="vpcs"/></nodes></topology></lab>',
    );
    const captured = await here.capture("/old");
    const more = [1, 2, 3, 4, 5].map((index) => node(`more${index}`, "vpcs"));
    await here.make("/old", { ...captured, nodes: [...captured.nodes, ...more] });
    const [a, b, pc] = nodesOf(here, "/old");
    expect(a).toMatchObject({ config: "0", firstmac: "00:50:00:00:07:00", left: expect.any(Number), top: expect.any(Number) });
    expect(a?.uuid).toMatch(/^[0-9a-f-]{36}$/);
    expect(b).toMatchObject({ ethernet: 3, uuid: "bbbbbbbb-7d9c-44ad-a049-d593ea46d293", left: 7, top: 8, firstmac: "00:50:00:00:02:00" });
    expect(pc).toMatchObject({ config: "0" });
    expect(pc).not.toHaveProperty("uuid");
  });
});

const head = '<lab name="x" id="aa316708-7d9c-44ad-a049-d593ea46d293"><topology><nodes>';
const broken = [
  ["a node without config", `${head}<node id="1" type="vpcs" template="vpcs"/></nodes></topology></lab>`, "Undefined index: config"],
  [
    "a node without a MAC address",
    `${head}<node id="1" type="qemu" template="linux" config="0"/></nodes></topology></lab>`,
    "A non-numeric value",
  ],
  [
    "an unknown template",
    `${head}<node id="1" type="qemu" template="wat" config="0"/></nodes></topology></lab>`,
    "invalid node template wat",
  ],
  ["a truncated file", head, "it is not valid XML (20003)"],
  ["an empty file", "", "it is not valid XML (20003)"],
] as const;

describe("a lab that the host cannot read", () => {
  it.each(broken)("%s: it is listed, each read reports the host's words, and it can be deleted", async (_name, file, words) => {
    const here = await bench();
    const { session, fake } = here;
    fake.putLabFile("/x.unl", file);
    expect(await session.labs()).toEqual(["/x"]);
    for (const read of [session.observe("/x"), session.status("/x")]) {
      const error = await read.catch((thrown: unknown) => thrown);
      expect(isUnreadableLab(error)).toBe(true);
      expect(error).toMatchObject({ code: "host_error", message: expect.stringContaining(words) });
      expect(String(error)).toContain("/x.unl");
    }
    await session.apply("/x", [operation({ do: "delete-lab", wipe: true })], {
      ids: { nodes: {}, networks: {}, links: {} },
      step: () => {},
    });
    expect([fake.labFile("/x.unl"), await session.observe("/x")]).toEqual([undefined, null]);
  });

  it("does not hinder other labs", async () => {
    const here = await bench();
    here.fake.putLabFile("/x.unl", broken[0][1]);
    await here.make("/pcs", lab({ name: "pcs", nodes: [node("a", "vpcs"), node("b", "vpcs")], links: [link("a:eth0", "b:eth0")] }));
    const wanted = lab({ name: "other", nodes: [node("a", "vpcs")] });
    const input = { desired: wanted, observed: null, rules: here.rules, prune: false, replace: false };
    expect(planLab({ ...input, pathName: "other" }).unsupported).toEqual([]);
    expect(planLab({ ...input, pathName: "elsewhere" }).unsupported).toEqual(["other.name: this host has no place for it"]);
  });
});

it.each([
  ["PHP 7 with notices", { edition: "ce5", notices: "visible" }],
  ["PHP 7 without", { edition: "ce5", notices: "hidden" }],
  ["PHP 8", { edition: "ce6" }],
] as const)("a wrong password is one on %s", async (_name, options) => {
  const { host } = await bench(options);
  for (const [user, password] of [
    ["admin", "wrong"],
    ["nobody", "eve"],
  ] as const) {
    await expect(host.login(user, password)).rejects.toMatchObject({ code: "invalid_credentials" });
  }
});
