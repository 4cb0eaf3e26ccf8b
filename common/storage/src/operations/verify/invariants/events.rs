//! Counters and days, customers, what processors report, attribution.

use super::{Invariant, days};

pub(super) const EVENTS: &[Invariant] = invariants! {
    "a link's clicks and last_clicked agree with its real click events that count" {
        // Checks below compare the days with the events.
        Links => "SELECT format('link %s: %s clicks until %s, its days have %s, events say until %s', l.id, l.clicks, l.last_clicked,
                          d.clicks, e.last_clicked)
            FROM {rows} l
            CROSS JOIN LATERAL (SELECT coalesce(sum(clicks), 0) AS clicks
                                FROM (SELECT clicks FROM link_days WHERE referral_link_id = l.id
                                      UNION ALL SELECT clicks FROM rollup_deltas WHERE referral_link_id = l.id) k) d
            CROSS JOIN LATERAL (SELECT greatest((SELECT max(click_timestamp) FROM click_events
                                                 WHERE referral_link_id = l.id AND counted AND NOT is_test),
                                                (SELECT max(last_clicked) FROM retired_clicks
                                                 WHERE referral_link_id = l.id)) AS last_clicked) e
            WHERE l.clicks <> d.clicks OR l.last_clicked IS DISTINCT FROM e.last_clicked",
    }
    "a membership's clicks agree with those of its links" {
        One => "SELECT format('partner-program %s: %s clicks, its links have %s', p.id, p.clicks, coalesce(l.clicks, 0))
            FROM partner_programs p
            LEFT JOIN (SELECT partner_program_id, sum(clicks) AS clicks FROM referral_links GROUP BY 1) l
                 ON l.partner_program_id = p.id
            WHERE p.clicks <> coalesce(l.clicks, 0)",
    }
    "a program's days are what its events add up to" {
        Days => days::PROGRAMS,
    }
    "a link's days are what its events add up to" {
        Days => days::LINKS,
    }
    "what a program gave back on a day is what its refunds add up to" {
        Days => days::REFUNDS_OF_PROGRAMS,
    }
    "what was given back under a link on a day is what its refunds add up to" {
        Days => days::REFUNDS_OF_LINKS,
    }
    "a day has no more clicks by country, device or referrer than in all" {
        Days => days::ORIGINS,
    }
    "a customer's months are what their sales add up to" {
        Customers => days::CUSTOMER_MONTHS,
    }
    "a program's cohorts are what its customers' months add up to" {
        Whole => days::COHORTS,
    }
    "a customer's status agrees with its dates and events" {
        Customers => "SELECT format('customer %s is %s: signup %s, first purchase %s', id, status, signup_date, first_purchase_date)
            FROM {rows} c
            WHERE (status = 'conversion') <> (first_purchase_date IS NOT NULL)
               OR (status = 'lead' AND signup_date IS NULL) OR (status = 'click' AND signup_date IS NOT NULL)
            UNION ALL
            SELECT format('customer %s bought on %s, its first sale is of %s', c.id, c.first_purchase_date, s.first_sale)
            FROM {rows} c
            CROSS JOIN LATERAL (SELECT min(sale_date) AS first_sale FROM sale_events
                                WHERE customer_id = c.id AND NOT is_test AND duplicate_of IS NULL) s
            WHERE c.first_purchase_date IS DISTINCT FROM s.first_sale",
    }
    "no claim is open, and no outbox row unsent, for over a minute" {
        Moment => "SELECT format('claim %s open since %s', transaction_id, claimed_at) FROM transaction_claims
            WHERE state = 'open' AND claimed_at < now() - interval '1 minute'
            UNION ALL SELECT format('outbox row %s waits since %s', id, created_at) FROM outbox
            WHERE created_at < now() - interval '1 minute'
            UNION ALL SELECT format('refund %s parked since %s for %s', event_id, parked_at, transaction_id)
            FROM parked_refunds WHERE parked_at < now() - interval '1 minute'",
    }
    "a payment is one sale, under however many names" {
        One => "SELECT format('payment %s of program %s is sales %s', payment, program_id, string_agg(sale_id::text, ', '))
            FROM (SELECT DISTINCT r.program_id, r.payment, c.sale_id
                  FROM processor_refs r JOIN transaction_claims c ON c.transaction_id = r.reference AND c.program_id = r.program_id
                  WHERE c.state = 'recorded') d
            -- Two names of one payment are joined a moment before its later sale is undone.
            WHERE NOT EXISTS (SELECT 1 FROM processor_events e
                              WHERE e.program_id = d.program_id AND e.payment_pending AND e.state = 'open')
            GROUP BY program_id, payment HAVING count(*) > 1",
    }
    "a duplicate is wholly reversed, and its original is an earlier sale of its program" {
        Sales => "SELECT format('sale %s of %s is a duplicate of %s: %s refunded', d.id, d.amount_cents, d.duplicate_of,
                          greatest(d.api_refunded_cents, d.processor_refunded_cents))
            FROM {rows} d LEFT JOIN sale_events s ON s.id = d.duplicate_of
            WHERE d.duplicate_of IS NOT NULL
              AND (greatest(d.api_refunded_cents, d.processor_refunded_cents) < d.amount_cents
                   OR s.duplicate_of IS NOT NULL OR s.program_id IS DISTINCT FROM d.program_id OR d.duplicate_of >= d.id)",
    }
    "what a processor took back of a sale is counted on it, once" {
        Sales => "SELECT format('sale %s of %s: %s refunded by processor, %s by API, its reversals say %s', s.id, s.amount_cents,
                          s.processor_refunded_cents, s.api_refunded_cents, coalesce(t.cents, 0))
            FROM {rows} s
            CROSS JOIN LATERAL (SELECT sum(cents) AS cents
                                FROM (SELECT max(amount_cents) AS cents FROM processor_reversals
                                      WHERE sale_id = s.id GROUP BY kind, source) k) t
            -- What is wholly refunded already is not refunded again.
            WHERE s.duplicate_of IS NULL AND s.processor_refunded_cents <> least(s.amount_cents, coalesce(t.cents, 0))
              AND NOT (s.api_refunded_cents = s.amount_cents AND s.processor_refunded_cents < coalesce(t.cents, 0))
            UNION ALL
            SELECT format('reversal %s is counted on sale %s, which is a duplicate', v.event_id, v.sale_id)
            FROM processor_reversals v JOIN {rows} s ON s.id = v.sale_id WHERE s.duplicate_of IS NOT NULL",
    }
    "no processor event is open for over a minute past its turn" {
        Moment => "SELECT format('event %s (%s), open since %s', event_id, kind, received_at) FROM processor_events
            WHERE state = 'open' AND (relay_after IS NULL OR relay_after < now() - interval '1 minute')",
    }
    "click_ids are unique, and no event is without its customer" {
        Whole => "SELECT format('click_id %s stands %s times', click_id, count(*)) FROM customers GROUP BY click_id HAVING count(*) > 1
            UNION ALL
            SELECT format('click event %s: no customer %s', e.id, e.customer_id)
            FROM click_events e LEFT JOIN customers c ON c.id = e.customer_id WHERE NOT e.is_test AND c.id IS NULL
            UNION ALL
            SELECT format('lead event %s: no customer %s', e.id, e.customer_id)
            FROM lead_events e LEFT JOIN customers c ON c.id = e.customer_id WHERE NOT e.is_test AND c.id IS NULL",
    }
    "texts that clicks share are stored" {
        Whole => "SELECT format('click event %s: no text %s', e.id, t.id)
            FROM click_events e CROSS JOIN LATERAL (VALUES (e.user_agent_id), (e.page_title_id)) AS t (id)
            LEFT JOIN shared_texts s ON s.id = t.id WHERE t.id IS NOT NULL AND s.id IS NULL",
    }
    "no commission for a link first clicked after the payment" {
        Whole => "SELECT format('commission %s of a sale of %s: link %s was first clicked at %s', c.id, s.sale_date, c.referral_link_id, k.at)
            FROM commissions c JOIN sale_events s ON s.id = c.sale_id JOIN customers u ON u.id = s.customer_id
            JOIN (SELECT customer_id, referral_link_id, min(click_timestamp) AS at FROM click_events
                  WHERE NOT is_test GROUP BY 1, 2) k
                 ON k.customer_id = s.customer_id AND k.referral_link_id = c.referral_link_id
            WHERE c.superseded_at IS NULL
              -- Of others the clicks that count may have been dropped with their month.
              AND u.first_click_at >= (SELECT min(click_timestamp) FROM click_events)
              AND k.at > s.sale_date AND k.at > u.first_click_at
              -- A renewal of another's subscription is credited as that one's first payment was.
              AND NOT (s.is_recurring AND EXISTS (SELECT FROM subscriptions b
                                                  WHERE b.program_id = s.program_id AND b.subscription_id = s.subscription_id
                                                    AND b.customer_id <> s.customer_id))",
    }
    "a one-time commission is for the customer's first payment" {
        Commissions => "SELECT format('commission %s is for sale %s of %s, the first payment was on %s', c.id, s.id, s.sale_date, f.at)
            FROM {rows} c JOIN sale_events s ON s.id = c.sale_id
            CROSS JOIN LATERAL (SELECT min(sale_date) AS at FROM sale_events
                                WHERE customer_id = s.customer_id AND NOT is_test AND duplicate_of IS NULL) f
            WHERE c.superseded_at IS NULL AND c.commission_type = 'cps_one_time'
              AND s.duplicate_of IS NULL AND s.sale_date > f.at",
    }
    "a recurring commission is within its months of the first payment" {
        Commissions => "SELECT format('commission %s is for a payment of %s, %s months are counted from %s', c.id, s.sale_date,
                          c.default_duration_months, f.at)
            FROM {rows} c JOIN sale_events s ON s.id = c.sale_id
            CROSS JOIN LATERAL (SELECT min(sale_date) AS at FROM sale_events
                                WHERE customer_id = s.customer_id AND NOT is_test AND duplicate_of IS NULL
                                  AND (s.subscription_id IS NULL OR subscription_id = s.subscription_id)) f
            WHERE c.superseded_at IS NULL AND c.commission_type = 'cps_recurring'
              AND s.duplicate_of IS NULL
              AND s.sale_date > f.at + make_interval(months => c.default_duration_months)",
    }
    "archived programs have no later sales" {
        // The minute covers clock differences, and sales that were in process when the program was archived.
        Sales => "SELECT format('sale %s of %s: program %s was archived on %s', s.id, s.sale_date, p.id, p.archived_at)
            FROM {rows} s JOIN programs p ON p.id = s.program_id
            WHERE NOT s.is_test AND s.sale_date > p.archived_at + interval '1 minute'",
    }
    "no sale outside its attribution window" {
        Sales => "SELECT format('sale %s: %s after the first click', s.id, s.sale_date - a.first_click_at)
            FROM {rows} s JOIN customers c ON c.id = s.customer_id
            JOIN programs p ON p.id = s.program_id
            LEFT JOIN subscriptions u ON u.program_id = s.program_id AND u.subscription_id = s.subscription_id AND s.is_recurring
            CROSS JOIN LATERAL (SELECT least(u.first_click_at, c.first_click_at) AS first_click_at) a
            WHERE s.sale_date - coalesce(u.first_click_at, c.first_click_at) > make_interval(days => p.attribution_window_days)
              AND NOT s.is_test AND s.sale_date > p.updated_at",
    }
    "what waits to be delivered is an event of its program" {
        Moment => "SELECT format('delivery %s to endpoint %s: no event %s at position %s', q.id, q.endpoint_id, q.event_id, q.position)
            FROM webhook_queue q
            WHERE NOT EXISTS (SELECT FROM outbound_events e
                              WHERE e.program_id = q.program_id AND e.position = q.position AND e.created_at = q.event_created_at
                                AND e.event_id = q.event_id)",
    }
};
