import { asAdministrator as test, expect } from "../stage/users.ts";

/** Animations with at least this duration do not count as motion. */
const SLOW_MS = 4_000;

test("reduced motion disables fast animations", async ({ page }) => {
  await page.goto("/kit");
  await page.getByRole("button", { name: "Becomes busy" }).click();
  const fastAnimations = () =>
    page.evaluate((slow) => {
      const duration = (animation: Animation) => Number(animation.effect?.getComputedTiming().duration ?? 0);
      return document.getAnimations().filter((animation) => duration(animation) < slow).length;
    }, SLOW_MS);
  await page.getByRole("button", { name: "Primary" }).first().hover();
  expect(await fastAnimations(), "number of fast animations of buttons").toBe(0);
  await page.getByRole("tab", { name: "States, notices, code" }).click();
  await page.getByRole("heading", { name: "Skeleton" }).waitFor();
  expect(await fastAnimations(), "number of fast animations of skeletons").toBe(0);
});
