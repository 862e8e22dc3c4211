import type { Page } from "@playwright/test";

import { asAdministrator as test, expect } from "../stage/users.ts";
import { expectScreenQuality } from "./screen-check.ts";

// The snapshots of pages contain the state of the other clusters.
const CLUSTER = "demo-large";
const WEBHOOK_CONFIG = "apiVersion: v1\nkind: Config\ncurrent-context: drover\n";

interface Endpoint {
  enabled: boolean;
  fqdn?: string;
  offlineSeconds: number;
}

/** Adds API servers to the state of an enabled endpoint. Simulated nodes have no API server of their own. */
async function fakeNodeAgents(page: Page, report: { callsWebhook: boolean }): Promise<void> {
  await page.route(`**/v1/clusters/${CLUSTER}/endpoint`, async (route) => {
    const response = await route.fetch();
    const endpoint = (await response.json()) as Endpoint;
    if (!endpoint.enabled) return route.fulfill({ response });
    const { callsWebhook } = report;
    const condition = {
      type: "AuthorizedEndpointReady",
      status: callsWebhook ? "True" : "False",
      reason: callsWebhook ? "Ready" : "NotConfigured",
      message: callsWebhook ? "the API servers accept tokens" : "the API server on cp-1 does not call the webhook",
      lastTransitionTime: new Date().toISOString(),
    };
    const apiServers = [{ node: "cp-1", address: "192.0.2.1:6443", callsWebhook }];
    return route.fulfill({ response, json: { ...endpoint, condition, apiServers, webhookConfig: WEBHOOK_CONFIG } });
  });
}

test("authorized endpoint is enabled, set up and disabled", async ({ page, terminal }) => {
  const stored = async () => JSON.parse(await terminal.run(`drover cluster endpoint get ${CLUSTER} --output json`)) as Endpoint;
  const report = { callsWebhook: false };
  await fakeNodeAgents(page, report);
  await page.goto(`/clusters/${CLUSTER}`);
  await page.getByText("The API servers accept no tokens of Drover.").waitFor();

  await page.getByRole("button", { name: "Enable…" }).click();
  const form = page.getByRole("dialog", { name: "Authorized endpoint" });
  const enable = form.getByRole("button", { name: "Enable", exact: true });
  await form.getByLabel("Offline limit").fill("31d");
  await expect(form.getByText("At least 5m, at most 30d.")).toBeVisible();
  await expect(enable).toBeDisabled();
  await form.getByLabel("Offline limit").fill("4h");
  await form.getByLabel("Load balancer").fill("https://lb.example");
  await enable.click();
  await expect(form.getByText(/must be a host name/i), "the field shows the error of the server").toBeVisible();
  await form.getByLabel("Load balancer").fill("lb.example:6443");
  const command = `drover cluster endpoint enable ${CLUSTER} --fqdn lb.example:6443 --offline 4h`;
  await expect(form.getByText(command)).toBeVisible();
  await enable.click();
  await page.getByText(`Enabled the authorized endpoint of ${CLUSTER}. Set up the API servers.`).waitFor();
  await expect(form).toBeHidden();
  expect(await stored()).toMatchObject({ enabled: true, fqdn: "lb.example:6443", offlineSeconds: 14_400 });

  await expect(page.getByText("The API server on cp-1 does not call the webhook.")).toBeVisible();
  const server = page.getByRole("row", { name: /cp-1/ });
  await expect(server).toContainText("no");
  await page.getByRole("button", { name: "Set up…" }).click();
  const setup = page.getByRole("dialog", { name: "Set up API servers" });
  await expect(setup.getByText("Managed Kubernetes services", { exact: false })).toBeVisible();
  await expect(setup.getByLabel("Write the webhook configuration", { exact: true })).toContainText(WEBHOOK_CONFIG.trim());
  await expect(setup.getByLabel("Add the flags of the API server", { exact: true })).toContainText("/etc/kubernetes/pki/drover-webhook.yaml");
  await setup.getByRole("tab", { name: "RKE2" }).click();
  await expect(setup.getByLabel("Restart the API server", { exact: true })).toHaveText("systemctl restart rke2-server");
  await setup.getByRole("tab", { name: "K3s" }).click();
  await expect(setup.getByLabel("Restart the API server", { exact: true })).toHaveText("systemctl restart k3s");
  // The page polls the state.
  report.callsWebhook = true;
  await expect(setup.getByRole("row", { name: /cp-1/ })).toContainText("yes");
  await expectScreenQuality(page, "set-up-api-servers", false);
  await page.keyboard.press("Escape");
  await expect(setup).toBeHidden();

  await page.getByRole("button", { name: "Disable…" }).click();
  const dialog = page.getByRole("dialog", { name: "Disable authorized endpoint?" });
  await dialog.getByRole("button", { name: "Disable", exact: true }).click();
  await page.getByText(`Disabled the authorized endpoint of ${CLUSTER}.`).waitFor();
  await page.getByText("The API servers accept no tokens of Drover.").waitFor();
  expect((await stored()).enabled).toBe(false);
});

test("kubeconfig for direct access is available only with an authorized endpoint", async ({ page, terminal }) => {
  await page.goto(`/clusters/${CLUSTER}`);
  const open = page.getByRole("button", { name: "Kubeconfig" });
  const dialog = page.getByRole("dialog", { name: "Kubeconfig" });
  await open.click();
  await expect(dialog.getByRole("option")).toHaveCount(2);
  await page.keyboard.press("Escape");
  await terminal.run(`drover cluster endpoint enable ${CLUSTER}`);
  await page.getByRole("button", { name: "Set up…" }).waitFor();
  await open.click();
  await dialog.getByRole("combobox").selectOption("direct");
  await expect(dialog.getByText(`drover cluster kubeconfig ${CLUSTER} --direct --merge`)).toBeVisible();
  // No API server of a simulated cluster calls the webhook.
  await dialog.getByRole("button", { name: "Download" }).click();
  await expect(dialog.getByText(/do not accept Drover's tokens/)).toBeVisible();
  await page.keyboard.press("Escape");
  await terminal.run(`drover cluster endpoint disable ${CLUSTER}`);
  await page.getByRole("button", { name: "Enable…" }).waitFor();
});
