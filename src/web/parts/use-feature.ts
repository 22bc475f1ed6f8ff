import { call } from "../service/api.ts";
import { type Answer, useAnswer } from "./use-answer.ts";

type Features = Readonly<Record<string, boolean>>;

/** Read once: the host's features do not change while a page is open. */
let cachedFeatures: Features | undefined;

/** Whether the host has a feature, by its name in the capabilities. */
export function useFeature(name: string): Answer<boolean> {
  return useAnswer(
    async (signal) => {
      cachedFeatures ??= (await call("getCapabilities", {}, { signal })).features ?? {};
      return cachedFeatures[name] === true;
    },
    [name],
  );
}
