import { execFileSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type MachineName, noMachines, TestMachines } from "./machines.fixture.ts";

const lab = (name: string, kind = "mover") => `name: ${name}
place: {labels: {kind: ${kind}}}
nodes:
  h1: {template: linux, exec: [ip address add 10.0.0.1/24 dev eth0]}
  h2: {template: linux, exec: [ip address add 10.0.0.2/24 dev eth0]}
links: [[h1:eth0, h2:eth0]]
`;

/** Makes on the disk of a node a file with holes, a hard link, an owner, a removed file of the image, a hidden folder, an attribute. */
const made = `cd /root; dd if=/dev/zero of=holes bs=1 count=1 seek=200M 2>/dev/null; echo text > one; ln one two; chown 33:34 one; rm /etc/hostname; rm -r /usr/share/doc; mkdir /usr/share/doc; ln -s one three; mkfifo fifo`;
const seen = `cd /root; stat -c '%n %s %u %g %h %F' holes one two three fifo; du -k holes | cut -f1; cat two; ls -A /usr/share/doc | wc -l; ls /etc/hostname 2>&1 | tail -1`;

interface Moves {
  readonly moves: readonly { readonly lab: string; readonly state: string; readonly machine?: string; readonly text?: string }[];
  readonly staying: readonly { readonly lab: string; readonly hint: string }[];
}

test.skipIf(noMachines)(
  "stopped labs of a drained machine move with their disks; running ones stay or are moved with --stop-labs; kill -9 of either side loses and doubles nothing",
  { timeout: 1_500_000 },
  async () => {
    await using machines = await TestMachines.make(79);
    const run = machines.run.bind(machines);
    const labs = ["still", "up", "cut1", "cut2"] as const;
    for (const name of labs) writeFileSync(join(machines.base, `${name}.yaml`), lab(name));
    await machines.startAll();
    await run("alpha", "machines", "labels", "alpha", "kind=mover");
    for (const name of labs) await run("alpha", "apply", "-t", `${name}.yaml`, "--yes");
    for (const name of labs) await run("alpha", "exec", "h1", "--lab", name, "--", "sh", "-c", made);
    const before = await run("alpha", "exec", "h1", "--lab", "still", "--", "sh", "-c", seen);
    await run("alpha", "resume", "--lab", "still", "--after-reboot", "always");
    for (const name of ["still", "cut1", "cut2"]) await run("alpha", "stop", "--lab", name);
    const ids = new Map(labs.map((name) => [name, idOf(machines, "alpha", `/${name}`)]));
    await run("alpha", "machines", "labels", "beta", "kind=mover");

    // Asked at another machine; the running lab stays, and the answer names the next step.
    const drain = async (...more: readonly string[]) =>
      JSON.parse(
        await run("gamma", "machines", "drain", "alpha", "--format", "json", ...more).catch((error: Error) =>
          error.message.slice(error.message.indexOf("{")),
        ),
      ) as Moves;
    const first = await drain();
    console.log(JSON.stringify(first));
    expect(first.moves.map(({ lab: path, state, machine }) => [path, state, machine]).sort()).toEqual(
      ["/cut1", "/cut2", "/still"].map((path) => [path, "moved", "beta"]),
    );
    expect(first.staying).toEqual([expect.objectContaining({ lab: "/up", hint: expect.stringContaining("--stop-labs") })]);
    for (const name of ["still", "cut1", "cut2"] as const) {
      expect(await machines.machineOf("alpha", `/${name}`)).toBe("beta");
      expect(idOf(machines, "beta", `/${name}`)).toBe(ids.get(name));
      expect(idOf(machines, "alpha", `/${name}`)).toBeUndefined();
    }
    expect(await run("alpha", "disks")).not.toContain("/still");
    await run("gamma", "start", "--lab", "still");
    expect(await run("gamma", "exec", "h1", "--lab", "still", "--", "sh", "-c", seen)).toBe(before);
    expect(await run("gamma", "exec", "h1", "--lab", "still", "--", "ping", "-c", "1", "-w", "10", "10.0.0.2")).toContain(
      " 0% packet loss",
    );
    expect(await run("gamma", "history", "--lab", "still")).toContain("apply");

    // A lab that no machine can take is not stopped.
    writeFileSync(join(machines.base, "bound.yaml"), lab("bound", "special"));
    await run("gamma", "machines", "uncordon", "alpha");
    await run("gamma", "machines", "labels", "alpha", "kind=special");
    await run("gamma", "apply", "-t", "bound.yaml", "--yes");
    const startOfBound = () => run("gamma", "exec", "h1", "--lab", "bound", "--", "cut", "-d", " ", "-f", "22", "/proc/1/stat");
    const started = await startOfBound();
    const second = await drain("--stop-labs");
    expect(second.moves).toEqual([
      expect.objectContaining({ lab: "/bound", state: "failed", text: expect.stringContaining("kind=special") }),
      expect.objectContaining({ lab: "/up", state: "moved", machine: "beta" }),
    ]);
    expect(await startOfBound()).toBe(started);
    await run("gamma", "destroy", "--lab", "bound", "--yes");
    await run("gamma", "machines", "labels", "alpha", "kind=mover");
    await expect
      .poll(() => run("gamma", "exec", "h1", "--lab", "up", "--", "sh", "-c", seen).catch((error: Error) => error.message), {
        timeout: 240_000,
        interval: 1_000,
      })
      .toBe(before);

    // Back again, with a loss of power of each side at several moments of the move.
    await run("gamma", "machines", "uncordon", "alpha");
    await run("gamma", "stop", "--lab", "still");
    for (const [victim, ms] of [
      ["beta", 300],
      ["alpha", 600],
      ["beta", 1_500],
      ["alpha", 2_500],
    ] as readonly (readonly [MachineName, number])[]) {
      if ((await machines.machineOf("gamma", "/still")) === "alpha") break;
      await run("gamma", "machines", "drain", "beta", "--no-wait");
      await new Promise((resolve) => setTimeout(resolve, ms));
      await machines.powerOff(victim);
      await machines.start(victim);
    }
    for (const name of ["still", "cut1", "cut2"] as const) {
      await expect.poll(() => machines.machineOf("gamma", `/${name}`), { timeout: 240_000, interval: 1_000 }).toBe("alpha");
      await expect.poll(() => idOf(machines, "beta", `/${name}`), { timeout: 60_000 }).toBeUndefined();
      expect(idOf(machines, "alpha", `/${name}`)).toBe(ids.get(name));
    }
    for (const name of ["alpha", "beta"] as const) {
      expect(await run(name, "disks")).not.toContain("/still");
      await expect.poll(() => stagedOf(machines, name), { timeout: 60_000 }).toEqual([]);
    }
    await run("gamma", "start", "--lab", "still");
    expect(await run("gamma", "exec", "h1", "--lab", "still", "--", "sh", "-c", seen)).toBe(before);
  },
);

/** The id of a lab on the disk of a machine; undefined: it has none. */
function idOf(machines: TestMachines, name: MachineName, path: string): string | undefined {
  const directory = join(machines.state(name), "labs");
  const found = readdirSync(directory).filter((id) => {
    try {
      return execFileSync("cat", [join(directory, id, "lab.json")], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).includes(
        `"path":"${path}"`,
      );
    } catch {
      return false;
    }
  });
  expect(found.length).toBeLessThan(2);
  return found[0];
}

function stagedOf(machines: TestMachines, name: MachineName): readonly string[] {
  return execFileSync("sh", ["-c", "ls moves 2>/dev/null || true"], { cwd: machines.state(name), encoding: "utf8" })
    .split("\n")
    .filter(Boolean);
}
