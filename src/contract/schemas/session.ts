import Type, { type Static } from "typebox";
import { flag, list, map, optionalFlag, optionalInteger, optionalText, text, time, word } from "./shapes.ts";

/** `store`: present if the service's data is in PostgreSQL. */
export const HealthData = Type.Object({
  status: optionalText,
  tls: optionalFlag,
  version: optionalText,
  store: Type.Optional(
    Type.Object({
      reachable: flag,
      /** Seconds since its last answer, if it is not reachable: reads come from memory and may be as old. */
      age: optionalInteger,
    }),
  ),
  /** Present if users may sign in at a provider of identities: its name for people. */
  oidc: Type.Optional(Type.Object({ name: text })),
});
export type HealthData = Static<typeof HealthData>;

/** Bodies of sign-ins: unknown fields are refused. */
export const LoginRequest = Type.Object({ username: text, password: text }, { additionalProperties: false });
export type LoginRequest = Static<typeof LoginRequest>;

/** The code from the browser, and the secret of the program that began the sign-in. */
export const LoginFinishRequest = Type.Object(
  { code: Type.String({ maxLength: 128 }), verifier: Type.String({ maxLength: 128 }) },
  { additionalProperties: false },
);
export type LoginFinishRequest = Static<typeof LoginFinishRequest>;

export const LoginData = Type.Object({ token: optionalText, username: optionalText });
export type LoginData = Static<typeof LoginData>;

export const StatusOkData = Type.Object({ status: optionalText });
export type StatusOkData = Static<typeof StatusOkData>;

export const SessionData = Type.Object({
  username: optionalText,
  role: Type.Optional(word(["admin", "user", "viewer"])),
  /** Present in a fleet: the machine that answers this call. */
  machine: optionalText,
});
export type SessionData = Static<typeof SessionData>;

export const BrowserSessionRequest = Type.Object({
  /** A one-time browser ticket, in place of a bearer token. */
  ticket: optionalText,
  /** Whether the ticket replaces the browser's session of another user. */
  replace: optionalFlag,
});
export type BrowserSessionRequest = Static<typeof BrowserSessionRequest>;

/** The cookie itself is in Set-Cookie; it is bound to the session of the bearer token or ticket that asked for it. */
export const BrowserSessionData = Type.Object({ expires_at: time });
export type BrowserSessionData = Static<typeof BrowserSessionData>;

/** Operations that one project mode (create, import, load) allows. */
export const ProjectModeCaps = Type.Object({
  validate: flag,
  plan: flag,
  deploy: flag,
  reconcileToHost: flag,
  reconcileFromHost: flag,
  destroy: flag,
  status: flag,
  inspect: flag,
  open: flag,
  consoles: flag,
  start: flag,
  stop: flag,
  wipe: flag,
  /** 0 graceful, 1 poweroff, 2 hibernate, 3 auto. */
  stopModes: Type.Unsafe<readonly number[]>(Type.Array(Type.Integer({ minimum: 0, maximum: 3 }))),
  quality: flag,
  suspend: flag,
  capture: flag,
  traffic: flag,
  edit: flag,
});
export type ProjectModeCaps = Static<typeof ProjectModeCaps>;

export const CapabilitiesData = Type.Object({
  hostReachable: optionalFlag,
  hostBaseUrl: optionalText,
  features: Type.Optional(map(flag)),
  projectModes: Type.Optional(map(ProjectModeCaps)),
  /** Hosts from which importFile loads files by URL. Absent: none. */
  importUrlHosts: Type.Optional(list(text)),
});
export type CapabilitiesData = Static<typeof CapabilitiesData>;
