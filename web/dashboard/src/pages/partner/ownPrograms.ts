/** The programs of the partner who is signed in. Made while a component is. */
import { call } from '../../api/client';
import type { PartnerProgramView } from '../../api/operations';
import { Resource } from '../../state/resource.svelte';

export type OwnPrograms = Resource<PartnerProgramView[]>;

export const ownPrograms = (): OwnPrograms =>
  new Resource(async () => (await call('GET /api/partner/programs', { query: { pageSize: 100 } })).data);
