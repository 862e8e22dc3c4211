/**
 * Tests with the node agent of a control-plane node: the node agent replaces the agent, and the authorized endpoint
 * is enabled and set up.
 */

import type { Terminal } from "../stage/terminal.ts";
import { expect, test } from "../stage/test.ts";
import type { Environment } from "./provider-user.ts";

/** Timeout for a pod to start without an image pull, and for its agent to connect. */
const CONNECT_TIMEOUT_MS = 90_000;
/** Timeout for the page to show a new state of the endpoint. The page reads the state every 10 s. */
const STATE_TIMEOUT_MS = 60_000;

interface Cluster {
  readonly nodeAgents?: { readonly node: string; readonly keyBoundAt?: string }[];
}

/** Makes the only node of the cluster a control-plane node, so that the server selects its node agent. */
export async function makeControlPlane(owner: Terminal): Promise<void> {
  await owner.run("kubectl label node --all node-role.kubernetes.io/control-plane=");
}

export function nodeAgentTests(environment: Environment): void {
  const { cluster } = environment;

  test("page shows since when and why a node agent replaces the agent", async () => {
    // The waits for the registration, the failover and the return.
    test.setTimeout(4 * CONNECT_TIMEOUT_MS);
    const [page, owner, administrator] = [environment.page(), environment.owner(), environment.administrator()];
    const registered = async () => {
      const read = await administrator.run(`drover cluster get ${cluster} --output json`);
      return (JSON.parse(read) as Cluster).nodeAgents?.find((agent) => agent.keyBoundAt !== undefined)?.node;
    };
    await expect.poll(registered, { timeout: CONNECT_TIMEOUT_MS }).toBeDefined();
    const node = (await registered()) ?? "";

    await page.goto(`/clusters/${cluster}`);
    const fact = page.locator("dd");
    await expect(fact.filter({ hasText: /^agent, for \S+ \(\w+\)$/ })).toBeVisible();
    await owner.run("kubectl -n drover-agent scale deployment/drover-agent --replicas=0");
    const byNodeAgent = new RegExp(`^node agent on ${node}, for \\S+ \\(TunnelClosed\\)$`);
    await expect(fact.filter({ hasText: byNodeAgent })).toBeVisible({ timeout: CONNECT_TIMEOUT_MS });
    await page.goto(`/clusters/${cluster}/pods`);
    await page.getByRole("table", { name: "Pods" }).waitFor();

    await owner.run("kubectl -n drover-agent scale deployment/drover-agent --replicas=2");
    await page.goto(`/clusters/${cluster}`);
    const byAgent = /^agent, for \S+ \(PreferredAgentAvailable\)$/;
    await expect(fact.filter({ hasText: byAgent })).toBeVisible({ timeout: CONNECT_TIMEOUT_MS });
    const switches = page.locator("section", { has: page.getByRole("heading", { name: "Switches between agents" }) });
    const [newest, previous] = [switches.getByRole("listitem").nth(0), switches.getByRole("listitem").nth(1)];
    await expect(newest).toHaveText(/^\S+ ago: agent \(PreferredAgentAvailable\)$/);
    await expect(previous).toHaveText(new RegExp(`^\\S+ ago: node agent on ${node} \\(TunnelClosed\\)$`));
  });

  test("authorized endpoint is enabled, and the page shows its setup steps", async () => {
    const [page, administrator] = [environment.page(), environment.administrator()];
    await page.goto(`/clusters/${cluster}`);
    await page.getByText("The API servers accept no tokens of Drover.").waitFor();
    await page.getByRole("button", { name: "Enable…" }).click();
    const form = page.getByRole("dialog", { name: "Authorized endpoint" });
    await form.getByLabel("Offline limit").fill("4h");
    await form.getByRole("button", { name: "Enable", exact: true }).click();
    await page.getByText(`Enabled the authorized endpoint of ${cluster}. Set up the API servers.`).waitFor();
    // The API server of this cluster does not run on the node.
    const state = page.getByText(/no node agent on a control-plane node has found an API server/i).last();
    await expect(state).toBeVisible({ timeout: STATE_TIMEOUT_MS });

    await page.getByRole("button", { name: "Set up…" }).click();
    const setup = page.getByRole("dialog", { name: "Set up API servers" });
    const file = (await administrator.run(`drover cluster endpoint setup ${cluster} --file`)).trim();
    expect(file).toContain("https://127.0.0.1:6440/v1/authenticate");
    expect(file).toContain("certificate-authority-data");
    const command = setup.getByLabel("Write the webhook configuration", { exact: true });
    await expect(command).toContainText(file, { timeout: STATE_TIMEOUT_MS });
    await expect(setup.getByLabel("Add the flags of the API server", { exact: true })).toContainText(
      "--authentication-token-webhook-config-file",
    );
    await page.keyboard.press("Escape");
    await expect(setup).toBeHidden();

    await page.getByRole("button", { name: "Kubeconfig" }).click();
    const dialog = page.getByRole("dialog", { name: "Kubeconfig" });
    await dialog.getByRole("combobox").selectOption("direct");
    await expect(dialog.getByText(`drover cluster kubeconfig ${cluster} --direct --merge`)).toBeVisible();
    await dialog.getByRole("button", { name: "Download" }).click();
    await expect(dialog.getByText(/do not accept Drover's tokens/)).toBeVisible();
    await page.keyboard.press("Escape");
  });
}
