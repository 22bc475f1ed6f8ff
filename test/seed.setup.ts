import { configureGlobal } from "fast-check";
import { seedOf } from "./seed.ts";

/** Before each test file: properties draw the same cases in every run. */
configureGlobal({ seed: seedOf(process.env.LABWRIGHT_SEED) });
