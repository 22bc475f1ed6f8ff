import { probeMachine } from "../machine/probe-machine.ts";

/** How links are shaped on this machine: by the kernel's netem if it has it, else by the shaper process; `null`: not at all. */
export type ShapingMeans = "netem" | "shaper" | null;

/**
 * Finds out by a trial in a net namespace of its own.
 * @param program path of the shaper, which may be missing
 */
export async function shapingMeans(program: string): Promise<ShapingMeans> {
  if (await works(`${pair} && tc qdisc add dev p0a root netem limit 10 delay 1us 1us loss random 1% rate 1kbit`)) return "netem";
  return (await works(`${pair} && exec "$0" probe`, program)) ? "shaper" : null;
}

/** Makes devices and filters like those of a shaped link. */
const pair = `ip link add name p0a up type veth peer name q0a gso_max_segs 1 && tc qdisc add dev q0a clsact &&
tc filter replace dev q0a ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev p0a`;

async function works(script: string, ...more: readonly string[]): Promise<boolean> {
  const user = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const { code } = await probeMachine(["unshare", ...user, "--net", "sh", "-c", script, ...more]);
  return code === 0;
}
