/** The workspace whose members and keys are shown. */
import { keepId, keptId } from './kept';
import { session } from './session.svelte';

const NAME = 'workspace';

class Chosen {
  #id = $state(keptId(NAME));

  /** The chosen one, that of the program at hand, or the first. */
  get id(): number | undefined {
    const ids = session.run.map(({ id }) => id);
    const wanted = [this.#id, session.program?.workspace_id].find((id) => id !== undefined && ids.includes(id));
    return wanted ?? ids[0];
  }

  set id(id: number | undefined) {
    this.#id = id;
    keepId(NAME, id);
  }

  /** Admins run one, too. */
  get isOwned(): boolean {
    return session.owned.some(({ id }) => id === this.id);
  }

  /** For queries and bodies. */
  get named(): { workspace_id?: number } {
    return this.id === undefined ? {} : { workspace_id: this.id };
  }
}

export const workspace = new Chosen();
