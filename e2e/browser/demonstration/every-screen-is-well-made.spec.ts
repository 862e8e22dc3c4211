import type { Page } from "@playwright/test";

import { NOBODY, asAdministrator, asVisitor, test } from "../stage/people.ts";
import { reading } from "../stage/reading.ts";
import { expect, signIn } from "../stage/test.ts";
import { expectWellMade } from "./check.ts";
import { SCREENS, SCREENS_WITHOUT_RIGHTS, type Screen } from "./screens.ts";

type Asked = typeof asAdministrator;

/** Answers as an API server would. */
async function answer(page: Page, { to, code, message }: NonNullable<Screen["answers"]>): Promise<void> {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code, message };
  await page.route(to, (route) => route.fulfill({ status: code, json: status }));
}

/** Replaces the shared address in the server's answer. */
async function shareAddress(page: Page, sharedAddress: Screen["sharedAddress"]): Promise<void> {
  await page.route("**/v1/version", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), sharedAddress } });
  });
}

function check(asked: Asked, screen: Screen): void {
  asked(`${screen.name} reads well, is accessible in each theme, and fits a telephone`, async ({ page }) => {
    if (screen.answers !== undefined) await answer(page, screen.answers);
    if (screen.sharedAddress !== undefined) await shareAddress(page, screen.sharedAddress);
    await page.goto(screen.path);
    await screen.then?.(page);
    await screen.ready(page);
    await expectWellMade(page, screen.name, screen.steady ?? true);
  });
}

for (const screen of SCREENS) check(asAdministrator, screen);
for (const screen of SCREENS_WITHOUT_RIGHTS) check(asVisitor, screen);

asAdministrator("the frame around the screens names every way to go", async ({ page }) => {
  await page.goto("/about");
  await page.getByText("Agent protocols").waitFor();
  expect(await reading(page.getByRole("banner"))).toMatchSnapshot("the-frame.txt");
});

test.describe("before the door", () => {
  test.use({ storageState: NOBODY });

  test("sign-in is readable, accessible in each theme, and fits a phone", async ({ page }) => {
    await page.goto("/about");
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await expectWellMade(page, "sign-in");
  });

  test("sign-in with providers is readable, accessible in each theme, and fits a phone", async ({ page }) => {
    const items = [
      { name: "corp", displayName: "Corporate account", way: "Redirect" },
      { name: "directory", displayName: "Directory", way: "Password" },
    ];
    await page.route("**/v1/providers", (route) => route.fulfill({ json: { items } }));
    await page.goto("/about");
    await page.getByRole("button", { name: "Sign in with Directory" }).click();
    await page.getByText("Use your user name and password of Directory.").waitFor();
    await expect(page.getByLabel("User name", { exact: true })).toBeFocused();
    await page.getByRole("button", { name: "Sign in as a local user" }).waitFor();
    await expectWellMade(page, "sign-in-with-providers");
  });

  test("rejected sign-in shows an error", async ({ page }) => {
    await page.goto("/");
    await signIn(page, "nobody-at-all", "a guess of mine");
    await page.locator(".banner.error").waitFor();
    await expectWellMade(page, "sign-in-refused");
  });

  test("first password must be changed first", async ({ page, newcomer }) => {
    await page.goto("/import");
    await signIn(page, newcomer.name, newcomer.password);
    await page.getByRole("heading", { name: "Choose a password" }).waitFor();
    await page.getByLabel("New password", { exact: true }).fill("short");
    await page.getByText("At least 12 characters.").waitFor();
    await expectWellMade(page, "first-password");
  });
});
