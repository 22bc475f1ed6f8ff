import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HostsFile } from "./hosts-file.ts";
import { hostsWith } from "./hosts-text.ts";

let folder: string;
let file: string;
const warnings: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "hosts-"));
  file = join(folder, "hosts");
});
afterAll(() => rm(folder, { recursive: true }));

const open = (domains: readonly string[] = [], service = "/state") =>
  new HostsFile(
    file,
    service,
    (text) => warnings.push(text),
    async (domain) => domains.includes(domain),
  );
const node = (name: string, last = 2) => ({ name, address: `198.18.0.${last}` });
const text = () => readFile(file, "latin1");

const plain = "127.0.0.1\tlocalhost\n# caf\xe9, not UTF-8\n\n10.0.0.1 r1.campus # somebody else's";
const block = (lab: string, ...lines: string[]) =>
  [`# labwright ${lab} /state: begin`, ...lines, `# labwright ${lab} /state: end`].map((line) => `${line}\n`).join("");

test("each lab has a block; other lines, the mode and a link stay, and removing the blocks leaves the file as it was", async () => {
  const target = join(folder, "target");
  await writeFile(target, `${plain}\n`, "latin1");
  await chmod(target, 0o640);
  await symlink(target, file);
  const hosts = open();
  await hosts.set("a", [node("h1.campus9"), node("h2.campus9", 3)]);
  await hosts.set("b", [node("h1.other", 4)]);
  expect(await text()).toBe(
    `${plain}\n${block("a", "198.18.0.2 h1.campus9", "198.18.0.3 h2.campus9")}${block("b", "198.18.0.4 h1.other")}`,
  );
  await hosts.set("a", [node("h1.campus9", 9)]);
  expect(await text()).toBe(`${plain}\n${block("a", "198.18.0.9 h1.campus9")}${block("b", "198.18.0.4 h1.other")}`);
  await hosts.remove("a");
  await hosts.remove("b");
  expect(await text()).toBe(`${plain}\n`);
  expect((await stat(target)).mode & 0o777).toBe(0o640);
  expect((await readdir(folder)).sort()).toEqual(["hosts", "target"]);
  expect(warnings).toEqual([]);
});

test("names that exist are not hidden: those of other lines, of the machine, of domains and of localhost; a warning says so", async () => {
  await writeFile(file, `${plain}\n`, "latin1");
  const hosts = open(["club"]);
  const bad = [
    "r1.campus",
    "R1.Campus",
    "www.com",
    "r1.de",
    "x.localhost",
    "r1.club",
    `${hostname()}.campus9`,
    "a b.campus9",
    "h1.campus9\n1.2.3.4 evil",
    "plain",
  ];
  await hosts.set("a", [...bad.map((name) => node(name)), node("h1.campus9")]);
  expect(await text()).toBe(`${plain}\n${block("a", "198.18.0.2 h1.campus9")}`);
  expect(warnings.splice(0)).toEqual([
    expect.stringMatching(/^lab a: 10 names of nodes .* com, de, localhost, club.* exists; another name/s),
  ]);
  // Of two labs with the same name, the first keeps its names.
  await hosts.set("b", [node("h1.campus9", 7), node("h2.campus9", 8)]);
  expect(await text()).toContain(block("b", "198.18.0.8 h2.campus9"));
  expect(warnings.splice(0)).toHaveLength(1);
});

test("a start removes blocks that a killed service left, but not those of another service", async () => {
  await writeFile(file, "127.0.0.1 localhost\n");
  await open().set("gone", [node("h1.gone")]);
  await open().set("kept", [node("h1.kept", 3)]);
  await open([], "/other").set("theirs", [node("h1.theirs", 4)]);
  await open().keep(["kept"]);
  expect(await text()).toBe(
    `127.0.0.1 localhost\n${block("kept", "198.18.0.3 h1.kept")}${block("theirs", "198.18.0.4 h1.theirs").replaceAll("/state", "/other")}`,
  );
});

test("a block whose end is lost takes only its own lines, and a file that cannot be written is one warning", async () => {
  await writeFile(file, "# labwright a /state: begin\n198.18.0.2 h1.campus9\n127.0.0.1 localhost x\n");
  const lost = open();
  await lost.keep(["a"]);
  await lost.remove("a");
  expect(await text()).toBe("127.0.0.1 localhost x\n");
  const hosts = new HostsFile("/proc/labwright/hosts", "/state", (line) => warnings.push(line));
  await hosts.set("a", [node("h1.campus9")]);
  await hosts.set("b", [node("h2.campus9")]);
  expect(warnings.splice(0)).toEqual([expect.stringContaining("labwright serve --hosts-file none leaves the file alone")]);
});

test("for any text, adding and removing a block gives the text back", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", " ", "#", "\n", "1.2.3.4 x\n", "# labwright b /s: begin\n") }), (before) => {
      const added = hostsWith(before, "a /s", [node("h1.campus9")]);
      expect(hostsWith(added, "a /s", [node("h1.campus9")])).toBe(added);
      const rest = hostsWith(added, "a /s", []);
      expect(rest).toBe(before === "" || before.endsWith("\n") ? before : `${before}\n`);
    }),
  );
});
