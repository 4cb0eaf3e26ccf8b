/** Customers by the month of their first sale. Pure. */
import { money, count } from './money';
import { texts } from '../texts/domain/cohorts';
import { locale } from '../texts/language';

const MEASURES = ['customers', 'revenue', 'commission'] as const;
export type CohortMeasure = (typeof MEASURES)[number];

/** Each with its name. */
export const cohortMeasures = () => MEASURES.map((measure) => [measure, texts.measures[measure]] as const);

export const cohortMeasure = (text: string | null): CohortMeasure =>
  MEASURES.find((measure) => measure === text) ?? 'customers';

interface Figures {
  customers: number;
  net_revenue_cents: number;
  net_commission_cents: number;
}

export interface Cohort {
  month: string;
  customers: number;
  months: readonly Figures[];
}

const valueOf = (figures: Figures, measure: CohortMeasure): number =>
  measure === 'customers' ? figures.customers : measure === 'revenue' ? figures.net_revenue_cents : figures.net_commission_cents;

/** A month of a cohort: its text, and how strongly it is coloured, from 0 to 1. */
export interface Cell {
  text: string;
  /** Of the cohort, who bought. */
  share?: string;
  strength: number;
}

/** The cells of each cohort, coloured by the largest of all. */
export function cohortCells(cohorts: readonly Cohort[], measure: CohortMeasure, currency: string): Cell[][] {
  const most = Math.max(0, ...cohorts.flatMap(({ months }) => months.map((figures) => valueOf(figures, measure))));
  return cohorts.map(({ customers, months }) =>
    months.map((figures) => {
      const value = valueOf(figures, measure);
      const largest = measure === 'customers' ? customers : most;
      const cell = {
        text: measure === 'customers' ? count(value) : money(value, currency),
        strength: largest > 0 ? Math.min(1, Math.max(0, value / largest)) : 0,
      };
      return measure === 'customers' && customers > 0 ? { ...cell, share: SHARE.format(value / customers) } : cell;
    }),
  );
}

const SHARE = new Intl.NumberFormat(locale, { style: 'percent' });
const MONTH = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', month: 'short', year: 'numeric' });

/** `2026-01` as `Jan 2026`. */
export const monthText = (month: string): string => MONTH.format(new Date(`${month}-01T00:00:00Z`));
