import { SerialQueue } from "../../../base/keyed-queue.ts";
import { Failure } from "../../../contract/errors.ts";
import { entriesOf, numberOf, readAnswer, recordOf, textOf } from "../api/answer.ts";
import type { EveCall, EveReply } from "../api/eve-call.ts";
import { eveAnswer, jsonOf } from "./pnetlab-answer.ts";

/** Thrown to end a call that consists of several PNETLab calls. `answer` is its final answer. */
export class Stop extends Error {
  readonly answer: EveReply;

  constructor(answer: EveReply) {
    super(`HTTP ${answer.status}`);
    this.answer = answer;
  }
}

/** A lab from its file, with the power of its nodes if a session exists. */
export interface PnetlabView {
  readonly nodes: unknown;
  readonly networks: unknown;
  readonly textObjects: unknown;
  readonly uuid: string;
}

/** File times are whole seconds: a file that was written within this time may be written again without showing it, ms. */
const settledMs = 2_000;

/**
 * The labs of one PNETLab user. Nodes run in a session, one for each lab and user. Every call refers to the lab that the user entered last, in any
 * client. Therefore calls run one after the other, each first enters its lab, and after a change it is checked that the user is still in that lab.
 *
 * PNETLab creates a lab for every path in a request. Therefore no call is sent for a lab that the folder does not list.
 */
export class PnetlabLabs {
  readonly #send: (call: EveCall) => Promise<EveReply>;
  readonly #queue = new SerialQueue();
  /** File → number of the user's session of the lab. */
  readonly #sessions = new Map<string, number>();
  /** Session → the id of its lab. */
  readonly #labOf = new Map<number, string>();
  readonly #views = new Map<string, { readonly written: number; readonly view: PnetlabView }>();
  #pod: number | undefined;

  constructor(send: (call: EveCall) => Promise<EveReply>) {
    this.#send = send;
  }

  /**
   * Throws Stop with "Lab does not exist" if the folder does not list the file. Returns the time of its last write if that is old enough to be
   * reliable.
   */
  async mustBe(file: string): Promise<number | undefined> {
    const folder = file.slice(0, file.lastIndexOf("/")) || "/";
    const answer = await this.#get(`/api/folders?path=${encodeURIComponent(folder)}`, true);
    const missing = eveAnswer(answer, 404, "Lab does not exist (60000).");
    if (answer.status >= 400) throw new Stop(missing);
    const listed = entriesOf(recordOf(jsonOf(answer).data).labs).find(([, one]) => recordOf(one).path === file)?.[1];
    if (listed === undefined) throw new Stop(missing);
    const written = numberOf(recordOf(listed).umtime);
    const { time } = readAnswer(answer);
    return written !== undefined && time !== undefined && time - written * 1000 >= settledMs ? written : undefined;
  }

  /** Returns the lab without power, which needs no session. */
  async view(file: string): Promise<PnetlabView> {
    return this.#view(file, await this.mustBe(file));
  }

  /** Returns the lab with the power of its nodes. Three calls if the file is unchanged, or if its session is known. */
  async topology(file: string): Promise<PnetlabView> {
    const written = await this.mustBe(file);
    for (let tries = 0; tries < 2; tries++) {
      const session = await this.#find(file, written);
      if (session === undefined) return this.#view(file, written);
      const answer = await this.#queue.run(async () => {
        const joined = await this.#call({
          method: "POST",
          path: "/api/labs/session/factory/join",
          body: { lab_session: session },
          read: true,
        });
        return isLost(joined) ? joined : this.#get("/api/labs/session/topology", true);
      });
      if (!isLost(answer)) return viewOf(ok(answer));
      // Ended by someone else.
      this.#forget(file);
    }
    return this.#view(file, written);
  }

  /** Returns the user's session of the lab, `undefined` if there is none, so that nothing of it runs. */
  async session(file: string): Promise<number | undefined> {
    return this.#find(file, await this.mustBe(file));
  }

  /** Runs a call in the lab. Creates a session if there is none. */
  within(file: string, call: EveCall): Promise<EveReply> {
    return this.#queue.run(async () => {
      for (let tries = 0; ; tries++) {
        const session = await this.#enter(file);
        const answer = await this.#call(call);
        // The host refused the call before it did anything, so it can be repeated.
        if (isLost(answer) && tries === 0) continue;
        if (!call.read) await this.#stillThere(file, session);
        return answer;
      }
    });
  }

  /** Ends the user's session, then deletes the lab. The host refuses this while other users have a session. */
  async remove(file: string, call: EveCall): Promise<EveReply> {
    const session = await this.session(file);
    if (session !== undefined) {
      const path = "/api/labs/session/factory/destroy";
      const ended = await this.#call({ ...call, method: "POST", path, body: { lab_session: session } });
      if (!isLost(ended)) ok(ended);
      this.#forget(file);
    }
    this.#views.delete(file);
    const answer = await this.#call({ ...call, method: "DELETE", path: "/api/labs", body: { path: file } });
    if (!/error_lab_running/.test(textOf(jsonOf(answer).message) ?? "")) return answer;
    return eveAnswer(answer, 400, "the lab has sessions of other users, which PNETLab lets nobody take away: end them first");
  }

  async #view(file: string, written: number | undefined): Promise<PnetlabView> {
    const kept = this.#views.get(file);
    if (kept !== undefined && kept.written === written) return kept.view;
    const view = viewOf(ok(await this.#call({ method: "POST", path: "/api/labs/preview", body: { path: file }, read: true })));
    if (written === undefined) this.#views.delete(file);
    else this.#views.set(file, { written, view });
    if (this.#views.size > 500) this.#views.delete(this.#views.keys().next().value ?? "");
    return view;
  }

  /**
   * guess pnetlab-find-session: every node that was ever read in a session is listed with it. A session of another process or of the web interface is
   * found by its nodes.
   */
  async #find(file: string, written: number | undefined): Promise<number | undefined> {
    const known = this.#sessions.get(file);
    if (known !== undefined) return known;
    const rows = entriesOf(jsonOf(ok(await this.#call({ method: "POST", path: "/api/nodestatus", read: true }))).data);
    const pod = await this.#ownPod();
    const mine = rows.flatMap(([, row]) =>
      numberOf(recordOf(row).node_session_pod) === pod ? [numberOf(recordOf(row).node_session_lab)] : [],
    );
    const sessions = [...new Set(mine.filter((one) => one !== undefined))];
    if (sessions.length === 0) return undefined;
    const { uuid } = await this.#view(file, written);
    for (const session of sessions) {
      if ((this.#labOf.get(session) ?? (await this.#ask(session))) !== uuid) continue;
      this.#sessions.set(file, session);
      return session;
    }
    return undefined;
  }

  /** The lab that a session is of. */
  #ask(session: number): Promise<string | undefined> {
    return this.#queue.run(async () => {
      const joined = await this.#call({
        method: "POST",
        path: "/api/labs/session/factory/join",
        body: { lab_session: session },
        read: true,
      });
      if (isLost(joined)) return undefined;
      const info = await this.#get("/api/labs/session/info", true);
      if (isLost(info)) return undefined;
      const uuid = textOf(recordOf(jsonOf(ok(info)).data).id);
      if (uuid !== undefined) this.#labOf.set(session, uuid);
      return uuid;
    });
  }

  async #enter(file: string): Promise<number> {
    const known = this.#sessions.get(file);
    if (known !== undefined) {
      const joined = await this.#call({ method: "POST", path: "/api/labs/session/factory/join", body: { lab_session: known }, read: true });
      if (!isLost(joined)) {
        ok(joined);
        return known;
      }
      this.#forget(file);
    }
    await this.mustBe(file);
    ok(await this.#call({ method: "POST", path: "/api/labs/session/factory/create", body: { path: file }, read: true }));
    const session = await this.#current();
    if (session === undefined)
      throw new Failure("host_error", `PNETLab opened ${file} and has no session of it`, { data: { host: { message: "" } } });
    this.#sessions.set(file, session);
    return session;
  }

  async #stillThere(file: string, session: number): Promise<void> {
    const answer = await this.#send({ path: "/api/auth", read: true });
    // Signed out since: the next call reports it.
    if (answer.status !== 200) return;
    const current = numberOf(recordOf(jsonOf(answer).data).lab);
    if (current === session) return;
    const message =
      `while ${file} was changed, someone who is signed in as the same user entered another lab on PNETLab: the change may have been made ` +
      "there. Look at both; give the service a user of its own";
    throw new Failure("host_error", message, { data: { host: { message }, collision: { session, current: current ?? null } } });
  }

  async #current(): Promise<number | undefined> {
    const { lab, pod } = recordOf(jsonOf(await this.#get("/api/auth", true)).data);
    this.#pod = numberOf(pod) ?? this.#pod;
    return numberOf(lab);
  }

  async #ownPod(): Promise<number | undefined> {
    if (this.#pod === undefined) await this.#current();
    return this.#pod;
  }

  #forget(file: string): void {
    const session = this.#sessions.get(file);
    this.#sessions.delete(file);
    if (session !== undefined) this.#labOf.delete(session);
  }

  #get(path: string, read: boolean): Promise<EveReply> {
    return this.#call({ path, read });
  }

  /** Throws Stop if the user is not signed in. */
  async #call(call: EveCall): Promise<EveReply> {
    const answer = await this.#send(call);
    if (answer.status === 412 || answer.status === 401) throw new Stop(answer);
    return answer;
  }
}

/** Throws Stop with an answer that is not a success. */
function ok(answer: EveReply): EveReply {
  if (answer.status >= 300) throw new Stop(answer);
  return answer;
}

/** Returns whether the session has ended, or the user is in no session. */
function isLost(answer: EveReply): boolean {
  return answer.status === 400 && /NO_LAB_SESSION|Lab Session not found/.test(textOf(jsonOf(answer).message) ?? "");
}

function viewOf(answer: EveReply): PnetlabView {
  const { nodes, networks, textObjects, labinfo } = recordOf(jsonOf(answer).data);
  return { nodes, networks, textObjects, uuid: textOf(recordOf(labinfo).id) ?? "" };
}
