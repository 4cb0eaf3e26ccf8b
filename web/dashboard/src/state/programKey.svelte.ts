/** Program keys that were shown in this tab: for snippets that work as they are. Kept nowhere, gone with the tab. */
class Given {
  #keys = $state<Record<number, string>>({});

  remember(program: number, key: string) {
    this.#keys[program] = key;
  }

  of(program: number): string | undefined {
    return this.#keys[program];
  }
}

export const given = new Given();
