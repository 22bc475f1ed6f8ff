/**
 * Every code that the reason of a plan's action or step can have, and when it has it. Clients compare codes, so a code never changes its meaning.
 * API v1 sends codes as text: a later release may add one.
 */
export const reasonCodes = {
  // Why a thing changes.
  not_on_host: "The intent has it, the host does not.",
  not_in_intent: "The host has it, the intent does not, and prune is set.",
  differs: "Fields differ between the intent and the host.",
  recreate_needed: "A field differs that cannot change in place.",
  interface_taken: "Another link of the intent uses an interface of this link.",
  interface_gone: "The node will not have the interface of this link.",
  replace: "The lab is replaced.",
  destroy: "The lab is destroyed.",
  // Who changed it since the last apply, or, in a plan for the intent, how it differs.
  changed_in_file: "The intent changed since the last apply.",
  changed_on_host: "The host's lab changed since the last apply.",
  changed_in_both: "The intent and the host's lab both changed since the last apply.",
  host_create: "The host has it, the intent does not.",
  host_delete: "The intent has it, the host does not.",
  host_update: "The host has other values than the intent.",
  // Why a node starts or stops, and why a link is taken off.
  wanted_running: "The intent declares that the node runs.",
  wanted_stopped: "The intent declares that the node is stopped.",
  failed: "The node failed and is started again.",
  start_owed: "An earlier change was cut off before it started the node.",
  stopped_for_change: "The node stops for a change that it cannot take while it runs.",
  started_again: "The node ran before the change that stopped it.",
  link_change: "The node is recreated because its template takes a changed link only so.",
  put_back: "The link is taken off and put back for a change of one of its ends.",
  requested: "A user asked for it.",
  resume: "The node ran before the machine or the lab went down.",
  // Why an action is blocked.
  unknown_template: "The host does not have the template.",
  unknown_image: "The template does not have the image.",
  no_image: "The template has no image on the host.",
  bad_name: "The host does not accept the name.",
  bad_value: "The template does not allow the value.",
  unknown_attribute: "The template does not have the attribute.",
  tunnel_refused: "The host's administrator does not allow the tunnel to another machine, or frames of the link do not fit into it.",
  unknown_network_type: "The host does not have the network type.",
  unknown_interface: "The node does not have the interface.",
  unknown_node: "The lab does not have the node.",
  unknown_network: "The lab does not have the network.",
  number_clash: "Another lab uses, or may use, the node's number on the host.",
  node_stuck: "An interrupted start left the node locked on the host.",
  no_memory: "The host has too little free memory for the nodes that start.",
  too_many_nodes: "The lab would have more nodes than the host allows.",
} as const;

export type ReasonCode = keyof typeof reasonCodes;

/** Explains an action or a step. `code` is for programs, `text` for people. */
export interface Reason<Code extends ReasonCode = ReasonCode> {
  readonly code: Code;
  readonly text: string;
  /** The field of the resource that is wrong, in the words of the intent: image, attributes.daemons. Absent: the reason is about the whole resource. */
  readonly field?: string;
}
