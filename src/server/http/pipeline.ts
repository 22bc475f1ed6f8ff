import type { ServerResponse } from "node:http";
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
 * without this limit, the answers would fill the memory of the process.
 */
export function waitInPipeline(socket: Socket, response: ServerResponse): Promise<void> | undefined {
  const pipeline = pipelineOf(socket);
  const begin = () => {
    pipeline.inProgress++;
    response.on("close", () => {
      pipeline.inProgress--;
      // A destroyed connection cannot be answered.
      if (!socket.destroyed) pipeline.waiting.shift()?.();
    });
  };
  if (pipeline.inProgress < maxInProgress && pipeline.waiting.length === 0) {
    begin();
    return undefined;
  }
  return new Promise((resolve) => {
    pipeline.waiting.push(() => {
      begin();
      resolve();
    });
  });
}

function pipelineOf(socket: Socket): Pipeline {
  const known = pipelines.get(socket);
  if (known !== undefined) return known;
  const pipeline: Pipeline = { inProgress: 0, waiting: [] };
  pipelines.set(socket, pipeline);
  return pipeline;
}
