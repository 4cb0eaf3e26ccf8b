use chrono::TimeDelta;
use domain::email_content::EmailKind;

use super::*;

const LINK: &str = "https://referrals.example/password-reset";
const ACCOUNT: &str = "https://referrals.example/app/account";

fn noon() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::hours(12)
}

/// One of each kind; every text that comes from people is `name`.
fn one_of_each(name: &str) -> Vec<EmailContent> {
    let all = vec![
        EmailContent::MemberInvitation {
            workspace: name.to_owned(),
            link: LINK.to_owned(),
            expires_at: noon(),
        },
        EmailContent::PartnerInvitation {
            program: name.to_owned(),
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
    ];
    let kinds: Vec<EmailKind> = all.iter().map(EmailContent::kind).collect();
    assert_eq!(kinds, EmailKind::ALL, "one of each");
    all
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

#[test]
fn nothing_is_loaded_and_every_link_is_ours() {
    for content in one_of_each("Acme") {
        let Wording { subject, text, html } = wording(&content, Some("affr_token"));
        assert!(!subject.is_empty() && text.starts_with(&subject), "{text}");
        for loading in ["<img", "<script", "<link", "src=", "url(", "@import"] {
            assert!(!html.contains(loading), "{loading} in {html}");
        }
        for link in html.split("href=\"").skip(1) {
            assert!(link.starts_with("https://referrals.example/"), "{link}");
        }
    }
}
