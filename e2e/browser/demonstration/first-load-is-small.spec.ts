import { SIGNED_OUT, expect, test } from "../stage/users.ts";
import { firstLoad } from "../stage/first-load.ts";

const MAX_BYTES = 900_000;

test.use({ storageState: SIGNED_OUT });

test("first load is small and compressed", async ({ page }) => {
  const files = await firstLoad(page);
  const all = files.reduce((sum, file) => sum + file.bytes, 0);
  const list = files.map(({ path, bytes, encoding }) => `${path}: ${bytes} bytes, ${encoding}`).join("\n");
  expect(all, list).toBeLessThan(MAX_BYTES);
  expect(all, list).toBeGreaterThan(50_000);
  for (const file of files.filter((file) => file.path.startsWith("/assets/"))) {
    expect(file.encoding, file.path).toBe("br");
    expect(file.caching, file.path).toContain("immutable");
  }
});
