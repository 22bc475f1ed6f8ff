import type { Socket } from "node:net";

/** The maximum of requests of one connection in progress: their answers wait in memory until the client has read the earlier answers. */
const maxInProgress = 8;

interface Pipeline {
  inProgress: number;
  readonly waiting: (() => void)[];
}

const pipelines = new WeakMap<Socket, Pipeline>();

/**
 * Waits until a request may begin. Returns `undefined` if it may begin at once. A client can send many requests in one packet without reading any answer:
 * without this limit, the answers would fill the memory of the process. The caller calls `leavePipeline` once the answer to a request that began is closed.
 */
export function waitInPipeline(socket: Socket): Promise<void> | undefined {
  const pipeline = pipelineOf(socket);
  if (pipeline.inProgress < maxInProgress && pipeline.waiting.length === 0) {
    pipeline.inProgress++;
    return undefined;
  }
  return new Promise((resolve) => {
    pipeline.waiting.push(() => {
      pipeline.inProgress++;
      resolve();
    });
  });
}

/** Begins the next request that waits. */
export function leavePipeline(socket: Socket): void {
  const pipeline = pipelineOf(socket);
  pipeline.inProgress--;
  // A destroyed connection cannot be answered.
  if (!socket.destroyed) pipeline.waiting.shift()?.();
}

function pipelineOf(socket: Socket): Pipeline {
  const known = pipelines.get(socket);
  if (known !== undefined) return known;
  const pipeline: Pipeline = { inProgress: 0, waiting: [] };
  pipelines.set(socket, pipeline);
  return pipeline;
}
