import type { ResultOf } from "../../client/index.ts";
import type { Command } from "../command/command.ts";
import { bytes, table } from "../show/table.ts";

type Detail = ResultOf<"getTemplate">;

export const templates: Command = {
  name: "templates",
  summary: "List the node templates of the host, or show one with its images and attributes",
  operands: "[ID]",
  maxOperands: 1,
  flags: [{ long: "provisioned", summary: "Only templates with an image, whose nodes can start" }],
  example: "labwright templates frr",
  run: async (context, args) => {
    const client = await context.client();
    const [id] = args.operands;
    if (id !== undefined) {
      context.result(await client.getTemplate({ id }), showDetail);
      return 0;
    }
    const data = await client.listTemplates(args.has("provisioned") ? { provisioned: "true" } : {});
    context.result(data, ({ templates = [] }) =>
      table(
        ["ID", "TYPE", "PROVISIONED", "CONFIG", "DESCRIPTION"],
        templates.map((one) => [one.id, one.type, yesNo(one.provisioned), yesNo(one.configSupported), one.description]),
      ),
    );
    return 0;
  },
};

function showDetail(data: Detail): string {
  const parts = [`${data.id}  ${data.type}\n${data.description ?? ""}`];
  const images = (data.images ?? []).map((image) => [
    image.name,
    image.default ? "default" : "",
    image.size_bytes === undefined ? "" : bytes(image.size_bytes),
    image.modified_at ?? "",
  ]);
  if (images.length > 0) parts.push(table(["IMAGE", "", "SIZE", "MODIFIED"], images));
  else if (data.provisioned === false) parts.push("the host has no image for this template: its nodes cannot start");
  if (data.image_source !== undefined) parts.push(`images: ${data.image_source}`);
  const attributes = (data.attributes ?? []).map((one) => [
    one.name,
    one.type,
    one.default === undefined ? "" : String(one.default),
    one.required ? "required" : "",
    (one.options ?? []).map(({ value }) => value).join(" "),
    one.description ?? one.label,
  ]);
  if (attributes.length > 0) parts.push(table(["ATTRIBUTE", "TYPE", "DEFAULT", "", "VALUES", "DESCRIPTION"], attributes));
  return parts.join("\n\n");
}

function yesNo(value: boolean | undefined): string {
  return value === true ? "yes" : "no";
}
