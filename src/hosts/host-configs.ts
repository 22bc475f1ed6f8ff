/** A startup configuration to check, and the template, image and attributes of its node. */
export interface ConfigToCheck {
  readonly template: string;
  readonly image?: string;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  readonly text: string;
}

/** A line that the node's software does not accept. Contains no text of the configuration, which may have secrets. */
export interface ConfigProblem {
  /** From 1. */
  readonly line: number;
  /** From 1: where the line stops to make sense; absent if that is not known. */
  readonly column?: number;
  /** For people, in the form `FRR does not know this command`. */
  readonly problem: string;
  readonly hint?: string;
}
