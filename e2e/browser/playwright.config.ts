import { defineConfig } from "@playwright/test";

import { stage } from "./stage/stage.ts";
import { presentedKey } from "./stage/certificate.ts";

const key = await presentedKey(stage.url);
// Chromium resolves names below localhost to this machine, but the server can have another address.
const forwards = `MAP *.forwards.localhost ${new URL(stage.url).hostname}`;

export default defineConfig({
  outputDir: `${stage.results}/browser`,
  // The tests share one environment and change it: run them sequentially.
  workers: 1,
  fullyParallel: false,
  forbidOnly: true,
  // A flaky test is a failure.
  retries: 0,
  maxFailures: 0,
  timeout: 60_000,
  reporter: [["list"]],
  expect: {
    timeout: 20_000,
    toHaveScreenshot: {
      // Browser releases render some edges differently.
      maxDiffPixelRatio: 0.01,
      threshold: 0.2,
      caret: "initial",
    },
  },
  snapshotPathTemplate: "{testDir}/looks/{arg}{ext}",
  use: {
    baseURL: stage.url,
    ignoreHTTPSErrors: true,
    viewport: { width: 1280, height: 800 },
    deviceScaleFactor: 1,
    colorScheme: "light",
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "UTC",
    actionTimeout: 20_000,
    navigationTimeout: 30_000,
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: "/usr/bin/chromium",
      // The sandbox does not start as root, and the node of these tests requires root.
      chromiumSandbox: process.getuid?.() !== 0,
      args: [
        `--ignore-certificate-errors-spki-list=${key}`,
        `--host-resolver-rules=${forwards}`,
        "--font-render-hinting=none",
        "--disable-lcd-text",
      ],
      env: { ...process.env, FONTCONFIG_FILE: `${import.meta.dirname}/fonts.conf` } as Record<string, string>,
    },
  },
  projects: ["demonstration", "real-cluster", "object-actions", "bench", "pictures"].map((name) => ({ name, testDir: `./${name}` })),
});
