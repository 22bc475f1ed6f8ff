import { Failure } from "../../contract/errors.ts";
import type { OpenData } from "../../contract/schemas/observe.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import type { BrowserSessionRequest } from "../../contract/schemas/session.ts";
import type { BrowserGrant, Caller } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { timeText } from "../common/clock.ts";
import { addressExisting } from "../context/address.ts";
import type { ClockPart, LookupParts, ObservationsPart } from "../context/parts.ts";
import { Tickets } from "../sessions/tickets.ts";

/** Web pages that are served beside the API. */
export interface WebUi {
  /** Returns the URL of a lab's page, without a fragment. The ticket becomes the fragment. */
  readonly page: (lab: string) => string;
  /** URL of the page that shows a capture. */
  readonly capturePage: (capture: string) => string;
}

/** Long enough for a person to follow a link, too short to be found later in a history. */
const ticketMs = 120_000;

/** Creates the sessions of web pages, by a bearer token or by the one-time ticket in the link that opened the page. */
export class Browsers {
  readonly #context: LookupParts & ClockPart & ObservationsPart;
  readonly #webUi: WebUi | undefined;
  readonly #tickets: Tickets<{ readonly session: string; readonly user: string }>;

  constructor(context: LookupParts & ClockPart & ObservationsPart, webUi: WebUi | undefined) {
    this.#context = context;
    this.#webUi = webUi;
    this.#tickets = new Tickets(context, { lifetimeMs: ticketMs });
  }

  /** Whether there are pages to open. */
  get served(): boolean {
    return this.#webUi !== undefined;
  }

  /**
   * Throws browser_token_invalid for a ticket that is invalid or belongs to another session than the caller's, and unauthenticated without ticket and
   * token. Throws session_exists, and keeps the ticket valid, if the cookie `known` is the session of another user and `replace` is not true.
   */
  async open(caller: Caller | null, { ticket, replace }: BrowserSessionRequest, known?: string): Promise<BrowserGrant> {
    if (ticket !== undefined && replace !== true) this.#refuseReplacement(ticket, known);
    const session = ticket === undefined ? caller?.session : this.#tickets.redeem(ticket, caller?.session).session;
    if (session === undefined) throw new Failure("unauthenticated", "a bearer token or a browser ticket is needed");
    const { cookie, expiresAt } = await this.#context.sessions.openBrowser(session);
    return { cookie, expires_at: timeText(expiresAt) };
  }

  /** Anybody can send a link: it must not sign a person in as another user without a question. */
  #refuseReplacement(ticket: string, cookie: string | undefined): void {
    const user = cookie === undefined ? undefined : this.#context.sessions.userOfBrowser(cookie);
    const other = this.#tickets.peek(ticket)?.user;
    if (user === undefined || other === undefined || user === other) return;
    const why = `this browser is signed in as ${user}, the ticket is of ${other}; send replace: true to sign in as ${other}`;
    throw new Failure("session_exists", why, { data: { username: user, ticket_username: other } });
  }

  /** URL of a capture: its page, or its packets if no pages are served. `fragment`: from fragmentFor, to open it in a browser. */
  captureUrl(capture: string, fragment = ""): string {
    return this.#webUi === undefined ? `/api/v1/projects/captures/${capture}/pcapng` : `${this.#webUi.capturePage(capture)}${fragment}`;
  }

  /** Returns the URL fragment with a short-lived ticket for one browser; empty if no pages are served. Fragments are not sent to servers, so no log contains them. */
  fragmentFor({ session, user }: Pick<Caller, "session" | "user">): string {
    return this.#webUi === undefined ? "" : `#ticket=${this.#tickets.issue(session, { session, user })}`;
  }

  /** Returns a link to the page of a lab, valid once and for a short time. Throws unsupported if no pages are served. */
  async openProject(caller: Caller, payload: ProjectPayload): Promise<OpenData> {
    if (this.#webUi === undefined) throw unsupported("webUi");
    const { observations } = this.#context;
    const { path } = await addressExisting(this.#context, caller, payload, (lab) => observations.structure(lab.host, lab.path, 5_000));
    const fragment = this.fragmentFor(caller);
    const expires = timeText(this.#context.clock.now() + ticketMs);
    return { lab: path, url: `${this.#webUi.page(path)}${fragment}`, expires_at: expires };
  }
}
