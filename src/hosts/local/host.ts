import { dirname, join } from "node:path";
import { Failure } from "../../contract/errors.ts";
import type { Host } from "../host.ts";
import { ownedLabs } from "./accounts/owned-labs.ts";
import { userChanges } from "./accounts/user-changes.ts";
import { type LocalUser, openUsers, usersOf } from "./accounts/users.ts";
import { findCapture } from "./capture/captures.ts";
import { hidingPaths } from "./files/hidden-paths.ts";
import type { LocalLab } from "./lab/local-lab.ts";
import { tellingTrouble } from "./machine/machine-trouble.ts";
import type { LocalPaths } from "./machine/paths.ts";
import { slowSteps } from "./machine/slow-steps.ts";
import { labMoves } from "./moves/lab-moves.ts";
import { type LocalHostOptions, openState } from "./open-state.ts";
import { SharedImages } from "./peers/shared-images.ts";
import { groupsSettled } from "./resources/lab-groups.ts";
import { localSession } from "./session/session.ts";

/**
 * Opens the embedded host, which runs labs in namespaces of this machine. Running labs go on when it closes, and the next host on the same directories adopts
 * them. It starts to work at once; failures on the way are thrown at login.
 */
export function localHost(options: LocalHostOptions): Host {
  const { paths } = options;
  const warn = options.warn ?? ((text: string) => process.emitWarning(text, "LabwrightWarning"));
  const users = options.accounts === undefined ? openUsers(join(paths.state, "users.json")) : usersOf(options.accounts);
  const labs = new Map<string, LocalLab>();
  const opening = openState(options, labs, { warn, isAdmin: async (name) => (await users.find(name))?.role === "admin" });
  // A failure is thrown at login.
  opening.catch(() => undefined);

  const session = async (user: LocalUser) =>
    hidingPaths(
      localSession(await opening, user, () => users.list()),
      privateDirectories(paths),
    );
  const calls = {
    login: async (name: string, password: string) => {
      const user = await slowSteps("a login", warn)("the check of the password", () => users.check(name, password));
      if (user === null) throw new Failure("invalid_credentials", "wrong user name or password");
      return session(user);
    },
    resume: async (name: string, limit?: "user") => {
      const user = await users.find(name);
      return user === null ? null : session(limit !== undefined && user.role === "admin" ? { ...user, role: limit } : user);
    },
    holds: async (lab: string) => {
      const { definitions, quarantine } = await opening;
      return definitions.paths().includes(lab) || (await tellingTrouble(() => quarantine.list())).some((one) => one.lab === lab);
    },
    quarantined: async () => {
      const { quarantine } = await opening;
      return tellingTrouble(() => quarantine.list());
    },
    labId: async (lab: string) => {
      const { definitions } = await opening;
      return (await tellingTrouble(() => definitions.get(lab)))?.id;
    },
    labIds: async () => {
      const { definitions, quarantine } = await opening;
      const before = definitions.ids();
      const lost = await tellingTrouble(() => quarantine.list());
      // Read twice: meanwhile, a lab may have left the quarantine, or entered it.
      return [...new Set([...before, ...lost.map(({ id }) => id), ...definitions.ids()])].sort();
    },
    labOfCapture: async (capture: string) => {
      const { definitions } = await opening;
      const there = await definitions.all();
      const at = await findCapture(
        there.map(({ id }) => definitions.directory(id)),
        capture,
      );
      return there[at]?.path;
    },
  };
  const shared = new SharedImages(paths);
  const moves = opening.then(labMoves);
  // A failure is thrown at login.
  moves.catch(() => undefined);
  return {
    kind: "embedded",
    url: "local:",
    moves: {
      describe: async (lab) => (await moves).describe(lab),
      read: async (lab) => (await moves).read(lab),
      setLeaving: async (lab, note) => (await moves).setLeaving(lab, note),
      leaving: async () => (await moves).leaving(),
      leave: async (lab) => (await moves).leave(lab),
      check: async (lab) => (await moves).check(lab),
      receive: async (staged, bytes) => (await moves).receive(staged, bytes),
      complete: async (job) => (await moves).complete(job),
      staged: async () => (await moves).staged(),
      adopt: async (job) => (await moves).adopt(job),
      drop: async (job) => (await moves).drop(job),
    },
    images: {
      shared: () => shared.shared(),
      manifest: (...wanted) => shared.manifest(...wanted),
      part: (...wanted) => shared.part(...wanted),
      read: (...wanted) => shared.read(...wanted),
      usePeers: (peers) => void opening.then((state) => (state.peers.current = peers)).catch(() => undefined),
    },
    accounts: users.accounts,
    userChanges: userChanges(users),
    externalUsers: {
      signIn: (identity, isTaken) =>
        users.signInExternal(identity, async (name) => {
          const { labs: paths, keptDisks } = await ownedLabs(options.paths.state, name);
          return isTaken(name) || paths.length + keptDisks.length > 0;
        }),
    },
    ...hidingPaths(calls, privateDirectories(paths)),
    close: async () => {
      // A failure was thrown at login. Nothing of the host runs then.
      const state = await opening.catch(() => undefined);
      await state?.pulls.close();
      await state?.spares.close();
      await state?.disks.close();
      await state?.neighbours?.close();
      await state?.decoders.close();
      await groupsSettled();
      await state?.trash.emptied();
      for (const lab of labs.values()) lab.release();
    },
  };
}

/** Returns the directories whose paths are hidden from users in messages. */
function privateDirectories({ state, run, images, vmImages, holder, shaper, tap }: LocalPaths): readonly string[] {
  return [state, run, images, vmImages, ...[holder, shaper, tap].map(dirname)];
}
