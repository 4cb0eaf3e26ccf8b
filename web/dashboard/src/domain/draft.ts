/** What a program that is still a draft needs before partners can earn. Pure. */
import type { RouteName } from '../router/routes';

export interface DraftStep {
  text: string;
  why: string;
  done: boolean;
  /** The page on which it is done. */
  at: RouteName;
}

interface Settings {
  domain?: string | null;
  commission_type?: string | null;
}

/** How far tracking is set up; not everyone may read it. */
interface Tracking {
  stepStatuses: { pageview: string; referrals: string };
  hasPartners: boolean;
}

export function draftSteps({ domain, commission_type }: Settings, tracking: Tracking | undefined): DraftStep[] {
  const steps: DraftStep[] = [
    { text: 'Website', why: 'Referral links lead there.', done: Boolean(domain), at: 'settings' },
    { text: 'Commission', why: 'Without one, partners earn nothing.', done: Boolean(commission_type), at: 'settings' },
  ];
  if (!tracking) return steps;
  const { pageview, referrals } = tracking.stepStatuses;
  return [
    ...steps,
    { text: 'An approved partner', why: 'Only approved partners earn.', done: tracking.hasPartners, at: 'partners' },
    { text: 'A test click', why: 'It shows that the tracker is installed.', done: pageview === 'complete', at: 'integration' },
    { text: 'A test lead', why: 'It shows that signups are reported.', done: referrals === 'complete', at: 'integration' },
  ];
}
