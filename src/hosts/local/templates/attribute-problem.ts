import type { Scalar } from "../../../intent/lab/lab.ts";
import type { ValueProblem } from "../../host.ts";
import { parseArguments } from "./extra-arguments.ts";
import { cpuModelPattern } from "./vm-template.ts";

/** Returns the problem of a VM attribute whose text has a grammar, `undefined` if it is valid, and for any other attribute. */
export function vmAttributeProblem(name: string, value: Scalar): ValueProblem | undefined {
  const text = String(value);
  if (name === "cpu-model" && !cpuModelPattern.test(text)) {
    return { problem: `${JSON.stringify(text)} is not a CPU model`, hint: "auto, or a model of QEMU's with features: Nehalem,+x2apic" };
  }
  if (name !== "arguments") return undefined;
  const parsed = parseArguments(text);
  return "problem" in parsed ? parsed : undefined;
}
