import { mount } from 'svelte';
import { answered } from './api/ahead';
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

/** Milliseconds. */
const A_MOMENT = 300;

followLinks();
// A style sheet that did not come is asked for again: a page without it cannot be read.
const whenLoaded = () => document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]').forEach((link) => link.sheet ?? link.replaceWith(link.cloneNode()));
if (document.readyState === 'complete') whenLoaded();
else addEventListener('load', whenLoaded, { once: true });
pages.expect();
// Scripts that a browser has kept are sooner than the document.
const documentRead = new Promise<void>((resolve) => {
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', () => resolve(), { once: true });
  else resolve();
});
// The document draws a frame of its own until then. A page that could be drawn in a moment is drawn as a whole: on a slow machine each draft of it
// takes a tenth of a second.
const page = place.match && pages.load(place.match.name);
const soon = Promise.race([Promise.all([page, answered()]), new Promise((resolve) => setTimeout(resolve, A_MOMENT))]);
void Promise.all([session.begin(), textsLoaded(), documentRead, soon]).then(() => {
  const target = document.getElementById('app');
  if (!target) throw new Error('the page has no place for the app');
  target.replaceChildren();
  mount(App, { target });
});

