import { type Frame, texts } from "../holder/wire.ts";
import type { NodeState } from "./sandbox.ts";

/** Polls the states of all nodes. Returns the same object for an unchanged node, and the same list if nothing has changed. */
export class NodeStates {
  #frames: readonly Frame[] = [];
  #nodes: readonly NodeState[] = [];

  read(frames: readonly Frame[]): readonly NodeState[] {
    const [before, known] = [this.#frames, this.#nodes];
    const nodes = frames.map((frame, at) => (before[at]?.data.equals(frame.data) === true ? known[at]! : nodeState(frame)));
    const same = nodes.length === known.length && nodes.every((node, at) => node === known[at]);
    this.#frames = frames;
    if (!same) this.#nodes = nodes;
    return this.#nodes;
  }
}

export function nodeState(frame: Frame): NodeState {
  const [id, state, pid, exitCode, startedAt, problem = ""] = texts(frame);
  return {
    id: Number(id),
    state: state as NodeState["state"],
    pid: Number(pid),
    startedAt: Number(startedAt),
    ...(exitCode === "-1" ? {} : { exitCode: Number(exitCode) }),
    ...(problem === "" ? {} : { problem }),
  };
}
