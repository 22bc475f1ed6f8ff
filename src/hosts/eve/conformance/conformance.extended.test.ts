import { eveConformance } from "./eve-conformance.fixture.ts";

eveConformance("ce5", "hidden");
eveConformance("ce6", "visible");
eveConformance("pro", "visible");
