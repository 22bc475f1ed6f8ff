import type { ChangeKind } from "./changes/change-kind.ts";
import { testKind } from "./lab-tests/test-project.ts";
import { renumberKind } from "./labs/renumber.ts";
import { removeSnapshotKind, restoreSnapshotKind, takeSnapshotKind } from "./labs/snapshots.ts";
import { endLeaseKind } from "./lease-ends/end-lease.ts";
import { linkQualityKind, linkSuspendKind } from "./links/links.ts";
import { moveKind } from "./moves/move-lab.ts";
import { powerKind } from "./power/power.ts";
import { resumeKind } from "./power/resume.ts";
import { saveConfigsKind } from "./power/save-configs.ts";
import { deployKind } from "./projects/deploy.ts";
import { destroyKind } from "./projects/destroy.ts";
import { importKind } from "./projects/import-project.ts";
import { reconcileKind } from "./projects/reconcile.ts";

/** Every kind of change that recovery can finish, by operation id. */
export const changeKinds: ReadonlyMap<string, ChangeKind> = new Map(
  (
    [
      deployKind,
      reconcileKind,
      importKind,
      destroyKind,
      powerKind,
      resumeKind,
      saveConfigsKind,
      testKind,
      renumberKind,
      linkQualityKind,
      linkSuspendKind,
      takeSnapshotKind,
      restoreSnapshotKind,
      removeSnapshotKind,
      endLeaseKind,
      moveKind,
    ] satisfies readonly ChangeKind[]
  ).map((kind): [string, ChangeKind] => [kind.operation, kind]),
);
