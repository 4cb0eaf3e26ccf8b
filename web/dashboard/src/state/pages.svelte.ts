/** The pages' code, which is loaded page by page. */
import { ApiError } from '../api/client';
import { PAGES, type Page } from '../pages';
import { match, type RouteName } from '../router/routes';
import { textsLoaded } from '../texts/catalogue';
import { texts } from '../texts/state';

class Pages {
  #loaded = $state.raw<Partial<Record<RouteName, Page>>>({});
  /** Its code could not be loaded: the connection broke, or a newer version has replaced it. */
  failed = $state<RouteName>();
  error = $state.raw<unknown>();

  /** The page's component, once it is loaded. */
  of(name: RouteName): Page | undefined {
    return this.#loaded[name];
  }

  async load(name: RouteName) {
    const load = PAGES[name];
    if (!load || this.#loaded[name]) return;
    try {
      const { default: page } = await load();
      await textsLoaded();
      this.#loaded = { ...this.#loaded, [name]: page };
      this.failed = undefined;
    } catch {
      this.error = new ApiError(0, texts.pageNotLoaded);
      this.failed = name;
    }
  }

  /** Loads a page as soon as somebody points at a link to it. */
  expect() {
    for (const kind of ['pointerover', 'focusin']) {
      document.addEventListener(kind, ({ target }) => {
        const link = (target as Element | null)?.closest?.('a');
        const found = link?.origin === location.origin ? match(link.pathname) : undefined;
        if (found) void this.load(found.name);
      });
    }
  }
}

export const pages = new Pages();
