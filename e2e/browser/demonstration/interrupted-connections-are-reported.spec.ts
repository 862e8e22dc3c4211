import { asAdministrator as test, expect } from "../stage/users.ts";
import { fakeListProblem } from "../stage/row-service.ts";
import { stage } from "../stage/stage.ts";
import { chooseFromMenu, signIn } from "../stage/test.ts";

test("page without a connection shows the time of its data and reconnects", async ({ page, context, browserErrors }) => {
  // The browser logs each failed request.
  browserErrors.expect(/net::ERR_FAILED/);
  await context.route(/watch=true/, (route) => route.abort());
  await page.goto("/clusters/demo-small");
  await page.getByRole("status").getByText(/^stale since \d\d:\d\d:\d\d$/).waitFor();
  // The last known data is still shown.
  await page.getByText("2 of 2 ready").waitFor();
  await context.unroute(/watch=true/);
  await page.getByText("live", { exact: true }).waitFor({ timeout: 40_000 });
});

test("unreachable server is reported, and Try again loads the page", async ({ page, context, browserErrors }) => {
  browserErrors.expect(/net::ERR_FAILED/);
  await context.route("**/v1/session", (route) => route.abort());
  await page.goto("/about");
  await page.getByRole("heading", { name: "The server does not respond" }).waitFor();
  await context.unroute("**/v1/session");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("heading", { name: "About", exact: true })).toBeVisible();
});

test("screen whose code cannot be loaded is reported, and Try again loads the screen", async ({ page, context, browserErrors }) => {
  browserErrors.expect(/net::ERR_FAILED|Failed to fetch/);
  await context.route(/\/assets\/split_account-/, (route) => route.abort());
  await page.goto("/about");
  await page.getByRole("heading", { name: "Cannot load this page" }).waitFor();
  await context.unroute(/\/assets\/split_account-/);
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("heading", { name: "About", exact: true })).toBeVisible();
});

test("offline state is reported immediately, and the page updates after reconnecting", async ({ page, context, browserErrors, terminal }) => {
  browserErrors.expect(/net::ERR_INTERNET_DISCONNECTED/);
  await page.goto("/");
  await page.getByRole("link", { name: "demo-small" }).waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  await context.setOffline(true);
  await page.getByRole("status").getByText(/^stale since \d\d:\d\d:\d\d$/).waitFor({ timeout: 5_000 });
  await expect(page.getByRole("link", { name: "demo-small" })).toBeVisible();
  await terminal.run("drover cluster import created-while-offline");
  await context.setOffline(false);
  await page.getByText("live", { exact: true }).waitFor({ timeout: 5_000 });
  await page.getByRole("link", { name: "created-while-offline" }).waitFor();
  await terminal.run("drover cluster delete created-while-offline --yes");
  await page.getByRole("link", { name: "created-while-offline" }).waitFor({ state: "detached" });
});

test("list without a connection shows the time of its rows and reconnects", async ({ page, context, browserErrors }) => {
  browserErrors.expect(/net::ERR_INTERNET_DISCONNECTED|WebSocket/);
  await page.goto("/clusters/demo-small/statefulsets");
  const row = page.getByRole("link", { name: "store" });
  await row.first().waitFor();
  await context.setOffline(true);
  await page.getByRole("status").getByText(/^stale since \d\d:\d\d:\d\d$/).waitFor({ timeout: 5_000 });
  await expect(row.first()).toBeVisible();
  await context.setOffline(false);
  await page.getByText("live", { exact: true }).waitFor({ timeout: 20_000 });
});

test("interrupted log stream is reported and continues", async ({ page, context, browserErrors }) => {
  browserErrors.expect(/net::ERR_INTERNET_DISCONNECTED/);
  await page.goto("/clusters/demo-small/pods/shop/store-0?tab=logs");
  const lines = page.getByRole("log", { name: "Log" }).getByText("[simulated]");
  await lines.first().waitFor();
  await context.setOffline(true);
  await page.getByText(/The stream was interrupted at/).first().waitFor({ timeout: 5_000 });
  await context.setOffline(false);
  await expect(page.getByText(/Retrying automatically/)).toHaveCount(0, { timeout: 10_000 });
  // The page contains only the lines near the visible part of the log, so their number does not grow.
  const newest = () => lines.last().innerText();
  const before = await newest();
  await expect.poll(newest, { timeout: 30_000 }).not.toBe(before);
});

test("401 response of a cluster does not end the session", async ({ page, context }) => {
  const problem = { code: 401, message: "Unauthorized" };
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", ...problem };
  await context.route(/\/k8s\/clusters\/demo-small\//, (route) => route.fulfill({ status: 401, json: status }));
  await fakeListProblem(page, "pods", problem);
  await page.goto("/clusters/demo-small/pods");
  await page.getByRole("heading", { name: "demo-small does not accept the agent's credentials" }).waitFor();
  await page.getByRole("link", { name: "All clusters", exact: true }).click();
  await page.getByRole("link", { name: "demo-large" }).waitFor();
});

test("sign-in as another user in one tab changes the user in the other tab", async ({ open, newUser }) => {
  const first = await open();
  await first.goto("/about");
  await signIn(first, "admin", stage.password);
  await first.getByRole("link", { name: "Users" }).waitFor();
  const second = await first.context().newPage();
  await second.goto("/about");
  await chooseFromMenu(second, "Sign out");
  await signIn(second, newUser.name, newUser.password);
  await second.getByRole("heading", { name: "Choose a password" }).waitFor();
  await first.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
  await first.getByRole("heading", { name: "Choose a password" }).waitFor();
});
