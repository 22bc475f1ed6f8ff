import type { HostLoad } from "../../host.ts";
import { numberOf, recordOf, textOf } from "../api/answer.ts";
import { hostFailure } from "../api/host-failure.ts";
import type { EveAccount } from "./account.ts";

const types = ["dynamips", "docker", "iol", "qemu", "vpcs"] as const;

/** The host measures its processor's load for a second. Throws host_error if a value is missing. */
export async function readLoad(account: EveAccount): Promise<HostLoad> {
  const data = recordOf(await account.get("/api/status", "read the host's load"));
  const percent = (name: string): number => {
    const value = numberOf(data[name]);
    if (value === undefined) throw hostFailure(`the host's status has no figure for ${name}`);
    return Math.min(100, Math.max(0, value));
  };
  const version = textOf(data.version);
  return {
    ...(version !== undefined && { version }),
    cpuPercent: percent("cpu"),
    memoryPercent: percent("mem"),
    diskPercent: percent("disk"),
    swapPercent: percent("swap"),
    running: Object.fromEntries(types.flatMap((type) => (numberOf(data[type]) === undefined ? [] : [[type, numberOf(data[type]) ?? 0]]))),
  };
}
