/** In the order in which messages list them. The names are apart from the importers, which the CLI loads only when it imports. */
export const formatNames = ["containerlab", "eve", "cml", "virl", "gns3", "netlab", "kathara", "dot", "mermaid"] as const;

export type FormatName = (typeof formatNames)[number];
