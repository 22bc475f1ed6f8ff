const names: Readonly<Record<string, string>> = {
  deployProject: "deploy",
  reconcileProject: "apply",
  importProject: "import",
  destroyProject: "destroy",
  execProject: "start, stop or wipe",
  applyLinkQuality: "link quality",
  setLinkSuspend: "link suspend or resume",
  editProject: "edit",
  resumeLab: "resume",
  renumberLab: "renumber",
  takeSnapshot: "snapshot take",
  restoreSnapshot: "snapshot restore",
  removeSnapshot: "snapshot remove",
  saveConfigs: "save",
  testProject: "test",
};

/** Returns the name of a change for people, as the commands have it. The id of the operation is in --format json. */
export function changeName(operation: string): string {
  return names[operation] ?? operation;
}

/** Returns the progress of a running change. Changes of power and links have no steps. */
export function changeProgress(steps: number, step: number): string {
  return steps === 0 ? "runs" : `is at step ${step} of ${steps}`;
}
