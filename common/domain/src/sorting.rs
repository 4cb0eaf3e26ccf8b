//! The sorting of a list: a column and a direction. Without sorting, each list has its default order.

use crate::text_enum;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sorting<Column> {
    pub by: Column,
    pub ascending: bool,
}

impl<Column> Sorting<Column> {
    /// The factor that makes a descending number column sort upwards: 1 or -1.
    pub const fn sign(&self) -> i32 {
        if self.ascending { 1 } else { -1 }
    }
}

text_enum! {
    pub enum ProgramColumn {
        Name = "name",
    }

    pub enum PartnerColumn {
        Name = "name",
        Clicks = "clicks",
        LastClicked = "last_clicked",
        /// In the program's currency.
        Owed = "owed",
    }

    pub enum LinkColumn {
        ShortCode = "short_code",
        Partner = "partner",
        Clicks = "clicks",
        LastClicked = "last_clicked",
    }

    /// Columns of the list of commissions. Amounts are grouped by currency.
    pub enum CommissionColumn {
        Partner = "partner",
        Amount = "amount",
        HoldUntil = "hold_until",
    }

    /// Columns of the list of payouts. Amounts are grouped by currency.
    pub enum PayoutColumn {
        Date = "date",
        /// In a partner's list: the amount that the partner received.
        Amount = "amount",
    }

    pub enum CustomerColumn {
        SignupDate = "signup_date",
        FirstPurchaseDate = "first_purchase_date",
        Sales = "sales",
        /// In the program's currency.
        NetRevenue = "net_revenue",
    }

    /// Columns of the list of flagged commissions. Amounts are grouped by currency.
    pub enum FlaggedColumn {
        /// The amount left for the partner.
        Payable = "payable",
        HoldUntil = "hold_until",
    }

    pub enum MemberColumn {
        Name = "name",
        Email = "email",
        CreatedAt = "created_at",
    }

    pub enum InvitationColumn {
        Email = "email",
        ExpiresAt = "expires_at",
    }

    pub enum KeyColumn {
        Name = "name",
        LastUsedAt = "last_used_at",
        ExpiresAt = "expires_at",
    }
}
