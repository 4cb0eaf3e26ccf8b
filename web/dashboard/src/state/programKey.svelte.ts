/** Program keys that were shown in this tab, for complete snippets. Kept in memory only. */
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
