import { asAdministrator as test, expect } from "../stage/users.ts";
import { expectScreenQuality } from "./screen-check.ts";

// This cluster has control-plane nodes. The snapshots of pages contain the state of the other clusters.
const CLUSTER = "demo-large";
const NODE_AGENT = "node agent on simulated-control-plane-[123]";
const AGE = String.raw`\d+[smhd]( \d+[smhd])*`;

test("page shows the failover to a node agent and the return of the agent without a reload", async ({ page, terminal }) => {
  test.setTimeout(150_000);
  await terminal.run(`drover cluster kubeconfig ${CLUSTER} --merge --overwrite`);
  const scale = (replicas: number) =>
    terminal.run(`kubectl --context ${CLUSTER} --namespace drover-agent scale deployment drover-agent --replicas ${replicas}`);
  await page.goto(`/clusters/${CLUSTER}`);
  let loads = 0;
  page.on("load", () => (loads += 1));
  const value = (term: string) => page.locator("dt", { hasText: new RegExp(`^${term}$`) }).locator("+ dd");
  await expect(value("Connection")).toHaveText(new RegExp(`^agent, for ${AGE} \\(`));
  await expect(value("Reports")).toHaveText("agent");
  // A node agent needs the agent once, to register its key.
  await expect(value("Node agents")).toHaveText(/^simulated-control-plane-\d(, simulated-control-plane-\d){2}$/);
  const facts = page.getByRole("region", { name: "Nodes" });
  for (const node of ["simulated-control-plane-1", "simulated-worker-12"]) {
    const version = facts.getByRole("row", { name: node }).getByRole("cell").nth(4);
    await expect(version, `the node agent on ${node} sends reports`).toHaveText(/^\d+\.\d+\.\d+$/);
  }

  const history = page.locator("section", { has: page.getByRole("heading", { name: "Switches between agents" }) });
  const switches = history.getByRole("listitem");
  try {
    await scale(0);
    const failedOver = new RegExp(`^${NODE_AGENT}, for ${AGE} \\(TunnelClosed\\)$`);
    // The server records no switch in the first 30 s after its start.
    await expect(value("Connection")).toHaveText(failedOver, { timeout: 40_000 });
    await expect(value("Reports")).toHaveText(new RegExp(`^${NODE_AGENT}$`));
    await expect(page.getByText(/so the server uses the node agent on simulated-control-plane-[123]/)).toBeVisible();
    await expect(switches.first()).toHaveText(new RegExp(`^${AGE} ago: ${NODE_AGENT} \\(TunnelClosed\\)$`));
    await expect(switches.nth(1)).toHaveText(new RegExp(`^${AGE} ago: agent \\(`));
  } finally {
    // This request uses the tunnel of the node agent.
    await scale(2);
  }
  const returned = new RegExp(`^agent, for ${AGE} \\(PreferredAgentAvailable\\)$`);
  await expect(value("Connection")).toHaveText(returned, { timeout: 40_000 });
  await expect(value("Reports")).toHaveText("agent");
  await expect(switches.first()).toHaveText(new RegExp(`^${AGE} ago: agent \\(PreferredAgentAvailable\\)$`));
  await expect(switches.nth(1)).toHaveText(new RegExp(`^${AGE} ago: ${NODE_AGENT} \\(TunnelClosed\\)$`));
  expect(loads, "the page was not loaded again").toBe(0);
  await expectScreenQuality(page, "cluster-after-a-failover", false);
});
