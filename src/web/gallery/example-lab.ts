/** An example lab of the pages, with the parts of its drawing. */
export interface ExampleLab {
  readonly name: string;
  readonly description: string;
  readonly yaml: string;
  readonly files: Readonly<Record<string, string>>;
  /** Templates that its nodes need. */
  readonly templates: readonly string[];
  /** Nodes and networks: key, x, y. */
  readonly places: readonly (readonly [key: string, x: number, y: number])[];
  /** Links: the keys of both ends. */
  readonly links: readonly (readonly [string, string])[];
}
