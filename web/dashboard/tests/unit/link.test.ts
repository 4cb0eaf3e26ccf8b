import { expect, test } from 'vitest';
import { deepLink, isOfWebsite } from '../../src/domain/link';

test.each([
  ['shop.example', 'https://shop.example/?aff=ada'],
  ['https://shop.example/shoes?size=9#top', 'https://shop.example/shoes?size=9&aff=ada#top'],
  [' https://shop.example/?aff=bruno ', 'https://shop.example/?aff=ada'],
  ['http://shop.example:8080/a', 'http://shop.example:8080/a?aff=ada'],
  ['https://shop.example/?product/5', 'https://shop.example/?product/5&aff=ada'],
  ['https://shop.example/?flag&ids=1,2;3/4&x=%zz', 'https://shop.example/?flag&ids=1,2;3/4&x=%zz&aff=ada'],
  ['https://shop.example/?aff=bruno&affinity=9', 'https://shop.example/?affinity=9&aff=ada'],
  ['https://user:secret@shop.example/x', 'https://shop.example/x?aff=ada'],
])('a page of the shop becomes a link: %s', (page, link) => {
  expect(deepLink(page, 'ada')).toBe(link);
});

test.each(['', 'shoes', 'javascript:alert(1)', 'ftp://shop.example', 'https://', 'my shop.example'])('no website: %s', (text) => {
  expect(deepLink(text, 'ada')).toBeUndefined();
});

test.each([
  ['https://shop.example/a', true],
  ['https://de.shop.example/', true],
  ['https://shop.example.evil.example/', false],
  ['https://evilshop.example/', false],
])('an address of the website: %s', (address, is) => {
  expect([isOfWebsite(address, 'shop.example'), isOfWebsite(address, 'www.shop.example')]).toEqual([is, is]);
});
