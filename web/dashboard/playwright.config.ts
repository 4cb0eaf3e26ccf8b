import { defineConfig } from '@playwright/test';

/**
 * Run by `cargo xtask test`, which starts a service for each worker and says where it is: `WORKER_0_BASE_URL` is the first
 * worker's `BASE_URL`. Walks that run side by side so do not meet.
 */
const ofWorker = `WORKER_${process.env.TEST_PARALLEL_INDEX ?? 0}_`;
for (const [name, value] of Object.entries(process.env)) {
  if (name.startsWith(ofWorker)) process.env[name.slice(ofWorker.length)] = value;
}
const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: process.env.TIMINGS ? 'tests/timings' : 'tests/walk',
  outputDir: '../../target/web/failed',
  snapshotPathTemplate: '{testDir}/email-pictures/{arg}{ext}',
  reporter: 'line',
  workers: Number(process.env.WORKERS ?? 1),
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
