import { chooseAction } from "../stage/test.ts";
import { asAdministrator as test, expect } from "../stage/users.ts";
import { expectScreenQuality } from "./screen-check.ts";

// The snapshots of pages contain the state of the other clusters.
const CLUSTER = "demo-large";

interface Keys {
  keyBoundAt: string;
  nodeAgents: { node: string; keyBoundAt?: string }[];
}

test("keys of the agents are rotated from the page of the cluster and with the command", async ({ page, terminal }) => {
  test.setTimeout(150_000);
  const keys = async () => JSON.parse(await terminal.run(`drover cluster get ${CLUSTER} --output json`)) as Keys;
  const before = await keys();
  await page.goto(`/clusters/${CLUSTER}`);
  await chooseAction(page, "Rotate keys…");
  await expect(page.getByRole("dialog")).toContainText(`drover cluster rotate-keys ${CLUSTER}`);
  await expectScreenQuality(page, "rotate-keys", false);
  await page.getByRole("dialog").getByRole("button", { name: "Rotate keys" }).click();
  await expect(page.getByText(`Requested new keys for the agents of ${CLUSTER}.`)).toBeVisible();
  await expect.poll(async () => (await keys()).keyBoundAt > before.keyBoundAt, { timeout: 30_000 }).toBe(true);
  const key = page.locator("dt", { hasText: /^Agent key$/ }).locator("+ dd");
  await expect(key).toHaveText(/^bound \d+[sm]( \d+s)? ago$/, { timeout: 30_000 });

  const rotated = await keys();
  await terminal.run(`drover cluster rotate-keys ${CLUSTER} --wait`);
  const again = await keys();
  expect(again.keyBoundAt > rotated.keyBoundAt).toBe(true);
  for (const [index, agent] of again.nodeAgents.entries()) {
    expect(agent.keyBoundAt, agent.node).not.toBe(rotated.nodeAgents[index]?.keyBoundAt);
  }
  // The cluster stays reachable with the new keys.
  await terminal.run(`drover cluster kubeconfig ${CLUSTER} --merge --overwrite`);
  await terminal.run(`kubectl --context ${CLUSTER} get nodes`);
});
