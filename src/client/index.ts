/** The SDK: `import { connect } from "labwright"`. No dependency at run time. */
export type { ErrorCode } from "../contract/errors.ts";
export type { OperationId } from "../contract/operations.ts";
export { showFingerprint } from "../transport/fingerprint.ts";
export type { ConnectOptions, Credentials } from "./caller.ts";
export { connect, type LabwrightClient } from "./connect.ts";
export { LabwrightError } from "./error.ts";
export type { Job, JobOptions, StartedJob } from "./jobs.ts";
export type { CallOptions, Download, InputOf, Methods, ResultOf, Stream } from "./methods.ts";
export type { RemoteEnd, RemoteOutput, RemoteProcess } from "./programs/process.ts";
