import { Failure } from "../../contract/errors.ts";
import type { Catalogue } from "./catalogue.ts";
import type { DefinedNode } from "./definition.ts";
import type { NodeSpawn } from "./sandbox.ts";
import { bootEnv, bootFiles, nodeImage } from "./template.ts";

/** What the holder needs to make this node; throws host_error where template or image are not on this host. */
export function nodeSpawn(node: DefinedNode, disk: string, catalogue: Catalogue): NodeSpawn {
  const template = catalogue.template(node.template);
  if (template === undefined) throw refused(`node ${node.name}: the host has no template ${node.template}`);
  const image = nodeImage(template, catalogue.images, node.image);
  if (image === undefined) throw refused(`node ${node.name}: image ${node.image ?? template.images[0]} is not on this host`);
  const wanted = { ...node, key: node.name };
  return {
    id: node.id,
    hostname: hostname(node.name),
    lower: image.layers,
    disk,
    files: bootFiles(wanted),
    env: bootEnv(template, wanted),
    boot: template.boot,
    console: template.console.argv,
  };
}

/** A shown name may be any text; a host name has letters, digits, dots and hyphens, at most 64 of them. */
function hostname(name: string): string {
  return (
    name
      .replace(/[^A-Za-z0-9.-]+/g, "-")
      .replace(/^[-.]+|[-.]+$/g, "")
      .slice(0, 63) || "node"
  );
}

function refused(message: string): Failure {
  return new Failure("host_error", message, { data: { host: { message } } });
}
