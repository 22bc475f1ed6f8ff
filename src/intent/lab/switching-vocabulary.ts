import type { Vocabulary } from "./vocabulary.ts";

export const switchingVocabulary: Vocabulary = {
  known: ["interfaces", "lag", "spanning-tree", "mirror"],
  ignored: [],
  meant: {
    ports: "interfaces",
    stp: "spanning-tree",
    rstp: "spanning-tree",
    lags: "lag",
    bonds: "lag",
    lacp: "lag",
    span: "mirror",
    mirrors: "mirror",
  },
};

const vlanKeys = ["mode", "vlan", "vlans", "native-vlan"];

const meantOfPorts = {
  tag: "vlan",
  "access-vlan": "vlan",
  pvid: "native-vlan",
  native: "native-vlan",
  trunk: "vlans",
  trunks: "vlans",
  allowed: "vlans",
  "allowed-vlans": "vlans",
  type: "mode",
};

export const portVocabulary: Vocabulary = { known: vlanKeys, ignored: [], meant: meantOfPorts };

export const lagVocabulary: Vocabulary = {
  known: ["members", "lacp", ...vlanKeys],
  ignored: [],
  meant: { ...meantOfPorts, interfaces: "members", ports: "members", mode: "lacp" },
};

export const spanningTreeVocabulary: Vocabulary = { known: ["mode", "priority"], ignored: [], meant: { protocol: "mode", type: "mode" } };

export const mirrorVocabulary: Vocabulary = {
  known: ["from", "to"],
  ignored: [],
  meant: { source: "from", sources: "from", destination: "to", output: "to" },
};
