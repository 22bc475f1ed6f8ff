import type { Draft } from "../draft/draft.ts";
import type { ChoiceOptions } from "../mapping/choose-template.ts";
import type { SourceFiles } from "../source/source-files.ts";
import type { Part } from "../tree/part.ts";
import type { FormatName } from "./format-names.ts";

export interface ReadOptions extends ChoiceOptions {
  /** Makes configurations of FRR for stand-ins, of those in the language of IOS. */
  readonly translateConfigs?: boolean;
  /** Values of variables that a file names. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** The result of a reader. */
export interface Reading {
  readonly draft: Draft;
  /** The files that were read as trees: the report lists each of their parts. */
  readonly parts: readonly Part[];
}

/** Reads the lab files of one tool. Plain data and pure functions. */
export interface Importer {
  /** The name in commands, the API and the tables of node types. */
  readonly format: FormatName;
  /** For people, such as "containerlab topology". */
  readonly title: string;
  /**
   * Whether a file is a lab of this format, by its content: 0 is no, 1 is certain. A value between is for files that another format could claim. Never throws.
   */
  readonly recognize: (files: SourceFiles, path: string) => number;
  /** Reads the lab of a file that was recognized, or that the user calls one. Throws invalid_source and nothing else. */
  readonly read: (files: SourceFiles, path: string, options: ReadOptions) => Reading;
}
