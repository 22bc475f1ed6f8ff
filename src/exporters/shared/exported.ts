/** A lab in the language of another tool. */
export interface Exported {
  /** The lab's own file. */
  readonly main: string;
  /** Texts by path; the main file is one of them. */
  readonly files: Readonly<Record<string, string>>;
  /** Sentences about parts of the lab that the other tool has no place for, and about what it needs in addition. */
  readonly notes: readonly string[];
}
