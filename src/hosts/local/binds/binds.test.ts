import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openUsers } from "../accounts/users.ts";
import { findImages } from "../images/images.ts";
import { idRange } from "../machine/idmap.ts";
import { labOf, noIds, operation, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { idmappedPlaces } from "./writable-binds.ts";

/** Paths of the machine in nodes: what is seen, what is not, and who may ask for it. */

const at = "/bound";

describe.skipIf(process.getuid?.() !== 0)("binds of paths of the machine", () => {
  let local: TestLocalHost;
  let folder: string;
  /** Open to nodes. */
  let open: string;

  beforeAll(async () => {
    // Nodes pass directories as others do.
    folder = await mkdtemp(join(tmpdir(), "binds-"));
    await chmod(folder, 0o755);
    open = join(folder, "open");
    await mkdir(join(open, "data"), { recursive: true });
    await chown(join(open, "data"), idRange.base, idRange.base);
    await writeFile(join(open, "hosts"), "192.0.2.1 machine\n");
    await writeFile(join(open, "secret"), "for root\n", { mode: 0o600 });
    await writeFile(join(folder, "outside"), "outside\n");
    await symlink(join(folder, "outside"), join(open, "link"));
    local = await testLocalHost({ bindAllow: [open] });
    await local.deploy(at, labOf(yaml(`${open}/hosts:/etc/hosts.machine`, `${open}/data:/data:rw`, `${open}:/all`)));
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const yaml = (...binds: string[]) =>
    `name: bound\nnodes:\n  h1: {template: linux, binds: ${JSON.stringify(binds)}}\n  h2: {template: linux}\n`;
  const sh = (script: string) => local.exec(at, "h1", "sh", "-c", script);

  test("a node reads a file and writes where rw is said, as an id that only nodes have", async () => {
    expect((await sh("cat /etc/hosts.machine /all/hosts")).stdout).toBe("192.0.2.1 machine\n192.0.2.1 machine\n");
    expect(await sh("echo from h1 > /data/note && ls -ln /data/note | awk '{print $3, $4}'")).toMatchObject({
      stderr: "",
      stdout: "0 0\n",
    });
    expect(await readFile(join(open, "data/note"), "utf8")).toBe("from h1\n");
    expect((await stat(join(open, "data/note"))).uid).toBe(idRange.base);
  });

  test("a node cannot write elsewhere, make it writable, read what others may not, or use programs and devices of it with rights", async () => {
    for (const script of [
      "echo x > /etc/hosts.machine",
      "echo x > /all/data/x",
      "mount -o remount,rw,bind /all",
      "umount /etc/hosts.machine",
      "cat /all/secret",
      "cat /all/link",
      "mknod /data/zero c 1 5 && head -c 1 /data/zero",
    ])
      expect([script, (await sh(script)).code]).not.toEqual([script, 0]);
    const { stdout } = await sh("grep -E ' (/data|/all|/etc/hosts.machine) ' /proc/self/mounts | cut -d' ' -f4");
    const flags = stdout.trim().split("\n");
    expect(flags).toHaveLength(3);
    for (const one of flags) expect(one).toMatch(/nosuid,nodev/);
    expect(flags.filter((one) => one.startsWith("ro,"))).toHaveLength(2);
  });

  test("paths that a node would not get are found before a change, and those that the lab has are none of them", async () => {
    await mkdir(join(open, "of-root"));
    const check = async (...binds: string[]) =>
      (await local.session.checkBinds!(at, [{ key: "h1", name: "h1", binds }])).map(({ bind, problem }) => [bind, problem]);
    expect(await check(`${open}/hosts:/etc/hosts.machine`, `${open}/data:/other:rw`)).toEqual([]);
    expect(await check(`${open}/absent:/a`, `${open}/of-root:/b:rw`, `${folder}/outside:/c`)).toEqual([
      [`${open}/absent:/a`, expect.stringContaining("cannot be read on the machine (ENOENT): create it, or correct the path")],
      [`${open}/of-root:/b:rw`, expect.stringContaining(`chown -R ${idRange.base}:${idRange.base} ${open}/of-root`)],
      [`${folder}/outside:/c`, expect.stringContaining(`this service opens only ${open}`)],
    ]);
  });

  test("a change restarts the node, which a plan shows; a new writable path waits until the lab starts as a whole", async () => {
    const { plan } = await local.deploy(at, labOf(yaml(`${open}/hosts:/etc/other`)));
    expect(plan.operations.map(({ disruption }) => disruption)).toContain("restart");
    expect((await sh("cat /etc/other")).stdout).toBe("192.0.2.1 machine\n");
    // The place of a mount stays on the disk, empty.
    expect((await sh("cat /etc/hosts.machine")).stdout).toBe("");
    await mkdir(join(open, "late"));
    await expect(local.deploy(at, labOf(yaml(`${open}/late:/late:rw`)))).rejects.toThrow("chown -R 1000000:1000000");
    await chown(join(open, "late"), idRange.base, idRange.base);
    await expect(local.deploy(at, labOf(yaml(`${open}/late:/late:rw`)))).rejects.toThrow("stop all nodes of the lab, and start them again");
    const power = (step: object) => local.session.apply(at, [operation(step, 1)], { ids: local.ids(at), step: () => undefined });
    await power({ do: "stop", node: "h2", mode: 1 });
    await power({ do: "start", node: "h1" });
    expect((await sh("echo late > /late/note && cat /late/note")).stdout).toBe("late\n");
  });

  test("a link that appears after the check is refused by the kernel", async () => {
    // As who may write in a bound directory could do: open/dir leads out of the open directory.
    await symlink(folder, join(open, "dir"));
    const sandbox = await local.sandbox(at);
    const base = (await findImages(local.paths.images)).find(({ name }) => name === "base");
    const disk = join(local.paths.state, "labs", (await local.session.observe(at))!.id, "nodes", "77");
    const binds = [{ source: `${open}/dir/outside`, target: "/file", writable: false }];
    const node = { id: 77, hostname: "x", lower: [base!.rootfs], disk, files: [], env: {}, boot: [], console: ["/bin/sh"] };
    const spawned = sandbox.spawn([{ ...node, binds }]);
    await expect(spawned).rejects.toThrow(/bind .*dir\/outside: Too many levels of symbolic links/);
    await rm(join(open, "dir"));
  });

  test("paths that are not open, closed ones, links and missing files are refused before anything is made", async () => {
    const refusals: Readonly<Record<string, RegExp>> = {
      [`${folder}/outside`]: /opens only .*--bind-allow/,
      "/etc/shadow": /opens only/,
      [`${open}/link`]: /is a symbolic link/,
      [`${open}/missing`]: /cannot be read on the machine \(ENOENT\)/,
      "/proc/self": /symbolic link|opens only/,
      [local.paths.state]: /opens only/,
    };
    for (const [source, why] of Object.entries(refusals)) {
      const wanted = labOf(`name: no\nnodes: {x: {template: linux, binds: ["${source}:/x"]}}\n`);
      await expect(local.deploy("/no", wanted), source).rejects.toThrow(why);
    }
    expect(await local.session.labs()).not.toContain("/no");
  });

  test("only an admin adds a bind, also to a lab of an admin; a lab of another user does not start with one", async () => {
    await openUsers(join(local.paths.state, "users.json")).put("eve", "eve-eve-eve", "user");
    const eve = await local.host.login("eve", "eve-eve-eve");
    const wanted = (name: string) => labOf(`name: ${name}\nnodes: {x: {template: linux, start: false, binds: ["${open}/hosts:/x"]}}\n`);
    const { plan } = await local.plan("/eves", wanted("eves"));
    const applied = eve.apply("/eves", plan.operations, { ids: noIds, step: () => undefined });
    await expect(applied).rejects.toMatchObject({ code: "operation_not_allowed", message: expect.stringContaining("only an admin gives") });
    await local.deploy("/admins", wanted("admins"));
    await local.session.setOwner?.("/admins", "eve");
    await expect(
      local.deploy("/admins", { ...wanted("admins"), nodes: wanted("admins").nodes.map((node) => ({ ...node, start: true })) }),
    ).rejects.toThrow("eve, who owns the lab, is not an admin");
  });
});

test("the ids of a mount are read from mountinfo, also of places with spaces", () => {
  const text = "36 35 0:1 / / rw - ext4 a rw\n37 36 0:1 / /srv/a\\040b rw,idmapped - ext4 a rw\n";
  expect(idmappedPlaces(text)).toEqual(["/srv/a b"]);
});
