import { parseFingerprint, showFingerprint } from "../../transport/fingerprint.ts";
import { type Command, labFlag, topoFlag } from "../command/command.ts";

export const open: Command = {
  name: "open",
  summary: "The lab's page in a browser: a link that signs in by itself",
  operands: "[FILE]",
  maxOperands: 1,
  details:
    "The link is good once, for two minutes, and opens this session: give it to nobody. A browser that does not know the service's\ncertificate shows its fingerprint: compare it with the one that is told here.",
  flags: [topoFlag, labFlag],
  example: "labwright open labs/ospf-triangle.yaml",
  run: async (context, given) => {
    const [file] = given.operands;
    const { selector } = await context.project(file === undefined ? given : given.with("topo", file));
    const client = await context.client();
    context.result(await client.openProject(selector), ({ url }) => url);
    const pin = (await context.service())?.pin;
    const certificate = pin === undefined ? "" : `; the certificate's SHA-256 fingerprint is ${showFingerprint(parseFingerprint(pin))}`;
    context.terminal.note(`good once, for two minutes${certificate}`);
    return 0;
  },
};
