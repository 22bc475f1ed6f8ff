import type { CapabilitiesData } from "../../contract/schemas/session.ts";
import { call } from "../service/api.ts";
import { useAnswer } from "./use-answer.ts";

/** What the host can do; undefined until it is known, and where that cannot be read. */
export function useCapabilities(): CapabilitiesData | undefined {
  return useAnswer((signal) => call("getCapabilities", {}, { signal }), []).data;
}
