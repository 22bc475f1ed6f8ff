import { expect, test } from "vitest";
import { routerConfigs } from "./router-configs.ts";

const config = "frr version 8.4.4\nhostname r1\n!\ninterface eth0\n ip address 10.0.0.1/24\nexit\n";

test("the running configuration is shown as the saved one is written", () => {
  const running = `Building configuration...\n\nCurrent configuration:\n!\n${config}!\nend\n`;
  expect(routerConfigs(`${running}\u001e!\n${config}!\n`)).toEqual({ running: config, startup: config });
});

test("a router that has saved nothing has an empty startup configuration", () => {
  expect(routerConfigs(`${config}\u001e`)).toEqual({ running: config, startup: "" });
});
