import type { Random } from "./random.ts";

const most = 24;

/** Values from earlier answers that later requests use: tokens, identities, states, tickets, jobs. */
export class Known {
  /** Of admin. */
  readonly password: string;
  /** Good for the whole run. */
  readonly tokens: string[] = [];
  /** May be logged out. */
  readonly spareTokens: string[] = [];
  readonly identities: string[] = [];
  readonly states: unknown[] = [];
  readonly tickets: string[] = [];
  readonly jobs: string[] = [];
  readonly captures: string[] = [];
  readonly revisions: string[] = [];
  /** Texts that the service made, and the manifest beside them. */
  readonly manifests: string[] = [];

  constructor(password: string) {
    this.password = password;
  }

  learn(data: Readonly<Record<string, unknown>>): void {
    const note = (list: unknown[], value: unknown) => {
      if (typeof value !== "string" && typeof value !== "object") return;
      if (value === null) return;
      list.push(value);
      if (list.length > most) list.shift();
    };
    note(this.identities, data.plan_identity);
    note(this.states, data.state);
    note(this.tickets, data.stream);
    note(this.jobs, data.job);
    note(this.captures, data.capture);
    note(this.revisions, data.revision);
    note(this.manifests, data.manifest);
    note(this.spareTokens, data.token);
  }
}

/** Draws once even from an empty list: earlier answers may change the words of a case, but not its other draws. */
export function known<T>(random: Random, list: readonly T[], otherwise: T): T {
  const drawn = random.pick(list);
  return list.length === 0 ? otherwise : drawn;
}
