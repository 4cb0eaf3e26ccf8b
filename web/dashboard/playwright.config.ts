import { defineConfig } from '@playwright/test';

/** Run by `cargo xtask test`, which starts the service and says where it is. */
const pictures = process.env.PICTURES ?? '../../target/web';
const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: process.env.TIMINGS ? 'tests/timings' : 'tests/walk',
  outputDir: `${pictures}/failed`,
  snapshotPathTemplate: '{testDir}/email-pictures/{arg}{ext}',
  reporter: 'line',
  workers: 1,
  timeout: 240_000,
  expect: { timeout: 15_000 },
  use: {
    baseURL: process.env.BASE_URL ?? 'http://127.0.0.1:8080',
    viewport: { width: 1280, height: 860 },
    locale: 'en-US',
    timezoneId: 'Pacific/Auckland',
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      // Chromium's sandbox does not start for root, which containers run tests as.
      args: isRoot ? ['--no-sandbox'] : [],
    },
  },
});
