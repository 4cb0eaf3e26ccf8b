//! How the figures of a range of days are broken down.

use url::Url;

crate::text_enum! {
    pub enum Dimension {
        Partner = "partner",
        Link = "link",
        Country = "country",
        Device = "device",
        Referrer = "referrer",
    }

    /// A property of the visitor. Only clicks are counted by it.
    pub enum Origin {
        Country = "country",
        Device = "device",
        Referrer = "referrer",
    }

    /// The measure by which rows are sorted, greatest first.
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

/// The host of the page a visitor came from, without `www.`; `None` if the text is not a web URL with a host.
pub fn referring_host(referrer_url: &str) -> Option<String> {
    let url = Url::parse(referrer_url).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?;
    let host = host.strip_prefix("www.").unwrap_or(host).trim_end_matches('.');
    (!host.is_empty() && host.len() <= LONGEST_HOST).then(|| host.to_owned())
}

/// The maximum length of a DNS name.
const LONGEST_HOST: usize = 253;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_referrer_is_its_host_whatever_the_page() {
        for (url, host) in [
            ("https://News.Example/today?x=1#top", Some("news.example")),
            ("http://www.news.example:8080/", Some("news.example")),
            ("https://user:secret@news.example/", Some("news.example")),
            ("https://münchen.example/", Some("xn--mnchen-3ya.example")),
            ("https://[2001:db8::1]/", Some("[2001:db8::1]")),
            ("https://www./", None),
            ("android-app://com.example", None),
            ("about:blank", None),
            ("news.example", None),
            ("", None),
        ] {
            assert_eq!(referring_host(url).as_deref(), host, "{url}");
        }
        assert_eq!(
            referring_host(&format!("https://{}.example", "a.".repeat(200))),
            None
        );
    }
}
