//! Bots: crawlers, and services that preview links.
//!
//! HTTP libraries do not count as bots: an advertiser's server may report clicks with the user agent of its
//! own client.

/// The device family that the patterns give every crawler they know.
const CRAWLER: &str = "Spider";

/// Link previewers that the patterns do not know, each by a part of its user agent that no browser sends.
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

/// `device` is the device family, if the patterns found one.
pub fn is_bot(user_agent: &str, device: Option<&str>) -> bool {
    device == Some(CRAWLER) || LINK_PREVIEWS.iter().any(|part| user_agent.contains(part))
}
