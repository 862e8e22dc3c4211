import { SIGNED_OUT, asAdministrator, asUserWithoutRoles, test } from "../stage/users.ts";
import { textSnapshot } from "../stage/snapshot.ts";
import { expect, signIn } from "../stage/test.ts";
import { expectScreenQuality, openScreen } from "./screen-check.ts";
import { SCREENS, SCREENS_WITHOUT_RIGHTS, type Screen } from "./screens.ts";

type Test = typeof asAdministrator | typeof asUserWithoutRoles;

function check(test: Test, screen: Screen): void {
  test(`screen ${screen.name} matches its snapshot, is accessible in each theme, and fits a phone`, async ({ page }) => {
    await openScreen(page, screen);
    await expectScreenQuality(page, screen.name, screen.stable ?? true);
  });
}

for (const screen of SCREENS) check(asAdministrator, screen);
for (const screen of SCREENS_WITHOUT_RIGHTS) check(asUserWithoutRoles, screen);

asAdministrator("navigation lists all pages", async ({ page }) => {
  await page.goto("/about");
  await page.getByText("Agent protocols").waitFor();
  expect(await textSnapshot(page.getByRole("banner"))).toMatchSnapshot("navigation.txt");
});

asAdministrator("list of pods has 24 rows at 1440×900, and complete states and versions at 1280×800", async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto("/clusters/demo-large/pods");
  await page.getByRole("columnheader", { name: "Memory" }).waitFor();
  const rows = page.locator("tbody tr:not(.spacer)");
  await expect(rows.nth(23)).toBeInViewport({ ratio: 1 });
  expect((await rows.first().boundingBox())?.height).toBe(32);

  await page.setViewportSize({ width: 1280, height: 800 });
  const isCut = (cell: Element): boolean => cell.scrollWidth > cell.clientWidth;
  for (const [path, column, shown] of [
    ["/clusters/demo-troubled/pods", "Memory", "CrashLoopBackOff"],
    ["/clusters/demo-large/nodes", "Memory", "simulated"],
  ] as const) {
    await page.goto(path);
    await page.getByRole("columnheader", { name: column }).waitFor();
    const cells = page.locator(".badge, td.list-text .truncate");
    await expect(cells.filter({ hasText: shown }).first()).toBeVisible();
    for (const cell of await cells.all()) expect(await cell.evaluate(isCut), (await cell.textContent()) ?? "").toBe(false);
  }
});

test.describe("sign-in page", () => {
  test.use({ storageState: SIGNED_OUT });

  test("sign-in page matches its snapshot, is accessible in each theme, and fits a phone", async ({ page }) => {
    await page.goto("/about");
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await expectScreenQuality(page, "sign-in");
  });

  test("sign-in page with providers matches its snapshot, is accessible in each theme, and fits a phone", async ({ page }) => {
    const items = [
      { name: "corp", displayName: "Corporate account", way: "Redirect" },
      { name: "directory", displayName: "Directory", way: "Password" },
    ];
    await page.route("**/v1/providers", (route) => route.fulfill({ json: { items } }));
    await page.goto("/about");
    await page.getByRole("button", { name: "Sign in with Directory" }).click();
    await page.getByText("Enter your user name and password of Directory.").waitFor();
    await expect(page.getByLabel("User name", { exact: true })).toBeFocused();
    await page.getByRole("button", { name: "Sign in as a local user" }).waitFor();
    await expectScreenQuality(page, "sign-in-with-providers");
  });

  test("rejected sign-in shows an error", async ({ page }) => {
    await page.goto("/");
    await signIn(page, "unknown-user", "a wrong password");
    await page.locator(".banner.error").waitFor();
    await expectScreenQuality(page, "sign-in-rejected");
  });

  test("user with an initial password must change the password", async ({ page, newUser }) => {
    await page.goto("/import");
    await signIn(page, newUser.name, newUser.password);
    await page.getByRole("heading", { name: "Choose a password" }).waitFor();
    await page.getByLabel("New password", { exact: true }).fill("short");
    await page.getByText("At least 12 characters.").waitFor();
    await expectScreenQuality(page, "first-password");
  });
});
