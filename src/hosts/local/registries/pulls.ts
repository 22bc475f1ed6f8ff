import { createInterface } from "node:readline";
import { Failure } from "../../../contract/errors.ts";
import type { LocalPaths } from "../machine/paths.ts";
import { spawnPiped } from "../machine/spawn-piped.ts";
import { FairPlaces } from "../sync/fair-places.ts";

export interface Pull {
  /** As a lab names the image. */
  readonly reference: string;
  /** Asks the registry even if the image is on this machine. */
  readonly always: boolean;
  /** The user whose lab needs it. */
  readonly by: string;
  /** Fetches it from another machine of the fleet: returns the arguments of the program that unpacks it. Absent: it comes from its registry. */
  readonly fetch?: (say: (text: string) => void, signal: AbortSignal) => Promise<readonly string[]>;
}

export interface PullFollower {
  readonly signal: AbortSignal;
  /** Receives the progress, for people. */
  readonly say: (text: string) => void;
}

/** A line of the program's output. */
export type PullEvent =
  | { readonly progress: string }
  | { readonly done: { readonly unchanged: boolean } }
  | { readonly error: { readonly code: string; readonly message: string; readonly hint?: string } };

interface Running {
  readonly followers: Set<PullFollower>;
  readonly stop: AbortController;
  readonly result: Promise<void>;
  last: string;
}

/** Pulls at the same time, of all users. */
const maxPulls = 4;
/** How long a pull may take to clean up, ms. */
const endMs = 10_000;

/**
 * The pulls that labs have caused. Each runs in a process of its own: it reads the passwords, downloads and unpacks, while the service goes on.
 * Labs that need the same image share a pull. It ends with its last follower, and with the service.
 */
export class Pulls {
  readonly #paths: LocalPaths;
  readonly #program: string;
  readonly #places = new FairPlaces(maxPulls);
  readonly #running = new Map<string, Running>();

  /** @param program the path of the program `labwright image` */
  constructor(paths: LocalPaths, program: string) {
    this.#paths = paths;
    this.#program = program;
  }

  /** Pulls the image, or follows a pull of it that runs. Throws image_pull_failed, and the follower's signal's reason. */
  async pull(pull: Pull, follower: PullFollower): Promise<void> {
    follower.signal.throwIfAborted();
    const running = this.#follow(pull, follower);
    let leave = () => {};
    const left = new Promise<never>((_resolve, reject) => {
      leave = () => reject(follower.signal.reason);
    });
    follower.signal.addEventListener("abort", leave, { once: true });
    try {
      await Promise.race([running.result, left]);
    } finally {
      follower.signal.removeEventListener("abort", leave);
      running.followers.delete(follower);
      if (running.followers.size === 0) running.stop.abort();
    }
  }

  /** Ends all pulls. */
  async close(): Promise<void> {
    const all = [...this.#running.values()];
    for (const { stop } of all) stop.abort(new Failure("shutting_down", "the service shuts down: the pull goes on with the next change"));
    await Promise.allSettled(all.map(({ result }) => result));
  }

  #follow(pull: Pull, follower: PullFollower): Running {
    const key = `${pull.reference} ${pull.always} ${pull.fetch !== undefined}`;
    const known = this.#running.get(key);
    if (known !== undefined && !known.stop.signal.aborted) {
      known.followers.add(follower);
      follower.say(known.last);
      return known;
    }
    const followers = new Set([follower]);
    const stop = new AbortController();
    const say = (text: string) => {
      running.last = `${pull.reference}: ${text}`;
      for (const one of followers) one.say(running.last);
    };
    const before = known?.result.catch(() => undefined);
    const result = this.#places.run(pull.by, async () => {
      // An abandoned pull of the same image ends first.
      await before;
      stop.signal.throwIfAborted();
      await this.#run(pull, say, stop.signal);
    });
    const running: Running = { followers, stop, result, last: `${pull.reference}: starting` };
    this.#running.set(key, running);
    const forget = () => {
      if (this.#running.get(key) === running) this.#running.delete(key);
    };
    result.then(forget, forget);
    follower.say(running.last);
    return running;
  }

  async #run({ reference, always, by, fetch }: Pull, say: (text: string) => void, signal: AbortSignal): Promise<void> {
    const { state, images, vmImages } = this.#paths;
    const action = fetch === undefined ? ["pull", ...(always ? ["--always"] : []), "--", reference] : await fetch(say, signal);
    const argv = [this.#program, "--by", by, "--events", ...action];
    const child = spawnPiped(process.execPath, argv, {
      env: { ...process.env, LABWRIGHT_STATE_DIR: state, LABWRIGHT_IMAGE_DIR: images, LABWRIGHT_VM_IMAGE_DIR: vmImages },
    });
    return new Promise((resolve, reject) => {
      let end: PullEvent | undefined;
      let problem = "";
      let killing: NodeJS.Timeout | undefined;
      const stop = () => {
        child.kill("SIGTERM");
        killing = setTimeout(() => child.kill("SIGKILL"), endMs);
      };
      signal.addEventListener("abort", stop, { once: true });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        problem = (problem + text).slice(-2000);
      });
      // A program that has ended reports that by its exit code.
      child.stdin.on("error", () => undefined);
      const lines = createInterface({ input: child.stdout });
      lines.on("line", (line) => {
        const event = eventOf(line);
        if (event === undefined) problem = line.slice(0, 2000);
        else if ("progress" in event) say(event.progress);
        else end = event;
      });
      child.on("error", reject);
      child.on("close", (code) => {
        clearTimeout(killing);
        signal.removeEventListener("abort", stop);
        if (signal.aborted) reject(signal.reason);
        else if (end !== undefined && "done" in end) resolve();
        else if (end !== undefined && "error" in end) reject(failed(reference, end.error));
        else
          reject(failed(reference, { code: "internal", message: problem.trim().split("\n").at(-1) || `the pull ended with code ${code}` }));
      });
    });
  }
}

function eventOf(line: string): PullEvent | undefined {
  try {
    return JSON.parse(line) as PullEvent;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function failed(
  image: string,
  { code, message, hint }: { readonly code: string; readonly message: string; readonly hint?: string },
): Failure {
  const text = `image ${image} was not pulled: ${message}${hint === undefined ? "" : `; ${hint}`}`;
  return new Failure("image_pull_failed", text, { data: { image, reason: code } });
}
