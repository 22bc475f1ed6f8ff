import Type, { type Static, type TSchema } from "typebox";
import type { BytesAnswer, OperationId, UpgradeGrant } from "../operations.ts";
import { AuthoringPayload, InterfacesPreviewData, LinkCompletionsData } from "./authoring.ts";
import {
  CaptureAttachData,
  CaptureData,
  CapturePacketData,
  CapturePacketParams,
  CapturePacketsData,
  CapturePacketsQuery,
  CapturePayload,
  CaptureRemovedData,
  CaptureStartData,
  CapturesData,
  CapturesQuery,
} from "./captures.ts";
import {
  IconsData,
  ListTemplatesQuery,
  NetworkTypesData,
  TemplateAttributesData,
  TemplateDetail,
  TemplateImagesData,
  TemplatesData,
} from "./catalogue.ts";
import {
  ConsoleAttachData,
  ConsoleExecData,
  ConsoleExecManyData,
  ConsoleLogData,
  ConsoleLogPayload,
  ConsolePayload,
  ConsoleRunData,
  ConsoleRunPayload,
  ConsolesData,
} from "./console.ts";
import {
  DiskExportData,
  DiskExportPayload,
  DiskImportData,
  DiskImportedData,
  DiskImportPayload,
  DiskPartData,
  DiskPartPayload,
  DiskReadQuery,
  DisksData,
  DisksRemovedData,
  DiskTransferRemovedData,
} from "./disks.ts";
import { EditData, EditPayload, PublicProjectData, PublicProjectPayload, TrafficAttachData, TrafficPayload } from "./editing.ts";
import { HistoryData, HistoryTextData, HistoryTextPayload } from "./history.ts";
import { HostLoadData } from "./host-load.ts";
import { HostUserPayload, HostUserRemovePayload, HostUsersData } from "./host-users.ts";
import { ImportFileData, ImportFilePayload } from "./import-file.ts";
import { JobData, JobsData } from "./jobs.ts";
import { LeaseData, LeasePayload } from "./lease.ts";
import { LinkQualityData, LinkQualityPayload, LinkSuspendData, LinkSuspendPayload } from "./links.ts";
import { LabLockData, LabLockPayload } from "./lock.ts";
import { DrainData, DrainPayload, JoinTokenData, JoinTokenPayload, MachinePayload, MachineRemovePayload, MachinesData } from "./machines.ts";
import { EventData, EventsQuery, InspectionData, LabsData, OpenData, StatusData } from "./observe.ts";
import { PictureQuery, PicturesData, TasksData } from "./pictures.ts";
import { PlanData, ReconcileData } from "./plan.ts";
import { NodeAttachData, NodeAttachPayload, NodeCopyPayload, NodeExecEvent, NodeExecPayload } from "./processes.ts";
import {
  BulkResult,
  DeployData,
  DestroyData,
  ExecPayload,
  ImportData,
  ImportPayload,
  ProjectPayload,
  RenumberData,
  ValidateData,
} from "./project.ts";
import { QuarantineData, QuarantineDeleteData, QuarantineRestoreData } from "./quarantine.ts";
import { QuotaPayload, QuotasData } from "./quotas.ts";
import { ResumeData, ResumePayload } from "./resume.ts";
import { SaveConfigsData } from "./save.ts";
import {
  BrowserSessionData,
  BrowserSessionRequest,
  CapabilitiesData,
  HealthData,
  LoginData,
  LoginFinishRequest,
  LoginRequest,
  SessionData,
  StatusOkData,
} from "./session.ts";
import { text } from "./shapes.ts";
import { LabAdoptData, LabAdoptPayload, LabGrantsData, LabGrantsPayload, LabGrantsQuery } from "./sharing.ts";
import {
  SnapshotPayload,
  SnapshotRemovedData,
  SnapshotRestoredData,
  SnapshotsData,
  SnapshotTakenData,
  SnapshotTakePayload,
} from "./snapshots.ts";
import { SwitchesData } from "./switches.ts";
import { TestData, TestPayload } from "./tests.ts";
import { NewTokenData, TokenCreatePayload, TokenRevokePayload, TokensData } from "./tokens.ts";

const byId = Type.Object({ id: text });
const byTicket = Type.Object({ ticket: text });

/** Request schemas by operation id: JSON body, query string, path parameters. An absent part is not read. */
export const requestSchemas = {
  getHealth: {},
  login: { body: LoginRequest },
  finishLogin: { body: LoginFinishRequest },
  logout: {},
  getSession: {},
  createBrowserSession: { body: BrowserSessionRequest },
  getCapabilities: {},
  listTemplates: { query: ListTemplatesQuery },
  getTemplate: { params: byId },
  listTemplateImages: { params: byId },
  listTemplateAttributes: { params: byId },
  listNetworkTypes: {},
  listIcons: {},
  getHostLoad: {},
  createToken: { body: TokenCreatePayload },
  listTokens: {},
  revokeToken: { body: TokenRevokePayload },
  listHostUsers: {},
  listQuotas: {},
  listMachines: {},
  setHostUser: { body: HostUserPayload },
  removeHostUser: { body: HostUserRemovePayload },
  completeLinkInterfaces: { body: AuthoringPayload },
  previewInterfaces: { body: AuthoringPayload },
  validateProject: { body: ProjectPayload },
  importProject: { body: ImportPayload },
  planProject: { body: ProjectPayload },
  deployProject: { body: ProjectPayload },
  reconcileProject: { body: ProjectPayload },
  destroyProject: { body: ProjectPayload },
  getProjectStatus: { body: ProjectPayload },
  inspectProject: { body: ProjectPayload },
  openProject: { body: ProjectPayload },
  listProjectConsoles: { body: ProjectPayload },
  execProject: { body: ExecPayload },
  execConsole: { body: ConsolePayload },
  execConsoleMany: { body: ConsolePayload },
  attachConsole: { body: ConsolePayload },
  readConsoleLog: { body: ConsoleLogPayload },
  runConsole: { body: ConsoleRunPayload },
  execNodes: { body: NodeExecPayload },
  attachProcess: { body: NodeAttachPayload },
  copyFiles: { body: NodeCopyPayload },
  streamProcess: { params: byTicket },
  streamConsole: { params: byTicket },
  applyLinkQuality: { body: LinkQualityPayload },
  setLinkSuspend: { body: LinkSuspendPayload },
  startCapture: { body: CapturePayload },
  listCaptures: { query: CapturesQuery },
  getCapture: { params: byId },
  downloadCapture: { params: byId },
  listCapturePackets: { params: byId, query: CapturePacketsQuery },
  getCapturePacket: { params: CapturePacketParams },
  stopCapture: { params: byId },
  removeCapture: { params: byId },
  attachCapture: { params: byId },
  streamCapture: { params: byTicket },
  getPublicProject: { body: PublicProjectPayload },
  editProject: { body: EditPayload },
  listHistory: { body: ProjectPayload },
  getHistoryText: { body: HistoryTextPayload },
  attachTraffic: { body: TrafficPayload },
  streamTraffic: { params: byTicket },
  listLabs: {},
  getLabGrants: { query: LabGrantsQuery },
  setLabGrants: { body: LabGrantsPayload },
  setLabLock: { body: LabLockPayload },
  listQuarantine: {},
  restoreQuarantined: { params: byId },
  deleteQuarantined: { params: byId },
  extendLease: { body: LeasePayload },
  setQuota: { body: QuotaPayload },
  setMachine: { body: MachinePayload },
  removeMachine: { body: MachineRemovePayload },
  drainMachine: { body: DrainPayload },
  createJoinToken: { body: JoinTokenPayload },
  setLabResume: { body: ResumePayload },
  saveConfigs: { body: ProjectPayload },
  testProject: { body: TestPayload },
  resumeLab: { body: ProjectPayload },
  renumberLab: { body: ProjectPayload },
  listSnapshots: { body: ProjectPayload },
  takeSnapshot: { body: SnapshotTakePayload },
  restoreSnapshot: { body: SnapshotPayload },
  removeSnapshot: { body: SnapshotPayload },
  listPictures: { body: ProjectPayload },
  getPicture: { params: byId, query: PictureQuery },
  getTasks: { body: ProjectPayload },
  listSwitches: { body: ProjectPayload },
  importFile: { body: ImportFilePayload },
  adoptLab: { body: LabAdoptPayload },
  listDisks: {},
  removeDisks: { params: byId },
  exportDisks: { body: DiskExportPayload },
  downloadDisk: { params: byId, query: DiskReadQuery },
  importDisks: { body: DiskImportPayload },
  uploadDiskPart: { params: byId, body: DiskPartPayload },
  finishDiskImport: { params: byId },
  removeDiskTransfer: { params: byId },
  events: { query: EventsQuery },
  listJobs: {},
  getJob: { params: byId },
  cancelJob: { params: byId },
  getOpenApi: {},
  getMetrics: {},
} as const satisfies Record<OperationId, { readonly body?: TSchema; readonly query?: TSchema; readonly params?: TSchema }>;

const upgrade = Type.Unsafe<UpgradeGrant>({});
const bytes = Type.Unsafe<BytesAnswer>({});

/** Answer schemas by operation id: `data` of the envelope, or the type for the `answer` kind. */
export const dataSchemas = {
  getHealth: HealthData,
  login: LoginData,
  finishLogin: LoginData,
  logout: StatusOkData,
  getSession: SessionData,
  createBrowserSession: BrowserSessionData,
  getCapabilities: CapabilitiesData,
  listTemplates: TemplatesData,
  getTemplate: TemplateDetail,
  listTemplateImages: TemplateImagesData,
  listTemplateAttributes: TemplateAttributesData,
  listNetworkTypes: NetworkTypesData,
  listIcons: IconsData,
  getHostLoad: HostLoadData,
  createToken: NewTokenData,
  listTokens: TokensData,
  revokeToken: TokensData,
  listHostUsers: HostUsersData,
  setHostUser: HostUsersData,
  removeHostUser: HostUsersData,
  completeLinkInterfaces: LinkCompletionsData,
  previewInterfaces: InterfacesPreviewData,
  validateProject: ValidateData,
  importProject: ImportData,
  planProject: PlanData,
  deployProject: DeployData,
  reconcileProject: ReconcileData,
  destroyProject: DestroyData,
  getProjectStatus: StatusData,
  inspectProject: InspectionData,
  openProject: OpenData,
  listProjectConsoles: ConsolesData,
  execProject: BulkResult,
  execConsole: ConsoleExecData,
  execConsoleMany: ConsoleExecManyData,
  attachConsole: ConsoleAttachData,
  readConsoleLog: ConsoleLogData,
  runConsole: ConsoleRunData,
  execNodes: Type.Unsafe<AsyncIterable<NodeExecEvent>>(NodeExecEvent),
  attachProcess: NodeAttachData,
  copyFiles: NodeAttachData,
  streamProcess: upgrade,
  streamConsole: upgrade,
  applyLinkQuality: LinkQualityData,
  setLinkSuspend: LinkSuspendData,
  startCapture: CaptureStartData,
  listCaptures: CapturesData,
  getCapture: CaptureData,
  downloadCapture: bytes,
  listCapturePackets: CapturePacketsData,
  getCapturePacket: CapturePacketData,
  stopCapture: CaptureData,
  removeCapture: CaptureRemovedData,
  attachCapture: CaptureAttachData,
  streamCapture: upgrade,
  getPublicProject: PublicProjectData,
  editProject: EditData,
  listHistory: HistoryData,
  getHistoryText: HistoryTextData,
  attachTraffic: TrafficAttachData,
  streamTraffic: upgrade,
  listLabs: LabsData,
  getLabGrants: LabGrantsData,
  setLabGrants: LabGrantsData,
  setLabLock: LabLockData,
  listQuarantine: QuarantineData,
  restoreQuarantined: QuarantineRestoreData,
  deleteQuarantined: QuarantineDeleteData,
  extendLease: LeaseData,
  listQuotas: QuotasData,
  setQuota: QuotasData,
  listMachines: MachinesData,
  setMachine: MachinesData,
  removeMachine: MachinesData,
  drainMachine: DrainData,
  createJoinToken: JoinTokenData,
  setLabResume: ResumeData,
  saveConfigs: SaveConfigsData,
  testProject: TestData,
  resumeLab: BulkResult,
  renumberLab: RenumberData,
  listSnapshots: SnapshotsData,
  takeSnapshot: SnapshotTakenData,
  restoreSnapshot: SnapshotRestoredData,
  removeSnapshot: SnapshotRemovedData,
  listPictures: PicturesData,
  getPicture: bytes,
  getTasks: TasksData,
  listSwitches: SwitchesData,
  importFile: ImportFileData,
  adoptLab: LabAdoptData,
  listDisks: DisksData,
  removeDisks: DisksRemovedData,
  exportDisks: DiskExportData,
  downloadDisk: bytes,
  importDisks: DiskImportData,
  uploadDiskPart: DiskPartData,
  finishDiskImport: DiskImportedData,
  removeDiskTransfer: DiskTransferRemovedData,
  events: Type.Unsafe<AsyncIterable<EventData>>(EventData),
  listJobs: JobsData,
  getJob: JobData,
  cancelJob: JobData,
  getOpenApi: Type.Unsafe<Readonly<Record<string, unknown>>>({ type: "object" }),
  getMetrics: bytes,
} as const satisfies Record<OperationId, TSchema>;

type Part<S, K extends string> = S extends { readonly [k in K]: infer T extends TSchema } ? Static<T> : undefined;

/** body, query and params of each operation; undefined for a part that it does not read. */
export type Requests = {
  readonly [Id in OperationId]: {
    readonly body: Part<(typeof requestSchemas)[Id], "body">;
    readonly query: Part<(typeof requestSchemas)[Id], "query">;
    readonly params: Part<(typeof requestSchemas)[Id], "params">;
  };
};

export type Answers = { readonly [Id in OperationId]: Static<(typeof dataSchemas)[Id]> };
