use proptest::prelude::*;

use super::*;

const IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                      Version/17.5 Mobile/15E148 Safari/604.1";
const ANDROID: &str = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) \
                       Chrome/126.0.0.0 Mobile Safari/537.36";

/// Device type, system, browser; empty where unknown.
fn read(text: &str) -> [String; 3] {
    let software = software(text);
    let shown = |label: Option<Label>| label.map(String::from).unwrap_or_default();
    [
        software
            .device_type
            .map(DeviceType::as_str)
            .unwrap_or_default()
            .to_owned(),
        shown(software.device_os),
        shown(software.browser_name),
    ]
}

#[test]
fn phones() {
    assert_eq!(read(IPHONE), ["mobile", "iOS", "Mobile Safari"]);
    assert_eq!(read(ANDROID), ["mobile", "Android", "Chrome Mobile"]);
    let firefox = "Mozilla/5.0 (Android 14; Mobile; rv:126.0) Gecko/126.0 Firefox/126.0";
    assert_eq!(read(firefox), ["mobile", "Android", "Firefox Mobile"]);
}

#[test]
fn tablets() {
    let ipad = "Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 \
                Mobile/15E148 Safari/604.1";
    assert_eq!(read(ipad), ["tablet", "iOS", "Mobile Safari"]);
    let galaxy = "Mozilla/5.0 (Linux; Android 13; SM-X906C) AppleWebKit/537.36 (KHTML, like Gecko) \
                  Chrome/124.0.0.0 Safari/537.36";
    assert_eq!(read(galaxy), ["tablet", "Android", "Chrome"]);
    let fire = "Mozilla/5.0 (Linux; Android 11; KFTRWI) AppleWebKit/537.36 (KHTML, like Gecko) Silk/108.4.6 like \
                Chrome/108.0.5359.160 Safari/537.36";
    assert_eq!(read(fire), ["tablet", "Android", "Amazon Silk"]);
}

#[test]
fn desktops() {
    let edge = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.0.0 \
                Safari/537.36 Edg/125.0.0.0";
    assert_eq!(read(edge), ["desktop", "Windows", "Edge"]);
    let safari = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                  Version/17.4 Safari/605.1.15";
    assert_eq!(read(safari), ["desktop", "Mac OS X", "Safari"]);
    let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0";
    assert_eq!(read(firefox), ["desktop", "Linux", "Firefox"]);
    let chromebook = "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) \
                      Chrome/126.0.0.0 Safari/537.36";
    assert_eq!(read(chromebook), ["desktop", "Chrome OS", "Chrome"]);
    let with_pen = "Mozilla/5.0 (Windows NT 6.1; Trident/7.0; Tablet PC 2.0; rv:11.0) like Gecko";
    assert_eq!(read(with_pen), ["desktop", "Windows", "IE"]);
}

#[test]
fn televisions() {
    let samsung = "Mozilla/5.0 (SMART-TV; Linux; Tizen 6.5) AppleWebKit/537.36 (KHTML, like Gecko) \
                   SamsungBrowser/5.0 Chrome/85.0 TV Safari/537.36";
    assert_eq!(read(samsung)[0], "tv");
    let bravia = "Mozilla/5.0 (Linux; Android 9; BRAVIA 4K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/110.0 \
                  Safari/537.36";
    assert_eq!(read(bravia)[..2], ["tv", "Android"]);
}

#[test]
fn crawlers_are_bots() {
    let google = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    assert_eq!(read(google), ["bot", "", "Googlebot"]);
    let google_as_phone = "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like \
                           Gecko) Chrome/126.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; \
                           +http://www.google.com/bot.html)";
    assert_eq!(read(google_as_phone)[0], "bot");
    let language_model = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; \
                          +https://openai.com/gptbot)";
    assert_eq!(read(language_model)[0], "bot");
}

#[test]
fn link_previews_are_bots() {
    for preview in [
        "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        "WhatsApp/2.23.20.0",
        "TelegramBot (like TwitterBot)",
        "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
        "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5",
        "Mozilla/5.0 (compatible; vkShare; +http://vk.com/dev/Share)",
        "Iframely/1.3.1 (+https://iframely.com/docs/about) Atlassian",
    ] {
        assert_eq!(read(preview)[0], "bot", "{preview}");
    }
}

#[test]
fn people_and_their_servers_are_no_bots() {
    let cubot = "Mozilla/5.0 (Linux; Android 12; CUBOT NOTE 20) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 \
                 Mobile Safari/537.36";
    assert_eq!(read(cubot)[0], "mobile");
    let in_app = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                  Mobile/15E148 Instagram 334.0.0.0.0 (iPhone14,5; iOS 17_5)";
    assert_eq!(read(in_app), ["mobile", "iOS", "Instagram"]);
    assert_eq!(read("curl/8.5.0"), ["", "", "curl"]);
    assert_eq!(read("python-requests/2.31.0")[0], "");
}

#[test]
fn what_says_nothing_is_unknown() {
    assert_eq!(read(""), ["", "", ""]);
    assert_eq!(read("Mozilla/5.0"), ["", "", ""]);
}

#[test]
fn only_the_beginning_of_a_long_text_is_read() {
    let long = format!("{IPHONE}{}", " Googlebot/2.1".repeat(600));
    assert_eq!(bounded(&long).len(), LENGTH);
    let umlauts = "ü".repeat(8192);
    assert_eq!(bounded(&umlauts).len(), LENGTH);
    let shifted = format!("a{umlauts}");
    assert_eq!(bounded(&shifted).len(), LENGTH - 1);
    assert_eq!(bounded(IPHONE), IPHONE);
}

#[tokio::test]
async fn answers_come_in_order_and_from_the_cache_the_second_time() {
    let user_agents = UserAgents::new();
    let texts = [Some(IPHONE), None, Some(ANDROID), Some(IPHONE)];
    let first = user_agents.read(texts.into_iter()).await.unwrap();
    let systems: Vec<Option<&str>> = first
        .iter()
        .map(|software| software.device_os.as_ref().map(Label::as_str))
        .collect();
    assert_eq!(systems, [Some("iOS"), None, Some("Android"), Some("iOS")]);
    let second = user_agents.read(texts.into_iter()).await.unwrap();
    assert!(first.iter().zip(&second).all(|(a, b)| Arc::ptr_eq(a, b)));
}

#[tokio::test]
async fn the_cache_is_bounded() {
    let user_agents = UserAgents::new();
    for text in 0..KEPT * 3 {
        user_agents.known.insert(text.to_string().into(), Arc::default());
    }
    // The cache rounds its capacity up for its shards.
    assert!(user_agents.known.len() <= KEPT * 2, "{}", user_agents.known.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any text is parsed, and the result can be stored.
    #[test]
    fn garbage_is_harmless(text in "[^\0]{0,8192}") {
        let software = software(bounded(&text));
        for label in [software.device_os, software.browser_name].into_iter().flatten() {
            prop_assert!(Label::parse(label.as_str()).is_ok());
        }
    }

    /// Parts of real user agents in any order reach deeper into the patterns than random text.
    #[test]
    fn shuffled_user_agents_are_harmless(parts in prop::collection::vec(
        prop::sample::select(vec!["Mozilla/5.0 (", "Linux; Android 14; ", ") Chrome/1", " Mobile", " Safari/6",
            "; rv:", "iPad; ", "Tablet", "bot/", " Version/", "\u{ff10}", "((((", "+http://"]), 0..64)) {
        let _ = software(bounded(&parts.concat()));
    }
}
