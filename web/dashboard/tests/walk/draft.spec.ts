/** A new program says on its overview what it lacks, and goes live there; by keyboard alone. */
import { expect, test, type Page } from '@playwright/test';
import { OWNER, complaints, judge, photograph, prepare, program, settled, signIn, tooWide } from './stage';

/** Calls the API as whoever is signed in. */
async function api(page: Page, method: string, path: string, body?: object) {
  return page.evaluate(
    async ([method, path, body]) => {
      const headers = { Authorization: `Bearer ${sessionStorage.getItem('session')}`, 'Content-Type': 'application/json' };
      const answer = await fetch(`/api/advertiser/affiliate-programs${path}`, { method, headers, body: body ?? null });
      return (await answer.json()).data;
    },
    [method, path, body ? JSON.stringify(body) : null] as const,
  );
}

/** Programs that a walk has made: the other walks begin with the demo. */
const ids: number[] = [];

test.afterEach(async ({ page }) => {
  for (const id of ids.splice(0)) await api(page, 'DELETE', `/${id}`);
});

const panel = (page: Page) => page.getByRole('region', { name: 'This program is a draft' });

for (const viewport of [{ width: 1280, height: 860 }, { width: 390, height: 844 }]) {
  test(`a draft says what it lacks, and goes live, ${viewport.width} px`, async ({ page }) => {
    await page.setViewportSize(viewport);
    await prepare(page.context());
    const heard = complaints(page);
    await signIn(page, OWNER);
    await settled(page);
    const { id } = await api(page, 'POST', '', { name: `Draft ${viewport.width}`, currency: 'USD' });
    ids.push(id);
    await page.goto(`/app/programs/${id}`);
    await settled(page);
    await expect(panel(page).getByRole('status')).toHaveText('0 of 5 steps are done.');
    await judge(page, 'the overview of a draft');
    expect(await tooWide(page), 'the overview of a draft').toEqual([]);
    await photograph(page, `draft-${viewport.width}`, { fullPage: true });
    await panel(page).getByRole('link', { name: 'Website' }).focus();
    await page.keyboard.press('Enter');
    await expect(page).toHaveURL(`/app/programs/${id}/settings`);
    await settled(page);
    await page.getByLabel('Website').fill('shop.example');
    await page.keyboard.press('Enter');
    await expect(page.getByText('The settings have been saved.')).toBeVisible();
    await page.goto(`/app/programs/${id}`);
    await settled(page);
    await expect(panel(page).getByRole('status')).toHaveText('1 of 5 steps are done.');

    await panel(page).getByRole('button', { name: 'Go live' }).focus();
    await page.keyboard.press('Enter');
    const question = page.getByRole('dialog', { name: 'Go live now?' });
    await expect(question).toContainText('Still missing: commission, an approved partner, a test click, a test lead.');
    await question.getByRole('button', { name: 'Cancel' }).click();
    await expect(panel(page)).toBeVisible();
    await page.keyboard.press('Enter');
    await question.getByRole('button', { name: 'Go live' }).click();
    await expect(page.getByText('The program is live.')).toBeVisible();
    await expect(panel(page)).toHaveCount(0);
    await expect(page.getByRole('heading', { level: 1 })).toBeFocused();
    expect((await api(page, 'GET', `/${id}`)).status).toBe('live');
    expect(heard).toEqual([]);
  });
}

test('a live program says nothing of the kind', async ({ page }) => {
  await signIn(page, OWNER);
  await page.goto(`/app/programs/${program()}`);
  await settled(page);
  await expect(panel(page)).toHaveCount(0);
});
