mod snapshots;

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::WebhookEndpointId;
use domain::money::{Cents, Currency};
use domain::people::email_content::{EmailKind, EndpointNotice};
use domain::people::weekly_summary::{Figure, WeekLine};
use domain::programs::program_identity::ProgramIdentity;

use super::*;

const LINK: &str = "https://referrals.example/password-reset";
const ACCOUNT: &str = "https://referrals.example/app/account";

fn noon() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::hours(12)
}

/// One e-mail of each kind. Every text that comes from people is `name`.
fn one_of_each(name: &str) -> Vec<EmailContent> {
    let all = vec![
        EmailContent::MemberInvitation {
            workspace: name.to_owned(),
            link: LINK.to_owned(),
            expires_at: noon(),
        },
        EmailContent::PartnerInvitation {
            program: name.to_owned(),
            identity: ProgramIdentity::default(),
            link: LINK.to_owned(),
            expires_at: noon(),
        },
        EmailContent::PasswordReset {
            link: LINK.to_owned(),
            expires_at: noon(),
        },
        EmailContent::NewSignIn {
            at: noon(),
            address: Some("192.0.2.7".to_owned()),
            country: Some("NL".to_owned()),
            user_agent: Some(name.to_owned()),
            account_link: ACCOUNT.to_owned(),
        },
        EmailContent::PasswordChanged {
            at: noon(),
            by_link: true,
            account_link: ACCOUNT.to_owned(),
        },
        EmailContent::SecondClaim {
            at: noon(),
            invited_to: name.to_owned(),
            account_link: ACCOUNT.to_owned(),
        },
        weekly_summary(name),
        EmailContent::AddressVerification {
            link: LINK.to_owned(),
            expires_at: noon(),
        },
        program_notice(name, 2),
    ];
    let kinds: Vec<EmailKind> = all.iter().map(EmailContent::kind).collect();
    assert_eq!(kinds, EmailKind::ALL, "one of each");
    all
}

fn weekly_summary(name: &str) -> EmailContent {
    let figure = |count, cents| Figure {
        count,
        cents: Cents::new(cents),
    };
    let line = |currency, adjusted| WeekLine {
        program: name.to_owned(),
        identity: ProgramIdentity::default(),
        currency: Currency::parse(currency).unwrap(),
        earned: figure(3, 4_500),
        approved: figure(1, 1_005),
        adjusted,
        reversed: figure(0, 0),
        paid: figure(1, 12_345),
    };
    EmailContent::WeeklySummary {
        first_day: "2026-02-23".parse().unwrap(),
        last_day: "2026-03-01".parse().unwrap(),
        lines: vec![line("EUR", figure(0, 0)), line("USD", figure(2, -250))],
        commissions_link: "https://referrals.example/app/partner/commissions".to_owned(),
        unsubscribe_link: "https://referrals.example/unsubscribe".to_owned(),
    }
}

#[test]
fn a_week_is_told_program_by_program_and_can_be_ended() {
    let wording = wording(&weekly_summary("Shop"), Some("token"));
    assert_eq!(wording.subject, "Your week: 23 February to 1 March 2026");
    assert_eq!(
        wording.text,
        "Your week: 23 February to 1 March 2026\n\n\
         This is what your partner programs gave. Days are those of UTC.\n\n\
         Shop, EUR\n\n\
         Earned: 45.00 EUR, 3 commissions\n\
         Approved: 10.05 EUR, 1 commission\n\
         Paid to you: 123.45 EUR, 1 payout\n\n\
         Shop, USD\n\n\
         Earned: 45.00 USD, 3 commissions\n\
         Approved: 10.05 USD, 1 commission\n\
         Adjusted: −2.50 USD, 2 changes\n\
         Paid to you: 123.45 USD, 1 payout\n\n\
         See your commissions:\nhttps://referrals.example/app/partner/commissions\n\n\
         Get no more of these e-mails:\nhttps://referrals.example/unsubscribe/token\n\n\
         -- \nReferral tracker\n"
    );
    let link = "https://referrals.example/unsubscribe/token";
    assert_eq!(wording.unsubscribe.as_deref(), Some(link));
    assert!(
        wording.html.contains(&format!("href=\"{link}\"")),
        "{}",
        wording.html
    );
}

fn program_notice(name: &str, endpoints: usize) -> EmailContent {
    let endpoint = |at| EndpointNotice {
        endpoint_id: WebhookEndpointId::new(i64::try_from(at + 41).unwrap()),
        host: format!("hooks{at}.example"),
        gone: at == 0,
    };
    EmailContent::ProgramNotice {
        program: name.to_owned(),
        endpoints: (0..endpoints).map(endpoint).collect(),
        to_review: 3,
        stuck: 0,
        endpoints_link: "https://referrals.example/app/programs/1/webhooks".to_owned(),
        events_link: "https://referrals.example/app/programs/1/processor".to_owned(),
    }
}

#[test]
fn a_notice_names_some_endpoints_and_counts_the_others() {
    let text = wording(&program_notice("Shop", 12), None).text;
    assert!(
        text.contains(
            "Endpoint: 41 at hooks0.example: it answered 410 Gone\nEndpoint: 42 at hooks1.example: every attempt"
        ),
        "{text}"
    );
    assert!(
        text.contains("hooks9.example") && !text.contains("hooks10.example") && text.contains("Others: 2\n"),
        "{text}"
    );
    assert!(
        text.contains("To review: 3\n") && !text.contains("Could not"),
        "{text}"
    );
    let text = wording(&program_notice("Shop", 0), None).text;
    assert!(!text.contains("webhook endpoints"), "{text}");
}

#[test]
fn a_programs_logo_is_the_one_picture_and_answers_go_to_it() {
    let content = |logo_url: &str| EmailContent::PartnerInvitation {
        program: "Shop \"<b>\"".to_owned(),
        identity: ProgramIdentity {
            logo_url: Some(logo_url.to_owned()),
            reply_to: Some("partners@shop.example".to_owned()),
        },
        link: LINK.to_owned(),
        expires_at: noon(),
    };
    let wording = |logo_url| wording(&content(logo_url), Some("affi_token"));
    let of_shop = wording("https://shop.example/logo.png?a=1&b=\"");
    assert_eq!(of_shop.reply_to.as_deref(), Some("partners@shop.example"));
    let picture =
        "<img src=\"https://shop.example/logo.png?a=1&amp;b=&quot;\" alt=\"Shop &quot;&lt;b&gt;&quot;\" ";
    assert!(of_shop.html.contains(picture), "{}", of_shop.html);
    assert_eq!(of_shop.html.matches("src=").count(), 1);
    assert!(!of_shop.text.contains("logo.png"), "{}", of_shop.text);
    for other in ["http://shop.example/logo.png", "javascript:alert(1)", ""] {
        assert!(!wording(other).html.contains("<img"), "{other}");
    }
}

#[test]
fn a_text_says_what_it_is_about_and_has_the_whole_link() {
    let content = EmailContent::PasswordReset {
        link: LINK.to_owned(),
        expires_at: noon(),
    };
    let wording = wording(&content, Some("affr_token"));
    assert_eq!(wording.subject, "Choose a new password");
    assert_eq!(
        wording.text,
        "Choose a new password\n\n\
         Somebody asked for a new password for your account.\n\n\
         Choose a new password:\nhttps://referrals.example/password-reset#affr_token\n\n\
         The link works once, until 4 October 2024, 12:00 UTC.\n\n\
         A new password signs the account out everywhere.\n\n\
         If it was not you, ignore this e-mail: your password stays as it is.\n\n\
         -- \nReferral tracker\n"
    );
    assert!(
        wording
            .html
            .contains("href=\"https://referrals.example/password-reset#affr_token\"")
    );
}

#[test]
fn names_of_people_are_text_and_nothing_else() {
    let name = "<img src=x onerror=\"alert('1')\"> & \u{1F600}\r\nBcc: mallory@evil.example";
    for content in one_of_each(name) {
        let wording = wording(&content, Some("affr_token"));
        for raw in ["<img", "onerror=\"", "alert('"] {
            assert!(!wording.html.contains(raw), "{}: {}", raw, wording.html);
        }
        assert!(!wording.subject.contains(['\r', '\n']), "{}", wording.subject);
        assert!(!wording.text.contains("\nBcc:"), "{}", wording.text);
    }
}

/// Mail programs turn text that looks like an address into links, in text, in HTML and in subjects.
#[test]
fn names_of_people_become_no_links() {
    let name = "visit https://evil.example/a?b=c now: www.evil.example, http://localhost, pay@evil.example or evil\u{3002}example";
    for content in one_of_each(name) {
        let Wording {
            subject, text, html, ..
        } = wording(&content, Some("affr_token"));
        for part in [subject, text, html] {
            for address in [
                "://evil",
                "://localhost",
                "evil.example",
                "www.evil",
                "evil\u{3002}e",
            ] {
                assert!(!part.contains(address), "{address} in {part}");
            }
        }
    }
    let shown = |name: &str| {
        let content = EmailContent::MemberInvitation {
            workspace: name.to_owned(),
            link: LINK.to_owned(),
            expires_at: noon(),
        };
        let subject = wording(&content, None).subject;
        subject
            .strip_prefix("You are invited to work in ")
            .unwrap()
            .to_owned()
    };
    for name in ["Shop & Co. affiliates: all...", "Dr. Müller (5/7)", "A.", ":/"] {
        let expected = match name {
            ":/" => ":\u{202f}/".to_owned(),
            name => name.replace("...", ".\u{202f}.\u{202f}."),
        };
        assert_eq!(shown(name), expected);
    }
    assert_eq!(shown("Booking.com"), "Booking.\u{202f}com");
}

#[test]
fn nothing_is_loaded_and_every_link_is_ours() {
    for content in one_of_each("Acme") {
        let Wording {
            subject, text, html, ..
        } = wording(&content, Some("affr_token"));
        assert!(!subject.is_empty() && text.starts_with(&subject), "{text}");
        for loading in ["<img", "<script", "<link", "src=", "url(", "@import"] {
            assert!(!html.contains(loading), "{loading} in {html}");
        }
        for link in html.split("href=\"").skip(1) {
            assert!(link.starts_with("https://referrals.example/"), "{link}");
        }
    }
}
