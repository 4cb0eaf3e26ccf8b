/** Confirmation of irreversible actions. */
export interface Question {
  title: string;
  text: string;
  yes: string;
  /** `Cancel`, unless something says it better. */
  no?: string;
  isBad?: boolean;
}

class Questions {
  current = $state<Question>();
  #answered: (yes: boolean) => void = () => {};

  ask(question: Question): Promise<boolean> {
    this.#answered(false);
    this.current = question;
    return new Promise((resolve) => (this.#answered = resolve));
  }

  answer(yes: boolean) {
    this.current = undefined;
    this.#answered(yes);
  }
}

export const questions = new Questions();
