/** Light or dark: the system's choice, unless the user has chosen one. */
export type Choice = 'system' | 'light' | 'dark';

const NAME = 'theme';
const system = matchMedia('(prefers-color-scheme: dark)');

function kept(): Choice {
  const text = localStorage.getItem(NAME);
  return text === 'light' || text === 'dark' ? text : 'system';
}

class Theme {
  choice = $state<Choice>(kept());
  systemIsDark = $state(system.matches);
  readonly isDark = $derived(this.choice === 'dark' || (this.choice === 'system' && this.systemIsDark));

  constructor() {
    system.addEventListener('change', (event) => {
      this.systemIsDark = event.matches;
      this.#show();
    });
    this.#show();
  }

  choose(choice: Choice) {
    this.choice = choice;
    if (choice === 'system') localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, choice);
    this.#show();
  }

  #show() {
    document.documentElement.dataset.theme = this.isDark ? 'dark' : 'light';
  }
}

export const theme = new Theme();
