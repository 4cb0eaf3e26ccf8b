import { mount } from 'svelte';
import App from './App.svelte';
import { followLinks, place } from './router/location.svelte';
import { pages } from './state/pages.svelte';
import { session } from './state/session.svelte';
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/cards.css';
import './styles/layout.css';
import { textsLoaded } from './texts/catalogue';

followLinks();
// A style sheet that did not come is asked for again: a page without it cannot be read.
const whenLoaded = () => document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]').forEach((link) => link.sheet ?? link.replaceWith(link.cloneNode()));
if (document.readyState === 'complete') whenLoaded();
else addEventListener('load', whenLoaded, { once: true });
// Both at once, and before anything is drawn.
void session.begin();
if (place.match) void pages.load(place.match.name);
pages.expect();
// The document draws a frame of its own until the texts are there. Scripts that a browser has kept are sooner than the document.
const documentRead = new Promise<void>((resolve) => {
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', () => resolve(), { once: true });
  else resolve();
});
void Promise.all([textsLoaded(), documentRead]).then(() => {
  const target = document.getElementById('app');
  if (!target) throw new Error('the page has no place for the app');
  target.replaceChildren();
  mount(App, { target });
});

