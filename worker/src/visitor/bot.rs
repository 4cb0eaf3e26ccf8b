//! Bots: crawlers, and services that preview links.
//!
//! HTTP libraries are no bots here: an advertiser's server may report clicks with the user agent of its own
//! client.

/// The name the patterns give to the device of every crawler they know.
const CRAWLER: &str = "Spider";

/// Link previews the patterns do not know, by a part of the user agent that no browser sends.
const LINK_PREVIEWS: [&str; 9] = [
    "BingPreview",
    "Cardyb",
    "Embedly",
    "Iframely",
    "Mastodon/",
    "Microsoft Office Existence Discovery",
    "SignalLinkPreview",
    "SkypeUriPreview",
    "vkShare",
];

/// `device` is the device's family, if the patterns found one.
pub fn is_bot(user_agent: &str, device: Option<&str>) -> bool {
    device == Some(CRAWLER) || LINK_PREVIEWS.iter().any(|part| user_agent.contains(part))
}
