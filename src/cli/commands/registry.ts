import type { Command } from "../command/command.ts";
import { registriesPath } from "../service/service-process.ts";

export const registry: Command = {
  name: "registry",
  summary: "Set the registries that labs pull container images from, and sign in to them",
  operands: "list|add HOST|default HOST|remove HOST|login HOST|logout HOST [FLAG...]",
  details:
    "For the administrator, on the machine of the service. Users may name only these registries in their labs. Passwords are kept in a file that only\n" +
    "the service reads. labwright registry --help shows the flags.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright registry add registry.example --default",
  run: async (_context, args) => {
    // A separate program, like set-up. It takes over this process and its exit code.
    process.argv = [process.execPath, registriesPath(), ...args.operands];
    await import(registriesPath());
    return process.exitCode === 1 ? 1 : 0;
  },
};
