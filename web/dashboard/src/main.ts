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

const target = document.getElementById('app');
if (!target) throw new Error('the page has no place for the app');
followLinks();
// Both at once, and before anything is drawn.
void session.begin();
if (place.match) void pages.load(place.match.name);
pages.expect();
// The document draws a frame of its own until the texts are there.
void textsLoaded().then(() => {
  target.replaceChildren();
  mount(App, { target });
});

