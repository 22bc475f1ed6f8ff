/**
 * Program that quality-netem.microvm.extended.test.ts runs in its virtual machine. It shapes link 3 between two namespaces of that machine, ends the shaping while
 * frames are on their way, and prints as JSON how many arrived.
 */
import { setTimeout as delay } from "node:timers/promises";
import { runOnMachine } from "../machine/machine.ts";
import { LabNetem } from "./quality-netem.ts";

const [image = "/"] = process.argv.slice(2);
const sandbox = { run: (argv: readonly string[], stdin = "") => runOnMachine(["ip", "netns", "exec", "fabric", ...argv], stdin) };
const none = { delay: 0, jitter: 0, loss: 0, bandwidth: 0 };
const hasDevices = async () => (await sandbox.run(["ip", "link", "show"])).stdout.includes("q3a");
const redirect = (from: string, to: string) =>
  `filter replace dev ${from} ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev ${to}\n`;

const netem = new LabNetem(sandbox);
await netem.adopt();
const adopted = [...netem.links.keys()];
await netem.put(new Map([[3, { mtu: 1500, a: { ...none, delay: 3000 }, b: none }]]));
const effective = (await netem.read())?.get(3)?.a;
const ping = ["chroot", image, "ping", "-q", "-c", "20", "-i", "0.01", "-W", "9", "10.0.0.2"];
const pings = runOnMachine(["ip", "netns", "exec", "a", ...ping]);
await delay(500);
await sandbox.run(["tc", "-batch", "-"], redirect("n1i0", "n2i0") + redirect("n2i0", "n1i0"));
await netem.drop([3]);
const existedMeanwhile = await hasDevices();
const [, received] = /(\d+) received/.exec((await pings).stdout) ?? [];
for (let i = 0; i < 400 && (await hasDevices()); i++) await delay(50);
console.log(JSON.stringify({ adopted, effective, existedMeanwhile, received: Number(received), existsAfter: await hasDevices() }));
netem.close();
