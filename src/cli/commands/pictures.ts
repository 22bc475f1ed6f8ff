import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { bytes, table } from "../show/table.ts";

export const pictures: Command = {
  name: "pictures",
  summary: "List a lab's pictures on the host, or write one to a file",
  operands: "[ID]",
  maxOperands: 1,
  details: "NODES lists the nodes whose consoles the picture's hotspots open. An existing file is not overwritten.",
  flags: [
    topoFlag,
    labFlag,
    { long: "write", short: "w", value: "FILE", completes: "file", summary: "Write the picture to this file; - is standard output" },
  ],
  example: "labwright pictures 1 -w plan.png --lab /courses/bgp-1",
  run: async (context, args) => {
    const [id] = args.operands;
    const file = args.text("write");
    if ((id === undefined) !== (file === undefined))
      throw new UsageError("pictures needs an ID and an output", "labwright pictures ID -w FILE; labwright pictures lists them");
    const { selector } = await context.project();
    const data = await (await context.client()).listPictures(selector);
    if (id !== undefined && file !== undefined) {
      await fetchOne(context, { lab: data.lab, id }, file);
      return 0;
    }
    context.result(data, ({ pictures: all }) =>
      all.length === 0
        ? "no pictures"
        : table(
            ["ID", "NAME", "TYPE", "SIZE", "PIXELS", "NODES"],
            all.map((one) => [
              one.picture,
              one.name,
              one.media_type,
              bytes(one.size_bytes),
              one.width === undefined || one.height === undefined ? "" : `${one.width}x${one.height}`,
              one.nodes.join(", "),
            ]),
          ),
    );
    return 0;
  },
};

async function fetchOne(context: Context, picture: { readonly lab: string; readonly id: string }, file: string): Promise<void> {
  const { stdout } = context.terminal;
  if (file === "-" && stdout.isTTY === true) throw new UsageError("a picture cannot be shown in a terminal", "-w FILE");
  const { body } = await (await context.client()).getPicture(picture);
  if (file === "-") return pipeline(body, stdout, { end: false });
  try {
    await pipeline(body, createWriteStream(file, { flags: "wx" }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new UsageError(`${file} exists already and is not overwritten`, "name another file with -w, or remove it first");
  }
}
