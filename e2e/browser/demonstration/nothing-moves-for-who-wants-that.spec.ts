import { asAdministrator as test, expect } from "../stage/people.ts";

/** Slower than this is no motion that anybody suffers from. */
const SLOW_MS = 4_000;

test("reduced motion disables fast animations", async ({ page }) => {
  await page.goto("/kit");
  await page.getByRole("button", { name: "Becomes busy" }).click();
  const quick = () =>
    page.evaluate((slow) => {
      const told = (moving: Animation) => Number(moving.effect?.getComputedTiming().duration ?? 0);
      return document.getAnimations().filter((moving) => told(moving) < slow).length;
    }, SLOW_MS);
  await page.getByRole("button", { name: "Primary" }).first().hover();
  expect(await quick(), "transitions and animations of buttons").toBe(0);
  await page.getByRole("tab", { name: "States, notices, code" }).click();
  await page.getByRole("heading", { name: "Skeleton" }).waitFor();
  expect(await quick(), "animations of what is to come").toBe(0);
});
