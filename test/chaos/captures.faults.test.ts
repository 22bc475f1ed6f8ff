import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { EmbeddedService } from "./embedded-service.ts";
import { eventually } from "./eventually.ts";
import { type SmallDisk, smallDisk } from "./small-disk.ts";

/** Captures when the service is killed, and when there is no room for their packets. */

const run = promisify(execFile);
/** A hang, not a busy machine. */
const hangs = { timeout: 300_000 };
let service: EmbeddedService;
let disk: SmallDisk | undefined;
beforeEach(async () => {
  service = await EmbeddedService.make();
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
  await disk?.[Symbol.asyncDispose]();
  disk = undefined;
});

const lab = "/packets";
const yaml = `name: packets
nodes:
  h1: {template: linux, exec: ["ip addr add 10.0.0.1/24 dev eth0"]}
  h2: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0"]}
links:
  - ["h1:eth0", "h2:eth0"]
`;

const type = (command: string) => service.client.execConsole({ lab, node: "h1", command });

async function deployed(): Promise<void> {
  await service.client.deployProject({ yaml });
  let said = "";
  await eventually(
    "a first ping",
    async () => {
      // A console that a busy machine has not brought to its prompt yet is asked again, too.
      said = await type("ping -c1 -W1 10.0.0.2").then(
        ({ output }) => output ?? "",
        (error: Error) => error.message,
      );
      return said.includes(" 0% packet loss");
    },
    () => `${said}\n${service.log}`,
  );
}

async function packetsOf(id: string): Promise<number> {
  return (await service.client.getCapture({ id })).packets ?? 0;
}

test(
  "a capture goes on while the service is dead: killed and started again it has every packet, of before, between and after",
  hangs,
  async () => {
    await service.start();
    await deployed();
    const { capture: id } = await service.client.startCapture({ lab, node: "h1", interface: "eth0", filter: "icmp[icmptype] == 8" });
    await type("ping -i 0.05 10.0.0.2 > /dev/null &");
    const grown = (beyond: number) =>
      eventually(
        "packets are taken",
        async () => (await packetsOf(id)) > beyond && packetsOf(id),
        () => service.log,
      );
    const before = await grown(10);
    await service.end("SIGKILL");
    await service.start();
    expect(await service.client.getCapture({ id })).toMatchObject({ status: "running" });
    await grown(before + 20);
    await type("kill %1");
    const { status, packets, dropped } = await service.client.stopCapture({ id });
    expect([status, dropped]).toEqual(["stopped", 0]);

    const { body } = await service.client.downloadCapture({ id });
    const parts: Buffer[] = [];
    for await (const part of body as AsyncIterable<Buffer>) parts.push(part);
    const file = join(service.base, "all.pcapng");
    await writeFile(file, Buffer.concat(parts));
    const { stdout } = await run("tshark", ["-r", file, "-T", "fields", "-e", "icmp.seq"]);
    const sequence = stdout.trim().split("\n").map(Number);
    expect(sequence).toEqual(Array.from({ length: packets ?? 0 }, (_, i) => i + (sequence[0] ?? 0)));
  },
);

test(
  "a capture that finds no room on the disk says so, keeps what it had, and another goes through when there is some",
  hangs,
  async () => {
    await mkdir(service.stateDir);
    disk = await smallDisk(service.stateDir, 24);
    await service.start(disk.within);
    await deployed();
    const { client } = service;
    using events = await client.events({ lab, types: "capture" });
    const seen: unknown[] = [];
    const listening = (async () => {
      for await (const { type: what, data } of events) if (what === "capture") seen.push(data);
    })();
    const { capture: id } = await client.startCapture({ lab, node: "h1", interface: "eth0", filter: "icmp" });
    await type("ping -c3 -i0.1 10.0.0.2");
    await eventually(
      "packets are taken",
      async () => (await packetsOf(id)) >= 6,
      () => service.log,
    );
    await disk.fill();
    await type("ping -q -A -c 400 -s 8000 -W1 10.0.0.2 > /dev/null");
    await eventually(
      "its end is reported",
      async () => seen.length > 1,
      () => JSON.stringify(seen),
    );
    const full = { status: "failed", reason: expect.stringMatching(/No space left on device/) };
    expect(seen.at(-1)).toMatchObject({ capture: id, ...full });
    expect(await client.getCapture({ id })).toMatchObject(full);
    expect((await client.getProjectStatus({ lab })).live?.nodes?.map(({ status }) => status)).toEqual(["running", "running"]);
    await disk.fill();
    const noRoom = { code: "host_error", message: expect.stringMatching(/file system is full: free space on it/) };
    await expect(client.listCapturePackets({ id })).rejects.toMatchObject(noRoom);
    await expect(client.startCapture({ lab, node: "h1", interface: "eth0" })).rejects.toMatchObject(noRoom);
    expect((await client.listCaptures({ lab })).captures.map(({ capture }) => capture)).toEqual([id]);
    await disk.free();
    expect((await client.listCapturePackets({ id })).packets.length).toBeGreaterThanOrEqual(6);
    const { capture: next } = await client.startCapture({ lab, node: "h1", interface: "eth0", filter: "icmp" });
    await type("ping -c2 -i0.1 10.0.0.2");
    expect(await client.stopCapture({ id: next })).toMatchObject({ status: "stopped", packets: 4 });
    events[Symbol.dispose]();
    await listening;
  },
);
