import { Readable } from "node:stream";
import Type, { type Static, type TSchema } from "typebox";
import { Errors } from "typebox/value";
import { Failure } from "../../contract/errors.ts";
import type { HostImages } from "../../hosts/host-images.ts";
import type { MachineAnswer, MachineCall } from "../common/fleet-calls.ts";
import type { HostPart } from "../context/parts.ts";

const text = Type.String();
const count = Type.Integer({ minimum: 0 });
const Image = Type.Object({
  user: Type.Object({ name: text, role: Type.Enum(["admin", "user", "viewer"]) }),
  kind: Type.Enum(["container", "machine"]),
  image: text,
});
const Part = Type.Object({ ...Image.properties, part: count });
const Read = Type.Object({ ...Part.properties, offset: count });

/** Answers calls of other machines of the fleet, which vouch for the users that they name. Throws bad_request, unsupported, and as the call. */
export async function answerMachine({ host }: HostPart, { name, args }: MachineCall): Promise<MachineAnswer> {
  switch (name) {
    case "imageManifest": {
      const { user, kind, image } = checked(Image, args);
      return withFacts(await imagesOf(host).manifest(user, kind, image));
    }
    case "imagePart": {
      const { user, kind, image, part } = checked(Part, args);
      return withFacts(await imagesOf(host).part(user, kind, image, part));
    }
    case "readImage": {
      const { user, kind, image, part, offset } = checked(Read, args);
      return { facts: null, body: await imagesOf(host).read(user, kind, image, part, offset) };
    }
    case "countParts":
      if (host.parts === undefined) throw new Failure("unsupported", "this machine takes no parts of labs of other machines");
      return withFacts(host.parts.labs().length);
    default:
      throw new Failure("unsupported", `this machine has another release: it does not know the call ${name}`);
  }
}

function withFacts(facts: unknown): MachineAnswer {
  return { facts, body: Readable.from([], { objectMode: false }) };
}

function imagesOf({ images }: HostPart["host"]): HostImages {
  if (images === undefined) throw new Failure("unsupported", "the host of this machine has no images for others");
  return images;
}

function checked<Schema extends TSchema>(schema: Schema, args: unknown): Static<Schema> {
  const [error] = Errors(schema, args);
  if (error !== undefined) throw new Failure("bad_request", `the call of a machine: ${error.instancePath} ${error.message}`);
  return args as Static<Schema>;
}
