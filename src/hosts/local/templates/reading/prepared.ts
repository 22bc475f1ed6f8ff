import type { LocalTemplate } from "../template.ts";

/** A template of Labwright's own, read when the programs were bundled. */
export interface PreparedTemplate {
  /** The file's path in the folder of templates. */
  readonly name: string;
  /** The file's content then. */
  readonly text: string;
  readonly template: LocalTemplate;
}

/** scripts/bundle.ts puts the templates here, because reading all files takes a third of a second of processor time. Empty if the sources run. */
export const prepared: readonly PreparedTemplate[] = [];
