import { eveConformance } from "./eve-conformance.fixture.ts";

// The editions that differ most from each other; the others: conformance.extended.test.ts.
eveConformance("ce5", "visible");
eveConformance("pnetlab", "hidden");
