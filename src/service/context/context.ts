import type {
  ChangeParts,
  EventsPart,
  HostLoadsPart,
  IdentitiesPart,
  ResumePart,
  StreamsPart,
  UrlImportsPart,
  VersionPart,
} from "./parts.ts";

/** All services and state that the use cases share. Only the entry of the service takes all of them. */
export interface Context
  extends ChangeParts,
    StreamsPart,
    IdentitiesPart,
    EventsPart,
    HostLoadsPart,
    ResumePart,
    UrlImportsPart,
    VersionPart {}
