/** Prints the progress of set-up: one line for each finished step with its duration; on a terminal also the progress of a long step. */
export interface Steps {
  /** Runs one step. `work` reports progress and returns a summary. If it returns `undefined`, nothing is printed. */
  run(name: string, work: (say: (text: string) => void) => Promise<string | undefined>): Promise<void>;
}

export function steps(out: { write(text: string): unknown; readonly isTTY?: boolean }, now: () => number): Steps {
  return {
    async run(name, work) {
      const start = now();
      const say = (text: string): void => {
        out.write(out.isTTY === true ? `\r\x1b[K${name}: ${text} …` : `${name}: ${text}\n`);
      };
      const clear = out.isTTY === true ? "\r\x1b[K" : "";
      try {
        const done = await work(say);
        out.write(done === undefined ? clear : `${clear}${name}: ${done} (${((now() - start) / 1000).toFixed(1)} s)\n`);
      } catch (error) {
        out.write(`${clear}${name}: failed\n`);
        throw error;
      }
    },
  };
}
