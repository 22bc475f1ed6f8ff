import type { Command } from "../command/command.ts";
import { doctorPath } from "../service/service-process.ts";

export const doctor: Command = {
  name: "doctor",
  summary: "Show the features of this machine's kernel that labs may need, and the next step for missing ones",
  operands: "[FLAG...]",
  details:
    "Tries VRF, MPLS, VLAN interfaces, VXLAN, bonding, MACsec, WireGuard, netem and the VLAN filter of bridges, in a network namespace of its own.\n" +
    "A node with kernel: own has all of them on every machine. --format json prints the result as JSON.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright doctor",
  run: async (_context, args) => {
    // A separate program, because only the embedded host knows the machine. It takes over this process and its exit code.
    process.argv = [process.execPath, doctorPath(), ...args.operands];
    await import(doctorPath());
    return process.exitCode === 1 ? 1 : 0;
  },
};
