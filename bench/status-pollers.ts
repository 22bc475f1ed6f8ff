/**
 * Pollers of one lab's status, in a process of their own: what is measured is when the last byte of an answer is there, not how long JavaScript needs for
 * making values of it. Prints the milliseconds of each call as JSON. In the environment: TOKEN; arguments: the service's URL, the file of its certificate, the
 * lab, how many pollers, ms from the begin of a poller's call to the begin of its next (0: as fast as it is answered), how long they poll in ms.
 */
import { readFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { setTimeout as delay } from "node:timers/promises";

const [url = "", certificate = "", lab = "", ...numbers] = process.argv.slice(2);
const [pollers = 1, everyMs = 0, pollingMs = 0] = numbers.map(Number);
const ca = await readFile(certificate);
const body = JSON.stringify({ lab });
const headers = {
  authorization: `Bearer ${process.env.TOKEN}`,
  "content-type": "application/json",
  "content-length": String(Buffer.byteLength(body)),
};

const agents = Array.from(
  { length: pollers },
  () => new Agent({ keepAlive: true, maxSockets: 1, ca, checkServerIdentity: () => undefined }),
);
// A handshake costs as much as many answers: nobody polls before all are connected, and no connection ends before all have polled.
for (const agent of agents) await ask(agent);
const ms: number[] = [];
await Promise.all(agents.map((agent, poller) => poll(agent, (poller * everyMs) / pollers)));
for (const agent of agents) agent.destroy();
console.log(JSON.stringify(ms));

async function poll(agent: Agent, beginMs: number): Promise<void> {
  await delay(beginMs);
  const end = performance.now() + pollingMs;
  while (performance.now() < end) {
    const begin = performance.now();
    await ask(agent);
    const took = performance.now() - begin;
    ms.push(took);
    if (took < everyMs) await delay(everyMs - took);
  }
}

function ask(agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/api/v1/projects/status`, { method: "POST", agent, headers }, (answer) => {
      let size = 0;
      answer.on("data", (chunk: Buffer) => {
        size += chunk.length;
      });
      answer.once("error", reject);
      answer.once("end", () => {
        const whole = answer.statusCode === 200 && size === Number(answer.headers["content-length"]);
        if (whole) resolve();
        else reject(new Error(`a poll was answered ${answer.statusCode} with ${size} bytes`));
      });
    });
    sent.once("error", reject);
    sent.end(body);
  });
}
