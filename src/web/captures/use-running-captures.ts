import { useMemo } from "preact/hooks";
import { useAnswer } from "../parts/use-answer.ts";
import { useFeature } from "../parts/use-feature.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";

/** Returns the ids of the running captures of a lab by their interface, "r1:eth1". A capture without a filter comes before others. */
export function useRunningCaptures(lab: string): ReadonlyMap<string, string> {
  const { data: isSupported } = useFeature("capture");
  const { data, again } = useAnswer(
    async (signal) => (isSupported === true ? (await call("listCaptures", { lab }, { signal })).captures : []),
    [lab, isSupported],
  );
  useEvents(lab, ({ type }) => {
    if (type === "capture" || type === "gap") again();
  });
  return useMemo(() => {
    const running = (data ?? []).filter(({ status }) => status === "running");
    const complete = running.filter(({ filter }) => filter === undefined);
    return new Map([...running, ...complete].map(({ node, interface: port, capture }) => [`${node}:${port}`, capture]));
  }, [data]);
}
