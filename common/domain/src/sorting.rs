//! How a list is to be sorted: by which column, and in which direction. Without it each list has its default order.

use crate::text_enum;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sorting<Column> {
    pub by: Column,
    pub ascending: bool,
}

impl<Column> Sorting<Column> {
    /// What a column of numbers is multiplied with, to be sorted upwards: 1 or -1.
    pub const fn sign(&self) -> i32 {
        if self.ascending { 1 } else { -1 }
    }
}

text_enum! {
    /// Of programs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ProgramColumn {
        Name = "name",
    }
}

text_enum! {
    /// Of a program's partners.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PartnerColumn {
        Name = "name",
        Clicks = "clicks",
        LastClicked = "last_clicked",
        /// In the program's currency.
        Owed = "owed",
    }
}

text_enum! {
    /// Of referral links.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum LinkColumn {
        ShortCode = "short_code",
        Partner = "partner",
        Clicks = "clicks",
        LastClicked = "last_clicked",
    }
}

text_enum! {
    /// Of commissions. Amounts of one currency are together.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CommissionColumn {
        Partner = "partner",
        Amount = "amount",
        HoldUntil = "hold_until",
    }
}

text_enum! {
    /// Of payouts. Amounts of one currency are together.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PayoutColumn {
        Date = "date",
        /// With a partner's part: what they received.
        Amount = "amount",
    }
}

text_enum! {
    /// Of a program's customers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CustomerColumn {
        SignupDate = "signup_date",
        FirstPurchaseDate = "first_purchase_date",
        Sales = "sales",
        /// In the program's currency.
        NetRevenue = "net_revenue",
    }
}

text_enum! {
    /// Of flagged commissions. Amounts of one currency are together.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum FlaggedColumn {
        /// What is left for the partner.
        Payable = "payable",
        HoldUntil = "hold_until",
    }
}

text_enum! {
    /// Of a workspace's members.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MemberColumn {
        Name = "name",
        Email = "email",
        CreatedAt = "created_at",
    }
}

text_enum! {
    /// Of a workspace's invitations.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum InvitationColumn {
        Email = "email",
        ExpiresAt = "expires_at",
    }
}

text_enum! {
    /// Of management keys.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum KeyColumn {
        Name = "name",
        LastUsedAt = "last_used_at",
        ExpiresAt = "expires_at",
    }
}
