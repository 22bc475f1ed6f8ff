import type { Answer } from "../../../transport/transport.ts";
import { recordOf } from "../api/answer.ts";
import { eveAnswer, jsonOf } from "./pnetlab-answer.ts";

/** What PNETLab's forms have that no node has, that others decide, or that is secret and stays as it is. */
const left = new Set([
  "type",
  "template",
  "description",
  "size",
  "left",
  "top",
  "eth_name",
  "config_script",
  "script_timeout",
  "password",
  "shutdown",
]);

/**
 * guess pnetlab-forms: the fields of types that its source names: qemu, iol, vpcs; slots of Dynamips are taken to be as in EVE-NG.
 * A template's form in EVE-NG's shape. PNETLab tells type and description as fields, values to choose from as `options`, and – unlike
 * EVE-NG – whether there is a script for startup configs.
 */
export function pnetlabForm(answer: Answer): Answer {
  const told = recordOf(recordOf(jsonOf(answer).data).options);
  const value = (name: string) => recordOf(told[name]).value;
  const options = Object.fromEntries(
    Object.entries(told).flatMap(([name, field]) => {
      if (left.has(name)) return [];
      const { options: list, type, ...rest } = recordOf(field);
      // A type that is not told is a line of text.
      return [[name, { ...rest, type: type ?? "input", ...(list !== undefined && { list }) }]];
    }),
  );
  const script = typeof value("config_script") === "string" && value("config_script") !== "";
  const data = { type: value("type"), description: value("description"), options, startup_config: script };
  return eveAnswer(answer, 200, "Successfully listed node template (60032).", data);
}
