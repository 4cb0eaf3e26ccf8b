/** What a program that is still a draft needs before partners can earn. Pure. */
import type { RouteName } from '../router/routes';
import { texts } from '../texts/domain/draft';

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
    { text: texts.website, why: texts.whyWebsite, done: Boolean(domain), at: 'settings' },
    { text: texts.commission, why: texts.whyCommission, done: Boolean(commission_type), at: 'settings' },
  ];
  if (!tracking) return steps;
  const { pageview, referrals } = tracking.stepStatuses;
  return [
    ...steps,
    { text: texts.approvedPartner, why: texts.whyApprovedPartner, done: tracking.hasPartners, at: 'partners' },
    { text: texts.testClick, why: texts.whyTestClick, done: pageview === 'complete', at: 'integration' },
    { text: texts.testLead, why: texts.whyTestLead, done: referrals === 'complete', at: 'integration' },
  ];
}
