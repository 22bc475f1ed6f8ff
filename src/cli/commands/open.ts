import { parseFingerprint, showFingerprint } from "../../transport/fingerprint.ts";
import { type Command, labFlag, topoFlag } from "../command/command.ts";

export const open: Command = {
  name: "open",
  summary: "Print a link to the lab's page that signs in the browser",
  operands: "[FILE]",
  maxOperands: 1,
  details:
    "The link works once, for two minutes, and signs in with your session: do not share it. If the browser does not trust the service's certificate,\ncompare the fingerprint that it shows with the one on stderr.",
  flags: [topoFlag, labFlag],
  example: "labwright open labs/ospf-triangle.yaml",
  run: async (context, given) => {
    const [file] = given.operands;
    const { selector } = await context.project(file === undefined ? given : given.with("topo", file));
    const client = await context.client();
    context.result(await client.openProject(selector), ({ url }) => url);
    const pin = (await context.service())?.pin;
    const certificate = pin === undefined ? "" : `; the certificate's SHA-256 fingerprint is ${showFingerprint(parseFingerprint(pin))}`;
    context.terminal.note(`the link works once, for two minutes${certificate}`);
    return 0;
  },
};
