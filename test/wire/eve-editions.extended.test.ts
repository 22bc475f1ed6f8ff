import { serviceOnEditions } from "./eve-service.fixture.ts";

serviceOnEditions(["pro", "pnetlab"], ["ce5", "ce6", "pro"]);
