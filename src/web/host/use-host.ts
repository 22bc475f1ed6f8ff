import type { HostLoadData } from "../../contract/schemas/host-load.ts";
import type { HostUser } from "../../contract/schemas/host-users.ts";
import type { MachineData } from "../../contract/schemas/machines.ts";
import type { QuotaData } from "../../contract/schemas/quotas.ts";
import type { ReservationData } from "../../contract/schemas/reservations.ts";
import { type Answer, useAnswer } from "../parts/use-answer.ts";
import { useCapabilities } from "../parts/use-capabilities.ts";
import { usePolling } from "../parts/use-polling.ts";
import { call } from "../service/api.ts";
import { type Usage, usageByOwner } from "./usage.ts";

/** How often the load is read, ms. */
const pollMs = 5_000;

export interface HostControl {
  /** data undefined: not read yet, or the host does not report it. */
  readonly load: Answer<HostLoadData | undefined>;
  /** Empty without a fleet. */
  readonly machines: Answer<readonly MachineData[]>;
  readonly users: Answer<readonly HostUser[] | undefined>;
  readonly usage: Answer<readonly Usage[]>;
  readonly quotas: Answer<readonly QuotaData[]>;
  readonly reservations: Answer<readonly ReservationData[]>;
  readonly mayChangeUsers: boolean;
  readonly hasJobs: boolean;
  readonly isKnown: boolean;
}

/** The load and the users of the host, and its use by the labs of each owner. */
export function useHost(): HostControl {
  const features = useCapabilities()?.features;
  const has = (name: string) => features?.[name] === true;
  const load = useAnswer(async (signal) => (has("hostLoad") ? call("getHostLoad", {}, { signal }) : undefined), [has("hostLoad")]);
  const users = useAnswer(
    async (signal) => (has("hostUsers") ? (await call("listHostUsers", {}, { signal })).users : undefined),
    [has("hostUsers")],
  );
  const usage = useAnswer(
    async (signal) => {
      const [{ labs }, { captures }, { disks }] = await Promise.all([
        call("listLabs", {}, { signal }),
        has("capture") ? call("listCaptures", {}, { signal }) : { captures: [] },
        has("keptDisks") ? call("listDisks", {}, { signal }) : { disks: [] },
      ]);
      return usageByOwner({ labs, captures, disks });
    },
    [has("capture"), has("keptDisks")],
  );
  const machines = useAnswer(async (signal) => (await call("listMachines", {}, { signal })).machines, []);
  const quotas = useAnswer(async (signal) => (await call("listQuotas", {}, { signal })).quotas, []);
  const reservations = useAnswer(async (signal) => (await call("listReservations", {}, { signal })).reservations, []);
  usePolling(() => {
    if (has("hostLoad")) load.again();
    if ((machines.data ?? []).length > 0) machines.again();
  }, pollMs);
  return {
    load,
    machines,
    users,
    usage,
    quotas,
    reservations,
    mayChangeUsers: has("userChanges"),
    hasJobs: has("jobs"),
    isKnown: features !== undefined,
  };
}
