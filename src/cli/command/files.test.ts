import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { replaceFile } from "../project-files/replace-file.ts";
import { writeProject } from "../project-files/write-project.ts";
import { Arguments } from "./arguments.ts";
import { Credentials } from "./credentials.ts";
import { findProject, readProjectFile } from "./project.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "labwright-files-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("a lab's file", () => {
  test("a lab's file is read with the files that it names, and with no others", async () => {
    mkdirSync(join(folder, "conf"));
    for (const name of ["conf/r1.conf", "conf/other.conf"]) writeFileSync(join(folder, name), `hostname ${name}\n`);
    writeFileSync(join(folder, "lab.yaml"), "name: x\nnodes:\n  r1: {template: frr, startup-config: ./conf/r1.conf}\n");
    expect((await readProjectFile(join(folder, "lab.yaml"))).files).toEqual({ "conf/r1.conf": "hostname conf/r1.conf\n" });
  });

  test("a lab's file cannot name files outside of its folder: by .., by an absolute path, or by a link", async () => {
    const inner = join(folder, "inner");
    mkdirSync(inner);
    writeFileSync(join(folder, "secret"), "secret\n");
    symlinkSync(join(folder, "secret"), join(inner, "link.conf"));
    const lab = (path: string) =>
      writeFileSync(join(inner, "lab.yaml"), `name: x\nnodes:\n  r1: {template: frr, startup-config: ${path}}\n`);
    for (const path of ["../secret", join(folder, "secret")]) {
      lab(path);
      expect((await readProjectFile(join(inner, "lab.yaml"))).files).toEqual({});
    }
    lab("link.conf");
    await expect(readProjectFile(join(inner, "lab.yaml"))).rejects.toThrow("outside of the lab's folder");
  });

  test("a binary file, a folder and a missing file each have a clear error", async () => {
    writeFileSync(join(folder, "bin.yaml"), Buffer.from([0xff, 0xfe, 0x00]));
    await expect(readProjectFile(join(folder, "bin.yaml"))).rejects.toThrow("bin.yaml is not UTF-8 text");
    await expect(readProjectFile(folder)).rejects.toThrow("is a folder");
    await expect(readProjectFile(join(folder, "no.yaml"))).rejects.toThrow("there is no file");
    // Reading this file fails with an I/O error, as on a broken disk.
    await expect(readProjectFile("/proc/self/mem")).rejects.toThrow("cannot read /proc/self/mem: EIO");
  });

  test("files of a folder that a lab names: links to files count as files, other links and binary files have a clear error", async () => {
    mkdirSync(join(folder, "site/deep"), { recursive: true });
    writeFileSync(join(folder, "lab.yaml"), "name: x\nnodes:\n  r1: {template: linux, files: {/srv: {from: site}}}\n");
    writeFileSync(join(folder, "site/deep/index"), "hello\n");
    symlinkSync("deep/index", join(folder, "site/start"));
    const read = () => readProjectFile(join(folder, "lab.yaml"));
    expect((await read()).files).toEqual({ "site/deep/index": "hello\n", "site/start": "hello\n" });
    for (const target of ["deep", "absent", ".."]) {
      symlinkSync(target, join(folder, "site/wrong"));
      await expect(read(), target).rejects.toThrow(/^site\/wrong is a link to (?:no file|nothing), which a node cannot get$/);
      rmSync(join(folder, "site/wrong"));
    }
    symlinkSync("/etc/hostname", join(folder, "site/outside"));
    await expect(read()).rejects.toThrow("site/outside is a link to a file outside of the lab's folder");
    rmSync(join(folder, "site/outside"));
    writeFileSync(join(folder, "site/deep/logo"), Buffer.from([0xff, 0xfe, 0x00]));
    await expect(read()).rejects.toMatchObject({
      message: "site/deep/logo is not UTF-8 text",
      hint: expect.stringContaining("labwright cp"),
    });
  });

  test("a device that never ends is not read for ever", async () => {
    await expect(readProjectFile("/dev/zero")).rejects.toThrow("/dev/zero is larger than 32 MiB");
  });

  test("a FIFO or device that a lab names, or that is found as its file, is refused at once; one that the user names is read", async () => {
    execFileSync("mkfifo", [join(folder, "pipe"), join(folder, "pipe.lw.yml")]);
    symlinkSync("pipe", join(folder, "link"));
    mkdirSync(join(folder, "site"));
    execFileSync("mkfifo", [join(folder, "site/pipe")]);
    const lab = (fields: string) => writeFileSync(join(folder, "lab.yaml"), `name: x\nnodes:\n  r1: {template: linux, ${fields}}\n`);
    for (const fields of ["startup-config: pipe", "startup-config: link", "files: {/x: {from: pipe}}", "binds: ['pipe:/x']"]) {
      lab(fields);
      await expect(readProjectFile(join(folder, "lab.yaml")), fields).rejects.toThrow(/(?:pipe|link) is not a plain file/);
    }
    lab("files: {/x: {from: site}}");
    expect((await readProjectFile(join(folder, "lab.yaml"))).files).toEqual({});
    rmSync(join(folder, "lab.yaml"));
    await expect(findProject(new Arguments([], new Map([["topo", [folder]]])))).rejects.toThrow("pipe.lw.yml is not a plain file");
    const named = readProjectFile(join(folder, "pipe"));
    writeFileSync(join(folder, "pipe"), "name: x\n");
    expect((await named).yaml).toBe("name: x\n");
  });

  test("no file is needed if --lab names the lab", async () => {
    const project = await findProject(new Arguments([], new Map([["lab", ["/courses/bgp"]]])));
    expect([project.file, project.selector]).toEqual([undefined, { lab: "/courses/bgp" }]);
  });
});

describe("writing a lab with its files", () => {
  test.each([
    ["its own file", { "new.yaml": "x" }],
    ["the folder of its own file", { "new.yaml/x": "x", "a.cfg": "y" }],
    ["its report", { "new.import.json": "{}", "a.cfg": "y" }],
  ])("a file in the place of %s is refused, and nothing is written", async (_, files) => {
    const report = join(folder, "new.import.json");
    await expect(writeProject(join(folder, "new.yaml"), { yaml: "name: x\n", files }, [report])).rejects.toThrow(
      /the lab has a file new\.\S+, and .* is to be written there; nothing was written/,
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a folder that cannot be made is an error that ends", async () => {
    await expect(writeProject("/proc/none/lab.yaml", { yaml: "name: x\n" })).rejects.toThrow(
      "/proc/none/lab.yaml: mkdir failed with ENOENT",
    );
  });
});

describe("replacing a file", () => {
  const path = () => join(folder, "lab.yaml");

  test("a FIFO is not replaced, and nobody waits for it", async () => {
    execFileSync("mkfifo", [path()]);
    await expect(replaceFile(path(), undefined, "x")).rejects.toThrow("lab.yaml: it is a FIFO, a socket or a device");
    await expect(writeProject(join(folder, "new.yaml"), { yaml: "name: x\n", files: { "lab.yaml": "x" } })).rejects.toThrow("it is a FIFO");
  });

  test("a replaced file keeps its permissions, a link is followed, and no temporary file is left", async () => {
    writeFileSync(path(), "old\n");
    chmodSync(path(), 0o640);
    symlinkSync("lab.yaml", join(folder, "link.yaml"));
    await replaceFile(join(folder, "link.yaml"), "old\n", "new\n");
    expect([readFileSync(path(), "utf8"), statSync(path()).mode & 0o777, readdirSync(folder)]).toEqual([
      "new\n",
      0o640,
      ["lab.yaml", "link.yaml"],
    ]);
  });

  test("a file that was changed, created or removed meanwhile is not replaced", async () => {
    writeFileSync(path(), "edited\n");
    await expect(replaceFile(path(), "old\n", "new\n")).rejects.toThrow("has changed meanwhile");
    await expect(replaceFile(path(), undefined, "new\n")).rejects.toThrow("has changed meanwhile");
    await expect(replaceFile(join(folder, "gone.yaml"), "old\n", "new\n")).rejects.toThrow("has changed meanwhile");
    expect([readFileSync(path(), "utf8"), readdirSync(folder)]).toEqual(["edited\n", ["lab.yaml"]]);
  });
});

describe("credentials", () => {
  test("credentials are readable by their owner only, for several services, with the last login as the current one", async () => {
    const kept = new Credentials({ XDG_CONFIG_HOME: folder });
    await kept.keep({ url: "https://a:1", token: "ta", pin: "aa", username: "ada" });
    await kept.keep({ url: "https://b:1", token: "tb" });
    expect(statSync(kept.path).mode & 0o777).toBe(0o600);
    expect(await kept.find()).toMatchObject({ url: "https://b:1" });
    expect(await kept.find("https://a:1")).toMatchObject({ token: "ta", username: "ada" });
    expect(await kept.find("https://c:1")).toBeUndefined();
  });

  test("the logins of one service are found by its certificate: first the current one, then the one of the address, then the others", async () => {
    const kept = new Credentials({ XDG_CONFIG_HOME: folder });
    await kept.keep({ url: "https://a:1", token: "t1", pin: "AA:BB", username: "admin" });
    await kept.keep({ url: "https://a:2", token: "t2", pin: "AA:BB", username: "bob" });
    await kept.keep({ url: "https://b:1", token: "t3", pin: "CC:DD" });
    await kept.keep({ url: "https://a:3", token: "t4", pin: "AA:BB", username: "alice" });
    const found = await kept.ofService({ url: "https://a:2", pin: "sha256:aabb" });
    expect(found.map(({ username }) => username)).toEqual(["alice", "bob", "admin"]);
    await kept.forget("https://a:3");
    expect((await kept.ofService({ url: "https://a:9", pin: "AA:BB" })).map(({ username }) => username)).toEqual(["admin", "bob"]);
  });

  test("a logout removes the token and keeps the pin", async () => {
    const kept = new Credentials({ XDG_CONFIG_HOME: folder });
    await kept.keep({ url: "https://a:1", token: "ta", pin: "aa", username: "ada" });
    await kept.forget("https://a:1");
    expect(await kept.find()).toEqual({ url: "https://a:1", pin: "aa" });
    expect(readFileSync(kept.path, "utf8")).not.toContain('ta"');
  });

  test("a file that is not a credentials file is not overwritten", async () => {
    const kept = new Credentials({ XDG_CONFIG_HOME: folder });
    mkdirSync(join(folder, "labwright"));
    writeFileSync(kept.path, "not ours");
    await expect(kept.keep({ url: "https://a:1" })).rejects.toThrow("is not a credentials file");
    expect(readFileSync(kept.path, "utf8")).toBe("not ours");
  });
});
