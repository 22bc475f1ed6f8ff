/** The names are apart from the exporters, which the CLI loads only when it exports. */

export const labFormats = ["containerlab", "unl", "gns3", "cml"] as const;
export type LabFormat = (typeof labFormats)[number];

export const graphFormats = ["svg", "mermaid", "d2", "drawio", "dot"] as const;
export type GraphFormat = (typeof graphFormats)[number];
