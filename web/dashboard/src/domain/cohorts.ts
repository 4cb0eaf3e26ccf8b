/** Customers by the month of their first sale. Pure. */
import { money, count } from './money';

export const COHORT_MEASURES = [
  ['customers', 'Customers'],
  ['revenue', 'Net revenue'],
  ['commission', 'Net commission'],
] as const;
export type CohortMeasure = (typeof COHORT_MEASURES)[number][0];

export const cohortMeasure = (text: string | null): CohortMeasure =>
  COHORT_MEASURES.find(([measure]) => measure === text)?.[0] ?? 'customers';

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
      return measure === 'customers' && customers > 0 ? { ...cell, share: `${Math.round((value / customers) * 100)}%` } : cell;
    }),
  );
}

const MONTH = new Intl.DateTimeFormat('en', { timeZone: 'UTC', month: 'short', year: 'numeric' });

/** `2026-01` as `Jan 2026`. */
export const monthText = (month: string): string => MONTH.format(new Date(`${month}-01T00:00:00Z`));
