import { Readable } from "node:stream";
import Type, { type Static, type TSchema } from "typebox";
import { Errors } from "typebox/value";
import { Failure } from "../../contract/errors.ts";
import type { MachineAnswer, MachineCall } from "../common/fleet-calls.ts";
import type { Context } from "../context/context.ts";
import { labDigest, sendLab, takeLab } from "./take-lab.ts";

const text = Type.String();
const Offer = Type.Object({
  lab: Type.Object({
    lab: text,
    id: text,
    bytes: Type.Number(),
    nodes: Type.Array(
      Type.Object({
        name: text,
        template: text,
        image: Type.Optional(text),
        kernel: Type.Optional(Type.Literal("own")),
        base: Type.Optional(Type.Object({ kind: Type.Enum(["files", "machine"]), digest: text })),
      }),
    ),
  }),
  job: text,
  start: Type.Array(text),
  by: text,
});
const Sent = Type.Object({ lab: text, job: text });
const Job = Type.Object({ job: text });

/** Answers the calls of other machines that move labs; undefined for any other call. Throws bad_request, and as the call. */
export async function answerMove(
  context: Context,
  from: number,
  { name, args }: MachineCall,
  signal: AbortSignal,
): Promise<MachineAnswer | undefined> {
  switch (name) {
    case "takeLab":
      return takeLab(context, from, checked(Offer, args), signal);
    case "readLab":
      return sendLab(context, checked(Sent, args));
    case "labDigest":
      return { facts: labDigest(context, checked(Job, args).job), body: Readable.from([], { objectMode: false }) };
    default:
      return undefined;
  }
}

function checked<Schema extends TSchema>(schema: Schema, args: unknown): Static<Schema> {
  const [error] = Errors(schema, args);
  if (error !== undefined) throw new Failure("bad_request", `the call of a machine: ${error.instancePath} ${error.message}`);
  return args as Static<Schema>;
}
