import type { SpareFiles } from "../../../files/spare-files.ts";
import type { HostQuarantine } from "../../host.ts";
import type { ImagePeers } from "../../host-images.ts";
import type { BindPolicy } from "../binds/bind-policy.ts";
import type { Captures } from "../capture/captures.ts";
import type { CaptureViews } from "../decoder/capture-views.ts";
import type { Decoders } from "../decoder/decoders.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { Trash } from "../files/trash.ts";
import type { LocalLab } from "../lab/local-lab.ts";
import type { PublishedPorts } from "../reach/published-ports.ts";
import type { Readiness } from "../readiness/readiness.ts";
import type { Pulls } from "../registries/pulls.ts";
import type { Admission } from "../resources/admission.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import type { TransferStore } from "../transfers/transfer-store.ts";
import type { DiskWatch } from "../watches/disk-watch.ts";
import type { NeighbourWatch } from "../watches/neighbour-watch.ts";

/** The parts of the embedded host that all sessions share. */
export interface LocalState {
  readonly definitions: Definitions;
  readonly trash: Trash;
  readonly spares: SpareFiles;
  readonly transfers: TransferStore;
  /** The image directory. */
  readonly images: string;
  readonly catalogue: () => Promise<Catalogue>;
  /** The state directory. */
  readonly directory: string;
  readonly pulls: Pulls;
  /** The images of the other machines of the fleet. Absent: there is no fleet. */
  readonly peers: { current?: ImagePeers };
  readonly admission: Admission;
  readonly binds: BindPolicy;
  readonly disks: DiskWatch;
  readonly neighbours: NeighbourWatch | undefined;
  readonly bootId: string;
  readonly lab: (id: string) => LocalLab;
  readonly readiness: (id: string) => Readiness;
  readonly forget: (id: string) => void;
  readonly captures: Captures;
  readonly ports: PublishedPorts;
  readonly decoders: Decoders;
  readonly views: CaptureViews;
  readonly quarantine: HostQuarantine;
  /** Runs changes of one lab one after the other. */
  readonly exclusive: <T>(path: string, work: () => Promise<T>) => Promise<T>;
}
