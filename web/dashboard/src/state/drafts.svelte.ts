/** Forms whose content has been changed and not yet sent. The user is asked before it is thrown away. */
import { getContext, setContext } from 'svelte';
import { onLeave } from '../router/location.svelte';
import { questions } from './questions.svelte';
import { texts } from '../texts/state';

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export class Draft {
  readonly #form: HTMLFormElement;
  readonly #before = new Map<Field, string>();

  constructor(form: HTMLFormElement) {
    this.#form = form;
    this.keep();
    // Fields that appear later are compared with what they held when they were first entered.
    form.addEventListener('focusin', ({ target }) => this.#record(target as Field));
  }

  /** What the fields hold now is no change. */
  keep() {
    this.#before.clear();
    for (const field of this.#form.querySelectorAll<Field>('input, select, textarea')) this.#record(field);
  }

  get isChanged(): boolean {
    return [...this.#before].some(([field, before]) => field.isConnected && content(field) !== before);
  }

  isIn(box: Element): boolean {
    return box.contains(this.#form);
  }

  #record(field: Field) {
    if (isDrafted(field) && !this.#before.has(field)) this.#before.set(field, content(field));
  }
}

/** Passwords and codes are not: browsers fill them in by themselves. */
function isDrafted(field: Field): boolean {
  return 'value' in field && field.type !== 'password' && field.autocomplete !== 'one-time-code';
}

function content(field: Field): string {
  const isMark = field instanceof HTMLInputElement && ['checkbox', 'radio'].includes(field.type);
  return isMark ? String(field.checked) : field.value;
}

const drafts = new Set<Draft>();
const DRAFTED = Symbol('drafted');
const LEAVE = Symbol('leave');

/** Called by the frame: forms before the sign-in are no drafts. */
export function draftForms() {
  setContext(DRAFTED, true);
}

/** The draft of a form for as long as the form is there; `undefined` where forms are none. Called while a component is made. */
export function drafted(): ((form: HTMLFormElement) => { draft: Draft; end: () => void }) | undefined {
  if (!getContext<boolean>(DRAFTED)) return undefined;
  return (form) => {
    const draft = new Draft(form);
    drafts.add(draft);
    return { draft, end: () => drafts.delete(draft) };
  };
}

/** How a form's Cancel closes what is around it. */
type Leave = (close: () => void) => void;

export function leaveBy(leave: Leave) {
  setContext(LEAVE, leave);
}

export function leaving(): Leave | undefined {
  return getContext<Leave>(LEAVE);
}

export function isChangedIn(box: Element): boolean {
  return [...drafts].some((draft) => draft.isIn(box) && draft.isChanged);
}

/** Whether what was typed may be thrown away. */
export async function mayThrowAway(): Promise<boolean> {
  const yes = await questions.ask({
    title: texts.discardYourChanges,
    text: texts.whatYouHaveEntered,
    yes: texts.discard,
    no: texts.keepEditing,
    isBad: true,
  });
  return yes;
}

export const isAnyChanged = () => [...drafts].some((draft) => draft.isChanged);

onLeave(() => {
  if (!isAnyChanged()) return true;
  return mayThrowAway().then((yes) => {
    if (yes) for (const draft of drafts) draft.keep();
    return yes;
  });
});

addEventListener('beforeunload', (event) => {
  if (isAnyChanged()) event.preventDefault();
});
