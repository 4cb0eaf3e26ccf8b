//! A tenant's rows that no call makes.

use domain::ids::{ProgramId, UserId};
use serde_json::json;
use storage::operations::audit_log::{self, AuditActor, NewAuditEntry};

use super::Making;

impl Making<'_> {
    /// Resources that exist here as rows only: no call uses them.
    pub async fn rows(&mut self, program_id: i64) {
        let (marker, workspace_id) = (self.marker.clone(), self.workspace_id);
        let payout = format!(
            "INSERT INTO payouts (event_id, program_id, currency, amount_cents, commission_count, reference, created_at)
             VALUES (gen_random_uuid(), {program_id}, 'USD', 100, 1, '{marker} payout', now()) RETURNING id"
        );
        let invitation = format!(
            "INSERT INTO invitations (token_hash, workspace_id, email, role, expires_at, invited_by)
             VALUES (sha256('{marker}'), {workspace_id}, 'invited@{marker}.example', 'admin', now() + interval '1 day',
                 (SELECT min(user_id) FROM workspace_members WHERE workspace_id = {workspace_id} AND role = 'owner'))
             RETURNING id"
        );
        self.put_id("payout_id", &payout).await;
        self.put_id("invitation_id", &invitation).await;
        // The only commission is paid: a payout's export shows its commissions.
        let statement = format!(
            "UPDATE commissions SET status = 'paid', approved_at = now(), paid_at = now(), payout_id = {}
                 WHERE program_id = {program_id};
             INSERT INTO ledger_entries (entry_group, kind, program_id, partner_program_id, partner_id,
                 commission_id, sale_id, currency, amount_cents, requested_cents)
                 SELECT p.event_id, 'payout', c.program_id, c.partner_program_id, c.partner_id, c.id,
                        c.sale_id, c.currency, -p.amount_cents, p.amount_cents
                 FROM payouts p JOIN commissions c ON c.payout_id = p.id WHERE p.program_id = {program_id}",
            self.resources["payout_id"]
        );
        self.stack.execute(&statement).await;
        let statement = format!(
            "INSERT INTO processor_connections (program_id, account_id, status)
                 VALUES ({program_id}, 'acct_{marker}', 'connected');
             INSERT INTO processor_customers (program_id, processor_customer_id, customer_key)
                 VALUES ({program_id}, 'cus_{marker}', '{marker}');
             INSERT INTO processor_events (event_id, program_id, processor_event_id, kind, occurred_at, received_at, state,
                 reason, payload, noticed_at)
                 VALUES (gen_random_uuid(), {program_id}, 'evt_{marker}', 'invoice.paid', now(), now(), 'stuck', '{marker}',
                         '{{}}', now());
             INSERT INTO notifications (event_id, program_id, recipient, partner_id, kind, message, details)
                 SELECT gen_random_uuid(), {program_id}, recipient, partner_id, 'commission_reversed',
                        '{marker} notice', jsonb_build_object('reason', '{marker}')
                 FROM (VALUES ('advertiser', NULL), ('partner', {})) AS told (recipient, partner_id)",
            self.resources["partner_id"]
        );
        self.stack.execute(&statement).await;
    }

    /// An endpoint with a delivery that is finished.
    pub async fn webhook_endpoint(&mut self, program_id: i64) {
        let marker = self.marker.clone();
        let endpoint = format!(
            "INSERT INTO webhook_endpoints (program_id, url, description, event_types, secret_sealed, created_at)
             VALUES ({program_id}, 'https://hooks.{marker}.example/', '{marker}', '{{sale.recorded}}', '', now()) RETURNING id"
        );
        let endpoint_id = self.put_id("webhook_endpoint_id", &endpoint).await;
        let delivery_id = endpoint_id + 1;
        self.put("webhook_delivery_id", delivery_id);
        let statement = format!(
            "WITH event AS (
                 INSERT INTO outbound_events (event_id, program_id, event_type, body, occurred_at, position)
                 VALUES (gen_random_uuid(), {program_id}, 'sale.recorded', '{{}}', now(), nextval('outbound_event_positions'))
                 RETURNING *
             )
             INSERT INTO webhook_deliveries (id, endpoint_id, program_id, event_id, event_type, event_created_at, position,
                 is_replay, created_at, attempts, status, answer, state, finished_at)
             SELECT {delivery_id}, {endpoint_id}, program_id, event_id, event_type, created_at, position, false, now(), 1, 200,
                 '{marker}', 'delivered', now()
             FROM event"
        );
        self.stack.execute(&statement).await;
    }

    pub async fn audited(&self, owner: UserId, program_id: i64) {
        let entry = NewAuditEntry {
            created_at: self.now,
            workspace_id: self.workspace_id,
            program_id: Some(ProgramId::new(program_id)),
            actor: AuditActor::User(owner),
            action: "program.updated",
            subject_id: Some(program_id),
            details: json!({ "name": { "before": self.marker, "after": self.marker } }),
            address: None,
            request_id: Some(&self.marker),
        };
        let mut connection = self.stack.pool().acquire().await.unwrap();
        audit_log::append(&mut connection, &entry).await.unwrap();
    }
}
