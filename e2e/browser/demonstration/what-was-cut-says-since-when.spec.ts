import { asAdministrator as test, expect } from "../stage/people.ts";

test("a page that is cut off says since when, and goes on by itself", async ({ page, context, complaints }) => {
  // The browser tells of every request that it could not make.
  complaints.expect(/net::ERR_FAILED/);
  await context.route(/watch=true/, (route) => route.abort());
  await page.goto("/clusters/demo-small");
  await page.getByRole("status").getByText(/^stale since \d\d:\d\d:\d\d$/).waitFor();
  // What was known is shown still.
  await page.getByText("2 of 2 ready").waitFor();
  await context.unroute(/watch=true/);
  await page.getByText("live", { exact: true }).waitFor({ timeout: 40_000 });
});

test("a server that answers nothing is told, and asking again helps", async ({ page, context, complaints }) => {
  complaints.expect(/net::ERR_FAILED/);
  await context.route("**/v1/session", (route) => route.abort());
  await page.goto("/about");
  await page.getByRole("heading", { name: "Drover is not answering" }).waitFor();
  await context.unroute("**/v1/session");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("heading", { name: "About", exact: true })).toBeVisible();
});
