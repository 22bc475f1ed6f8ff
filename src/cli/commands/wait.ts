import { inNaturalOrder } from "../../base/natural-order.ts";
import { nodeKey } from "../../base/node-key.ts";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import { labFlags } from "../command/project.ts";
import { reportTroubles } from "../parts/node-troubles.ts";
import { hasFailed, nodesThatShouldRun, waitForNodes } from "../parts/wait-for-nodes.ts";
import { isUp, showStatus } from "../show/show-status.ts";

export const wait: Command = {
  name: "wait",
  summary: "Wait until nodes are ready or running",
  operands: "[NODE...]",
  completes: "node",
  details:
    "Without names: all nodes that should run. ready: the check of the node's template and the conditions of its `ready:` have passed. running: its boot has ended.\n" +
    "Exit code 1: a node has failed, or is not there in time; the reasons are on stderr.",
  flags: [
    topoFlag,
    labFlag,
    { long: "for", value: "STATE", choices: ["ready", "running"], summary: "The state to wait for; default: ready" },
    { long: "timeout", value: "SECONDS", summary: "Time to wait; default: 120" },
  ],
  example: "labwright wait r1 r2 --for ready --timeout 60",
  run: async (context, args) => {
    const project = await context.project();
    const state = args.text("for") === "running" ? "running" : "ready";
    const began = Date.now();
    const named = args.operands.length > 0 ? { nodes: args.operands } : {};
    const status = await waitForNodes(context, project, args.milliseconds("timeout"), { ...named, state });
    const waited = args.operands.length > 0 ? (status.live?.nodes ?? []) : nodesThatShouldRun(status);
    const nodes = inNaturalOrder(waited, nodeKey);
    const isThere = nodes.every((node) => (state === "ready" ? isUp(node) : node.status === "running"));
    const isDone = status.live?.available === true && isThere;
    if (context.json || !isDone) context.result(status, (data) => showStatus(context.terminal.paint, data));
    else context.terminal.print(nodes.length === 0 ? "no node of the lab should run" : `${state}: ${nodes.map(nodeKey).join(" ")}`);
    if (isDone) return 0;
    const down = nodes.filter((node) => node.status === "stopped" || node.status === "suspended").map(nodeKey);
    if (down.length > 0) {
      context.terminal.complain(`${context.terminal.paint("red", "error:")} not running: ${down.join(", ")}`);
      context.terminal.complain(`  hint: labwright start ${labFlags(project)} --node ${down.join(",")}`);
    }
    await reportTroubles(context, project, status, nodes.some(hasFailed) ? {} : { waitedMs: Date.now() - began });
    return 1;
  },
};
