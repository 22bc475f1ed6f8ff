import type { MachineData } from "../../contract/schemas/machines.ts";

/** A machine of the fleet as a row of texts. */
export interface MachineRow {
  readonly name: string;
  readonly isCordoned: boolean;
  readonly isDraining: boolean;
  readonly runsLabs: boolean;
  readonly state: string;
  readonly isLost: boolean;
  readonly labs: string;
  readonly memory: string;
  readonly load: string;
  readonly labels: string;
  /** Why no call is passed on to it; empty: calls are. */
  readonly problem: string;
}

/** @param time a moment as people read it */
export function machineRows(machines: readonly MachineData[], time: (at: string) => string): readonly MachineRow[] {
  return machines.map(
    ({
      name,
      state,
      draining = false,
      answers,
      own,
      seen_at: seenAt,
      labs,
      labels,
      problem = "",
      runs_labs: runsLabs = true,
      ...facts
    }) => ({
      name,
      isCordoned: state === "cordoned",
      isDraining: draining,
      runsLabs,
      state: answers
        ? `${!runsLabs ? "runs no labs" : draining ? "its labs move away" : state === "cordoned" ? "gets no new labs" : "active"}${own === true ? ", shows this page" : ""}`
        : `no answer since ${time(seenAt)}`,
      isLost: !answers,
      labs: String(labs),
      memory: !runsLabs ? "" : `${gibibytes(facts.available_memory_mib)} of ${gibibytes(facts.memory_mib)} GiB free`,
      load: `${facts.load} on ${facts.processors} ${facts.processors === 1 ? "processor" : "processors"}`,
      labels: Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(" "),
      problem,
    }),
  );
}

function gibibytes(mebibytes: number): string {
  return (mebibytes / 1_024).toFixed(1);
}
