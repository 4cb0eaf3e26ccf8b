import { expect, test } from 'vitest';
import { deepLink } from '../../src/domain/link';

test.each([
  ['shop.example', 'https://shop.example/?aff=ada'],
  ['https://shop.example/shoes?size=9#top', 'https://shop.example/shoes?size=9&aff=ada#top'],
  [' https://shop.example/?aff=bruno ', 'https://shop.example/?aff=ada'],
  ['http://shop.example:8080/a', 'http://shop.example:8080/a?aff=ada'],
])('a page of the shop becomes a link: %s', (page, link) => {
  expect(deepLink(page, 'ada')).toBe(link);
});

test.each(['', 'shoes', 'javascript:alert(1)', 'ftp://shop.example', 'https://', 'my shop.example'])('no website: %s', (text) => {
  expect(deepLink(text, 'ada')).toBeUndefined();
});
