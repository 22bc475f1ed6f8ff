import { succeeded } from "../machine/machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

/** Packets and bytes since the device exists. */
export interface DeviceCounters {
  readonly received: { readonly packets: number; readonly bytes: number };
  readonly sent: { readonly packets: number; readonly bytes: number };
}

/** Reads the counters of all devices of the fabric, by name: one small program, for thousands of devices too. */
export async function deviceCounters(sandbox: Pick<Sandbox, "run">): Promise<ReadonlyMap<string, DeviceCounters>> {
  const argv = ["cat", "/proc/net/dev"];
  return parseDevices(succeeded(argv, await sandbox.run(argv)).stdout);
}

/** Parses /proc/net/dev: two lines of headings, then "name: " with 8 counters of received and 8 of sent packets. */
export function parseDevices(text: string): ReadonlyMap<string, DeviceCounters> {
  return new Map(
    text
      .split("\n")
      .slice(2)
      .flatMap((line): readonly (readonly [string, DeviceCounters])[] => {
        const [, name, counters] = /^\s*(\S+):\s*(\d.*)$/.exec(line) ?? [];
        if (name === undefined || counters === undefined) return [];
        const numbers = counters.trim().split(/\s+/).map(Number);
        const [receivedBytes = 0, receivedPackets = 0] = numbers;
        const [sentBytes = 0, sentPackets = 0] = numbers.slice(8);
        return [[name, { received: { packets: receivedPackets, bytes: receivedBytes }, sent: { packets: sentPackets, bytes: sentBytes } }]];
      }),
  );
}
