import { execFileSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { dirname, join } from "node:path";
import { labOf, testLocalHost } from "../src/hosts/local/testing/test-local-host.fixture.ts";

export interface CaptureResult {
  /** Packets per second that a node sent, without and with a capture: the best of five alternate rounds each. */
  readonly alone: number;
  readonly captured: number;
  readonly packets: number;
  readonly dropped: number;
}

const count = 150_000;

/** Measures a node that sends UDP over its link, with and without a capture of its interface. @param rate packets per second; 0: as fast as possible */
export async function captureUnderLoad(rate: number): Promise<CaptureResult> {
  await using local = await testLocalHost();
  const flood = join(dirname(local.paths.state), "flood");
  execFileSync("cc", ["-O2", "-static", "-o", flood, join(import.meta.dirname, "../native/load/flood.c")]);
  chmodSync(flood, 0o755);
  const node = (n: number) => `  h${n}: {template: linux, exec: ["ip addr add 10.0.0.${n}/24 dev eth0"]}\n`;
  await local.deploy("/load", labOf(`name: load\nnodes:\n${node(1)}${node(2)}links:\n  - ["h1:eth0", "h2:eth0"]\n`));
  while ((await local.exec("/load", "h1", "ping", "-c1", "-W1", "10.0.0.2")).code !== 0);
  const id = (await local.session.observe("/load"))!.nodes[0]!.id;
  const sandbox = await local.sandbox("/load");
  const pid = (await sandbox.info()).nodes.find((one) => String(one.id) === id)!.pid;
  const send = async () =>
    Number((await sandbox.run(["nsenter", "-t", String(pid), "-n", flood, "10.0.0.2", String(count), String(rate), "100"])).stdout);
  const [alone, captured]: [number[], number[]] = [[], []];
  let [packets, dropped] = [0, 0];
  for (let round = 0; round < 5; round++) {
    alone.push(await send());
    const capture = await local.session.captures!.start("/load", { nodeId: id, interface: "eth0", label: "h1:eth0", filter: "udp" });
    captured.push(await send());
    const ended = await local.session.captures!.stop("/load", capture.id);
    packets += ended.packets ?? 0;
    dropped += ended.dropped ?? 0;
    await local.session.captures!.remove("/load", capture.id);
  }
  // The best of each: other work on the machine slows some rounds.
  return { alone: Math.max(...alone), captured: Math.max(...captured), packets, dropped };
}
