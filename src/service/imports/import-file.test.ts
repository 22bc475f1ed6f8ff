import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { tarArchive } from "../../files/tar/tar-writer.ts";
import { writeZip } from "../../files/zip/zip.ts";
import { sample } from "../../importers/samples.fixture.ts";
import { readIntent } from "../../intent/read/read.ts";
import { type Bench, type Client, createBench, failureOf } from "../service.fixture.ts";

let bench: Bench;
let ann: Client;
beforeAll(async () => {
  bench = createBench();
  ann = await bench.login();
});
afterAll(async () => {
  await bench.service.close();
  await bench.host.close();
});

const textOf = (name: string) => Buffer.from(Object.values(sample(name))[0] ?? "").toString("utf8");

test("a file of another tool becomes a lab that can be deployed, with a report of each part and its line", async () => {
  const text = textOf("eve/samples/ospf-hosts.unl");
  const answer = await ann.call("importFile", { filename: "ospf.unl", text, substitute: "frr" });
  expect(answer).toMatchObject({ format: "eve", path: "ospf.unl", report_left_out: 0, left_out: [] });
  const levels = Object.values(answer.counts).reduce((sum, count) => sum + count, 0);
  expect([answer.counts.dropped > 0, answer.report.length]).toEqual([true, levels]);
  expect(answer.report.every(({ line }) => line > 0 && line <= text.split("\n").length)).toBe(true);
  expect(readIntent(answer.yaml, answer.files).diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(bench.store.labs.list()).toEqual([]);
  await ann.call("deployProject", { yaml: answer.yaml, files: answer.files, source: answer.source });
  const lab = `/${answer.name}`;
  const { source } = await ann.call("getProjectStatus", { lab, report: true });
  expect(source).toEqual(answer.source);
  expect(source).toMatchObject({ format: "eve", lab: "ospf.unl", counts: answer.counts, report: answer.report, report_left_out: 0 });
  expect(source?.digest).toBe(createHash("sha256").update(text).digest("hex"));
  const { report: _report, report_left_out: _none, ...light } = source!;
  expect((await ann.call("getProjectStatus", { lab })).source).toEqual(light);
});

test("an applied text keeps the source of the lab; a new source replaces it; another value does not", async () => {
  const yaml = "name: sourced\nnodes:\n  h1: {template: linux}\n";
  const lab = "/sourced";
  const line = { file: "a.unl", path: "/lab", line: 1, level: "kept", message: "is the name" } as const;
  const source = { format: "eve", lab: "a.unl", report: [line, { ...line, level: "lost" }, 1], extra: "x" };
  const stored = async () => (await ann.call("getProjectStatus", { lab, report: true })).source;
  await ann.call("deployProject", { yaml, source });
  const expected = { format: "eve", lab: "a.unl", counts: { kept: 1, mapped: 0, dropped: 0 }, report: [line], report_left_out: 0 };
  expect(await stored()).toEqual(expected);
  for (const other of [{}, { source: null }, { source: "eve" }, { source: { format: 1, report: [] } }]) {
    await ann.call("reconcileProject", { yaml: yaml.replace("linux", `linux, name: "n${JSON.stringify(other).length}"`), ...other });
    expect(await stored()).toEqual(expected);
  }
  const long = Array.from({ length: 3_000 }, (_, index) => ({ ...line, path: `/${index}`, level: index % 3 === 0 ? "dropped" : "kept" }));
  await ann.call("reconcileProject", { yaml, source: { format: "eve", report: long } });
  const shortened = await stored();
  expect(shortened).toMatchObject({ counts: { kept: 2_000, mapped: 0, dropped: 1_000 } });
  expect([shortened?.report?.length, shortened?.report_left_out]).toEqual([2_000, 1_000]);
  expect(shortened?.report?.filter(({ level }) => level === "dropped")).toHaveLength(1_000);
});

test("the same file has the same result as text, as base64, compressed, and as a folder", async () => {
  const text = textOf("containerlab/samples/fabric.clab.yml");
  const plain = await ann.call("importFile", { filename: "fabric.clab.yml", text });
  const others = [
    { filename: "fabric.clab.yml", base64: Buffer.from(text).toString("base64") },
    { filename: "fabric.clab.yml.gz", base64: gzipSync(text).toString("base64") },
    { files: { "fabric.clab.yml": text } },
  ];
  for (const other of others) expect(await ann.call("importFile", other)).toEqual(plain);
});

test("images, variables, and rules of the caller are taken into account", async () => {
  const text = 'name: v\ntopology:\n  nodes:\n    r1: {kind: own-kind, image: "x:$V"}\n';
  const as = (more: object) => ann.call("importFile", { text, ...more });
  expect((await as({ variables: { V: "1" } })).missing).toMatchObject([{ image: "x:1", nodes: ["r1"] }]);
  expect((await as({ variables: { V: "2" } })).missing).toMatchObject([{ image: "x:2" }]);
  const mapping = ["containerlab:\n  - {types: own-kind, role: router, template: frr}\n"];
  expect(await as({ mapping, variables: { V: "1" } })).toMatchObject({ missing: [], yaml: expect.stringContaining("template: frr") });
});

test.each([
  ["no file", {}, "bad_request", "one of text, base64, files and url"],
  ["two files", { text: "a", base64: "aaaa" }, "bad_request", "one of text, base64, files and url"],
  ["text that is not base64", { base64: "not base64!" }, "bad_request", "is not base64"],
  ["a URL without permission of the administrator", { url: "https://git.example/a.unl" }, "invalid_source", "--import-url-allow"],
  ["no lab", { text: "hello" }, "invalid_source", "no lab was found"],
  [
    "a lab that is too large",
    { filename: "labs.zip", base64: writeZip([{ name: "a.unl", data: Buffer.alloc(33 << 20) }]).toString("base64") },
    "invalid_source",
    "a.unl has 34603008 bytes, which is too large to import",
  ],
  ["an unknown format", { text: "a", format: "nope" }, "invalid_source", "unknown format"],
  ["a path out of the folder", { files: { "../x": "a" } }, "invalid_source", ".."],
  ["a bomb", { base64: gzipSync(Buffer.alloc(65 * 1024 * 1024)).toString("base64") }, "invalid_source", "unpacks to more than"],
  ["a damaged archive", { base64: gzipSync("hello hello").subarray(0, 14).toString("base64") }, "invalid_source", "is damaged"],
  ["entities", { text: '<!DOCTYPE lab [<!ENTITY a "b">]><lab name="&a;"/>' }, "invalid_source", "a document type is not allowed"],
  ["a wrong table of types", { text: "graph { a -- b }", mapping: ["containerlab: [{nope: 1}]"] }, "invalid_source", "mapping 1:1"],
])("%s is refused", async (_name, body, code, message) => {
  const failure = await failureOf(ann.call("importFile", body));
  expect(failure.code).toBe(code);
  expect(failure.message).toContain(message);
});

test("tables in the folder of the service win over those that ship, and tables of the caller over them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "labwright-tables-"));
  const { service, host, login } = createBench({ mappingFolder: join(folder, "mappings") });
  onTestFinished(async () => {
    await service.close();
    await host.close();
    await rm(folder, { recursive: true });
  });
  const client = await login();
  const text = "name: v\ntopology:\n  nodes:\n    r1: {kind: own-kind}\n";
  const table = (template: string) => `containerlab:\n  - {types: own-kind, role: router, template: ${template}}\n`;
  const yamlOf = async (mapping: readonly string[] = []) => (await client.call("importFile", { text, mapping: [...mapping] })).yaml;
  expect(await yamlOf()).toContain("template: linux");
  await mkdir(join(folder, "mappings"));
  await writeFile(join(folder, "mappings", "own.yaml"), table("frr"));
  expect([await yamlOf(), await yamlOf([table("pc")])]).toEqual([
    expect.stringContaining("template: frr"),
    expect.stringContaining("template: pc"),
  ]);
  await writeFile(join(folder, "mappings", "own.yaml"), "containerlab: [{nope: 1}]");
  const failure = await failureOf(client.call("importFile", { text }));
  expect([failure.code, failure.message]).toEqual(["invalid_source", expect.stringContaining("the service's own.yaml:1")]);
  await rm(join(folder, "mappings", "own.yaml"));
  await symlink("gone.yaml", join(folder, "mappings", "own.yaml"));
  const unread = await failureOf(client.call("importFile", { text }));
  expect([unread.code, unread.message]).toEqual(["invalid_source", expect.stringContaining("own.yaml in the service's folder mappings")]);
  await rm(join(folder, "mappings", "own.yaml"));
  execFileSync("mkfifo", [join(folder, "mappings", "own.yaml")]);
  expect((await failureOf(client.call("importFile", { text }))).code).toBe("invalid_source");
});

/** Returns a client of a service that loads this file from every URL. */
async function loading(filename: string, text: string): Promise<Client> {
  const { service, host, login } = createBench({
    urlImports: { hosts: ["x"], load: async () => ({ filename, bytes: Buffer.from(text) }) },
  });
  onTestFinished(async () => {
    await service.close();
    await host.close();
  });
  return login();
}

const own = "name: own # mine\nnodes:\n  r1: {template: frr, startup-config: conf/r1.conf}\n";

test.each([
  ["a lab of Labwright", "own.yaml", own, { name: "own", yaml: own, files: {} }],
  [
    "one with an error",
    "own.yml",
    `${own}  r2: {nope: 1}\n`,
    { name: "own", diagnostics: expect.arrayContaining([expect.objectContaining({ code: "unknown_key" })]) },
  ],
])("%s by URL is returned as it is", async (_name, filename, text, expected) => {
  const client = await loading(filename, text);
  expect(await client.call("importFile", { url: "https://x/own" })).toMatchObject({ format: "labwright", report: [], ...expected });
});

test("a file by URL that is no lab of any tool is refused, and so is a lab of Labwright that the caller has", async () => {
  const client = await loading("compose.yaml", "name: x\nservices: {a: {}}\n");
  expect((await failureOf(client.call("importFile", { url: "https://x/compose.yaml" }))).message).toContain("no lab was found");
  expect((await failureOf(ann.call("importFile", { text: own, filename: "own.yaml" }))).code).toBe("invalid_source");
});

/** Returns an archive of Labwright in base64 with these files, whose digests are those of `digested`. */
function archiveOf(files: Readonly<Record<string, string>>, digested = files): string {
  const entry = (text: string) => ({ sha256: createHash("sha256").update(text).digest("hex"), bytes: Buffer.byteLength(text) });
  const listed = Object.fromEntries(Object.entries(digested).map(([path, text]) => [path, entry(text)]));
  const manifest = { format: "labwright-archive", version: 1, name: "own", lab: "lab/lab.yaml", files: listed };
  const all = Object.entries({ "labwright-archive.json": JSON.stringify(manifest), ...files });
  return gzipSync(tarArchive(all.map(([name, text]) => ({ name, data: Buffer.from(text) })))).toString("base64");
}

const archived = { "lab/lab.yaml": own, "lab/conf/r1.conf": "hostname r1\n" };

test("an archive of labwright export is returned as it is, and its captures are reported as dropped", async () => {
  const base64 = archiveOf({ ...archived, "captures/r1-eth1.pcapng": "x" });
  const answer = await ann.call("importFile", { base64, filename: "x" });
  const { "lab/conf/r1.conf": conf } = archived;
  expect(answer).toMatchObject({ format: "labwright", path: "lab/lab.yaml", name: "own", yaml: own, files: { "conf/r1.conf": conf } });
  expect(answer).toMatchObject({
    counts: { dropped: 1 },
    report: [{ file: "captures/r1-eth1.pcapng", level: "dropped" }],
    diagnostics: [],
  });
  await ann.call("deployProject", { yaml: answer.yaml, files: answer.files });
});

test("a damaged archive of labwright export is refused", async () => {
  const changed = { ...archived, "lab/conf/r1.conf": "hostname r2\n" };
  const failure = await failureOf(ann.call("importFile", { base64: archiveOf(changed, archived) }));
  expect(failure).toMatchObject({ code: "invalid_source", data: { hint: expect.stringContaining("export it again") } });
  expect(failure.message).toContain("lab/conf/r1.conf has another SHA-256 digest");
});

test("base64 with a long run of spaces before a wrong character is refused as that, not for the time it takes", async () => {
  const failure = await failureOf(ann.call("importFile", { base64: `${" ".repeat(1 << 20)}!` }));
  expect(failure).toMatchObject({ code: "bad_request", message: "/base64: is not base64" });
});
