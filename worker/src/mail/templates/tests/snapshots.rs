//! Compares each e-mail with its file in `worker/src/mail/templates/snapshots`. The walk through the
//! dashboard compares pictures of the HTML (`web/dashboard/tests/walk/email-pictures.spec.ts`).
//! `UPDATE_EMAILS=1 cargo test -p worker snapshots` rewrites the files.

use std::fs;
use std::path::Path;

use super::*;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/mail/templates/snapshots");

/// One e-mail of each kind, and an invitation to a program with a logo.
fn all() -> Vec<(String, EmailContent)> {
    let each = one_of_each("Shop affiliates").into_iter();
    let mut all: Vec<_> = each
        .map(|content| (content.kind().as_str().to_owned(), content))
        .collect();
    let with_logo = EmailContent::PartnerInvitation {
        program: "Shop affiliates".to_owned(),
        identity: ProgramIdentity {
            logo_url: Some("https://shop.example/logo.png".to_owned()),
            reply_to: None,
        },
        link: LINK.to_owned(),
        expires_at: noon(),
    };
    all.push(("partner_invitation_with_logo".to_owned(), with_logo));
    all
}

#[test]
fn each_email_is_as_it_is_kept() {
    let mut expected = Vec::new();
    for (name, content) in all() {
        let Wording { text, html, .. } = wording(&content, Some("token"));
        for (ending, made) in [("txt", text), ("html", html)] {
            let file = format!("{name}.{ending}");
            let path = Path::new(DIRECTORY).join(&file);
            if std::env::var_os("UPDATE_EMAILS").is_some() {
                fs::create_dir_all(DIRECTORY).unwrap();
                fs::write(&path, &made).unwrap();
            }
            let kept = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(
                made, kept,
                "{file}: UPDATE_EMAILS=1 cargo test -p worker snapshots"
            );
            expected.push(file);
        }
    }
    let mut kept: Vec<String> = fs::read_dir(DIRECTORY)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    expected.sort();
    assert_eq!(kept, expected, "a file of no e-mail");
}
