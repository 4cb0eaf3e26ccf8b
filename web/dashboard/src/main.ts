import { mount } from 'svelte';
import App from './App.svelte';
import { followLinks } from './router/location.svelte';
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/layout.css';

const target = document.getElementById('app');
if (!target) throw new Error('the page has no place for the app');
followLinks();
mount(App, { target });
