import { call } from "../service/api.ts";
import { type Answer, useAnswer } from "./use-answer.ts";

type Features = Readonly<Record<string, boolean>>;

/** What the host can do does not change while a page is open. */
let known: Features | undefined;

/** Whether the host can do something, by its name in the capabilities. */
export function useFeature(name: string): Answer<boolean> {
  return useAnswer(
    async (signal) => {
      known ??= (await call("getCapabilities", {}, { signal })).features ?? {};
      return known[name] === true;
    },
    [name],
  );
}
