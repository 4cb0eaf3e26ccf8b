import { call } from '../api/client';
import { session } from './session.svelte';
import { toasts } from './toasts.svelte';
import { texts } from '../texts/state';

/** A draft goes live. */
export async function publish(program: number) {
  const answer = await call('POST /api/advertiser/affiliate-programs/{program_id}/publish', { path: { program_id: program } });
  session.replace(answer.data);
  toasts.say(texts.theProgramIsLive);
}
