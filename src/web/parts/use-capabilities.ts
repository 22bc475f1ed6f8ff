import type { CapabilitiesData } from "../../contract/schemas/session.ts";
import { call } from "../service/api.ts";
import { useAnswer } from "./use-answer.ts";

/** The host's capabilities; undefined until they are read, and if they cannot be read. */
export function useCapabilities(): CapabilitiesData | undefined {
  return useAnswer((signal) => call("getCapabilities", {}, { signal }), []).data;
}
