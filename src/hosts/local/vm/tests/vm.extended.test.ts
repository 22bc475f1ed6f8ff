import { virtualMachines } from "./vm-suite.fixture.ts";

virtualMachines({ extended: true });
