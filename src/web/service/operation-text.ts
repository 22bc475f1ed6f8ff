const operations: Readonly<Record<string, string>> = {
  deployProject: "Deploy",
  reconcileProject: "Apply",
  importProject: "Import",
  destroyProject: "Destroy",
  execProject: "Start or stop nodes",
  applyLinkQuality: "Set a link's quality",
  setLinkSuspend: "Suspend or resume a link",
  resumeLab: "Restore",
  renumberLab: "Renumber",
  takeSnapshot: "Take a snapshot",
  restoreSnapshot: "Restore a snapshot",
  removeSnapshot: "Remove a snapshot",
  saveConfigs: "Save configurations",
  testProject: "Run the tests",
  editProject: "Edit the text",
  adoptLab: "Adopt",
  endLease: "End of the lease",
};

/** Returns the name of an operation for people. */
export function operationText(operation: string): string {
  return operations[operation] ?? operation;
}
