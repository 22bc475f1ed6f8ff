import { Failure } from "../../../contract/errors.ts";
import type { Power } from "../../../engine/model/observed.ts";

/**
 * Returns node_not_running, with data.node and data.power.
 * @param power `undefined` if nothing of the lab runs
 */
export function notRunning(name: string, power: Power | undefined): Failure {
  const text = power === "failed" ? `${name} has failed and does not run` : `${name} does not run`;
  return new Failure("node_not_running", text, { data: { node: name, power: power ?? "stopped" } });
}
