/** The user's programs, of however many: the service searches them. */
import { call } from '../api/client';
import type { ProgramView } from '../api/operations';

const LONGEST_SEARCH = 120;

/** The first of those that a text finds. */
export async function findPrograms(text: string, most: number): Promise<ProgramView[]> {
  const searched = { search: text.slice(0, LONGEST_SEARCH), pageSize: most };
  return (await call('GET /api/advertiser/affiliate-programs', { query: searched })).data;
}

/** Those of a workspace, as far as they are not archived. */
export function ofWorkspace(programs: readonly ProgramView[], workspace: number | undefined): ProgramView[] {
  return programs.filter(({ workspace_id, status }) => workspace_id === workspace && status !== 'archived');
}
