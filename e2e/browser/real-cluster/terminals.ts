/** Tests of terminals and of the logs of many pods, with pods on a real node. */

import type { BrowserContext, Page } from "@playwright/test";

import { stage } from "../stage/stage.ts";
import type { Terminal } from "../stage/terminal.ts";
import { type BrowserErrors, expect, test } from "../stage/test.ts";

/** The browser of the administrator, and a command line with direct access to the cluster. */
export interface Environment {
  readonly cluster: string;
  readonly page: () => Page;
  readonly context: () => BrowserContext;
  readonly owner: () => Terminal;
  readonly browserErrors: BrowserErrors;
}

/** Timeout for the start of a pod. */
export const POD_TIMEOUT_MS = 60_000;

/** Returns the dock of a page, and the visible terminal. */
export function dockOf(page: () => Page) {
  const dock = () => page().getByRole("region", { name: "Terminals" });
  return {
    dock,
    screen: () => dock().locator(".xterm-rows:visible"),
    state: () => dock().getByRole("tabpanel").getByRole("status"),
    type: async (line: string) => {
      await dock().locator(".dock-screen:visible").click();
      await page().keyboard.type(`${line}\n`);
    },
    close: () => dock().getByRole("button", { name: /^Close terminal/ }).click(),
  };
}

export function terminalTests({ cluster, page, context, owner, browserErrors }: Environment): void {
  const { dock, screen, state, type, close } = dockOf(page);
  const pods = async () => {
    const names = await owner().run("kubectl get pods -l app=counter -o jsonpath='{.items[*].metadata.name}'");
    return names.trim().split(" ");
  };

  test("terminal in a container continues after the network returns", async () => {
    const [pod] = await pods();
    await page().goto(`/clusters/${cluster}/pods/default/${pod}?tab=terminal`);
    await page().getByRole("button", { name: "Open terminal" }).click();
    await expect(state()).toHaveText("Connected");
    await type("printf '\\033[38;2;10;200;30mgreen\\033[0m \\033]0;another title\\007'; echo sum-$((20+22))");
    await expect(screen()).toContainText("sum-42");
    expect(await page().title(), "a container cannot change the title of the page").not.toContain("another");
    await type("sleep 3; echo later-$((20+23))");
    browserErrors.expect(/net::ERR_INTERNET_DISCONNECTED/);
    await context().setOffline(true);
    await expect(state()).toContainText("Connection lost");
    await expect(async () => expect(await owner().run(`kubectl exec ${pod} -- ps`)).not.toContain("sleep 3")).toPass();
    await context().setOffline(false);
    await expect(state()).toHaveText("Connected");
    await expect(screen()).toContainText("later-43");
    await expect(screen()).toContainText("sum-42");
  });

  test("terminal stays open on other screens and after a reload, and shows the exit code", async () => {
    await page().getByRole("link", { name: "All clusters", exact: true }).click();
    await page().getByRole("heading", { name: "Clusters", exact: true }).waitFor();
    await type("echo still-$((1+1))");
    await expect(screen()).toContainText("still-2");
    await page().reload();
    await expect(state()).toHaveText("Connected");
    await expect(screen()).toContainText("sum-42");
    await type("exit 3");
    await expect(state()).toHaveText("Closed: the command exited with code 3");
    await close();
    await expect(dock()).toBeHidden();
  });

  test("shell on a node runs in a pod that is deleted afterwards", async () => {
    const node = (await owner().run("kubectl get nodes -o jsonpath='{.items[0].metadata.name}'")).trim();
    await page().goto(`/clusters/${cluster}/nodes/-/${node}?tab=terminal`);
    await page().getByLabel("Image").fill(stage.image);
    await page().getByRole("button", { name: "Open node shell" }).click();
    await expect(state()).toHaveText("Connected", { timeout: POD_TIMEOUT_MS });
    await type("ls -d /host/etc; echo node-$((3+4))");
    await expect(screen()).toContainText("node-7");
    await expect(screen()).toContainText("/host/etc");
    await close();
    await expect(async () => expect(await owner().run("kubectl get pods -o name")).not.toContain("drover-node-shell")).toPass();
  });

  test("log of a workload contains the lines of all its pods, also of new pods", async () => {
    await page().goto(`/clusters/${cluster}/deployments/default/counter?tab=logs`);
    const log = page().getByRole("log", { name: "Log" });
    await expect(log).toContainText("line 2");
    const before = await pods();
    await owner().run("kubectl scale deployment/counter --replicas=2");
    await owner().run("kubectl rollout status deployment/counter --timeout=60s");
    const [added] = (await pods()).filter((pod) => !before.includes(pod));
    await expect(log.locator(`[title="${added}/counter"]`).first()).toBeVisible({ timeout: POD_TIMEOUT_MS });
    await page().getByLabel("Filter (regular expression)").fill("line \\d\\d+$");
    await expect(log).toContainText(/line \d\d/);
    await expect(log).not.toContainText(/line \d(?!\d)/);
    await expect(page()).toHaveURL(/filter=/);
    await owner().run("kubectl scale deployment/counter --replicas=1");
  });
}
