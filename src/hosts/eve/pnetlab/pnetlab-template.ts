import { recordOf } from "../api/answer.ts";
import type { EveReply } from "../api/eve-call.ts";
import { eveAnswer, jsonOf } from "./pnetlab-answer.ts";

/** Fields of PNETLab's forms that nodes do not have, that follow from other fields, or that are secret and stay unchanged. */
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
 * guess pnetlab-forms: the fields of types that its source names: qemu, iol, vpcs; slots of Dynamips are assumed to be like EVE-NG's.
 * A template's form in EVE-NG's shape. PNETLab returns type and description as fields, values to choose from as `options`, and – unlike
 * EVE-NG – whether there is a script for startup configs.
 */
export function pnetlabForm(answer: EveReply): EveReply {
  const fields = recordOf(recordOf(jsonOf(answer).data).options);
  const value = (name: string) => recordOf(fields[name]).value;
  const options = Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      if (left.has(name)) return [];
      const { options: list, type, ...rest } = recordOf(field);
      // A missing type means a line of text.
      return [[name, { ...rest, type: type ?? "input", ...(list !== undefined && { list }) }]];
    }),
  );
  const script = typeof value("config_script") === "string" && value("config_script") !== "";
  const data = { type: value("type"), description: value("description"), options, startup_config: script };
  return eveAnswer(answer, 200, "Successfully listed node template (60032).", data);
}
