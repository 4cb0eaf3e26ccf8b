import { expect, test } from 'vitest';
import { operations } from '../../scripts/operations';

test('the types of the API are those of its description', async () => {
  await expect(operations()).toMatchFileSnapshot('../../src/api/operations.ts');
});
