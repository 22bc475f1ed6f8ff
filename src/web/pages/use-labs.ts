import { useState } from "preact/hooks";
import type { EventData, LabEntry } from "../../contract/schemas/observe.ts";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";

/** Counters of changes of a lab: its row reads its state again when they increase. */
export interface LabChanges {
  readonly state: number;
  readonly shape: number;
}

const noChanges: LabChanges = { state: 0, shape: 0 };

/** The labs that the user may see, kept up to date by events. */
export interface LabList {
  /** undefined until the first response. */
  readonly labs: readonly LabEntry[] | undefined;
  readonly error: unknown;
  readonly reload: () => void;
  readonly changesOf: (lab: string) => LabChanges;
}

export function useLabs(): LabList {
  const { data, error, again } = useAnswer((signal) => call("listLabs", {}, { signal }), []);
  const [changes, setChanges] = useState<ReadonlyMap<string, LabChanges>>(new Map());
  /** Labs that were deleted after the list was read: hidden, so that no further request is sent for them. */
  const [deleted, setDeleted] = useState<ReadonlySet<string>>(new Set());
  useEvents(undefined, (event) => {
    const change = event.type === "lab" ? (event.data as { readonly change?: string }).change : undefined;
    if (change !== undefined && event.lab !== undefined) setDeleted(withMember(deleted, event.lab, change === "deleted"));
    if (event.type === "lab" || event.type === "gap" || isEndOfJob(event)) again();
    setChanges((before) => countedChanges(before, event, data?.labs ?? []));
  });
  return {
    labs: data?.labs.filter(({ lab }) => !deleted.has(lab)),
    error,
    reload: again,
    changesOf: (lab) => changes.get(lab) ?? noChanges,
  };
}

/** Counts an event for each lab that it may concern: without a lab, for all labs. */
function countedChanges(
  before: ReadonlyMap<string, LabChanges>,
  event: EventData,
  labs: readonly LabEntry[],
): ReadonlyMap<string, LabChanges> {
  const concerned = event.lab === undefined ? labs.map(({ lab }) => lab) : [event.lab];
  const changesShape = event.type === "lab" || event.type === "link" || event.type === "gap" || isEndOfJob(event);
  const now = new Map(before);
  for (const lab of concerned) {
    const { state, shape } = before.get(lab) ?? noChanges;
    now.set(lab, { state: state + 1, shape: shape + (changesShape ? 1 : 0) });
  }
  return now;
}

function withMember(set: ReadonlySet<string>, member: string, isMember: boolean): ReadonlySet<string> {
  const next = new Set(set);
  if (isMember) next.add(member);
  else next.delete(member);
  return next;
}

function isEndOfJob({ type, data }: EventData): boolean {
  return type === "job" && (data as { readonly outcome?: string } | undefined)?.outcome !== undefined;
}
