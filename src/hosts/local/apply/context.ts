import type { BindPolicy } from "../binds/bind-policy.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { Trash } from "../files/trash.ts";
import type { LocalLab } from "../lab/local-lab.ts";
import type { Readiness } from "../readiness/readiness.ts";
import type { Admission } from "../resources/admission.ts";
import type { Catalogue } from "../templates/catalogue.ts";

/** The lab and the parts of the host that an apply needs. */
export interface ApplyContext {
  readonly path: string;
  /** Owner of a lab that the apply creates. */
  readonly user: string;
  readonly definitions: Definitions;
  readonly trash: Trash;
  readonly catalogue: Catalogue;
  readonly admission: Admission;
  readonly binds: BindPolicy;
  readonly bootId: string;
  /** Returns the live part of a lab. */
  readonly lab: (id: string) => LocalLab;
  readonly readiness: (id: string) => Pick<Readiness, "forget">;
  readonly forget: (id: string) => void;
  /** Throws operation_not_allowed with the text unless the user is an admin. */
  readonly refuseUnlessAdmin: (why: string) => void;
}
