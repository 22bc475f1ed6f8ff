import { Failure } from "../../../contract/errors.ts";
import type { Feature, Progress } from "../../host.ts";
import type { LocalUser } from "../accounts/users.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { LinkContext } from "./links.ts";
import type { LocalState } from "./local-state.ts";

/** The labs that one user may see, and the checks before a call uses or changes one of them. */
export interface UserLabs extends LocalUser {
  readonly isMine: (definition: LabDefinition) => boolean;
  /** Hides other users' labs, so that their names do not leak. */
  readonly seen: (path: string) => Promise<LabDefinition | undefined>;
  /** Throws lab_not_found. */
  readonly lab: (path: string) => Promise<LabDefinition>;
  /** Throws operation_not_allowed for viewers. */
  readonly mayChange: () => void;
  /** Throws operation_not_allowed. */
  readonly refuseUnlessAdmin: (problem: string) => void;
  /** Returns the owner of a lab that a change creates. Throws operation_not_allowed. */
  readonly ownerOf: (progress: Progress) => string;
  /** Throws lab_not_found, and lab_locked. */
  readonly unlocked: (path: string) => Promise<LabDefinition>;
  /** Throws lab_not_found, unsupported, and lab_locked. */
  readonly linksOf: (path: string, feature: Feature) => Promise<LinkContext>;
}

export function userLabs(state: LocalState, user: LocalUser): UserLabs {
  const { definitions, catalogue } = state;
  const { name, role } = user;

  const isMine = ({ owner }: LabDefinition): boolean => role !== "user" || owner === name;

  const seen = async (path: string): Promise<LabDefinition | undefined> => {
    const definition = await definitions.get(path);
    return definition !== undefined && isMine(definition) ? definition : undefined;
  };

  const lab = async (path: string): Promise<LabDefinition> => {
    const definition = await seen(path);
    if (definition === undefined) throw new Failure("lab_not_found", `there is no lab ${path}`);
    return definition;
  };

  const refuseUnlessAdmin = (problem: string): void => {
    if (role !== "admin") throw new Failure("operation_not_allowed", problem);
  };

  return {
    ...user,
    isMine,
    seen,
    lab,
    refuseUnlessAdmin,
    mayChange() {
      if (role === "viewer") throw new Failure("operation_not_allowed", "a viewer cannot change anything");
    },
    ownerOf({ owner = name }) {
      if (owner !== name) refuseUnlessAdmin("only an admin can create labs for other users");
      return owner;
    },
    async unlocked(path) {
      const definition = await lab(path);
      refuseLocked(definition);
      return definition;
    },
    async linksOf(path, feature) {
      const definition = await lab(path);
      const offered = await catalogue();
      if (!offered.features[feature]) throw new Failure("unsupported", `this host has no ${feature}`, { data: { feature } });
      refuseLocked(definition);
      return { definition, definitions, catalogue: offered, live: state.lab(definition.id) };
    },
  };
}

function refuseLocked({ locked }: LabDefinition): void {
  if (locked) throw new Failure("lab_locked", "the lab is locked");
}
