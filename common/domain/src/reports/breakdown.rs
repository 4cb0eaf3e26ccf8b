//! How a range of days is broken down.

crate::text_enum! {
    /// What the figures are divided by.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Dimension {
        Partner = "partner",
        Link = "link",
    }
}

crate::text_enum! {
    /// What the rows are sorted by, most first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Measure {
        Clicks = "clicks",
        Leads = "leads",
        Conversions = "conversions",
        Sales = "sales",
        Revenue = "revenue",
        Refunded = "refunded",
        NetRevenue = "net_revenue",
        Commission = "commission",
        NetCommission = "net_commission",
    }
}
