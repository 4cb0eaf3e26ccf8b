//! The wording of each kind of e-mail: subject, text, and the text as HTML, which loads only a logo.

mod notice;
mod page;
mod summary;
#[cfg(test)]
mod tests;

use chrono::{DateTime, Utc};
use domain::people::email_content::EmailContent;
use domain::programs::program_identity::ProgramIdentity;

use self::page::{Page, unlinked};

/// An e-mail as people read it. It may contain the token of a link, so it must not be logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Wording {
    pub subject: String,
    pub text: String,
    pub html: String,
    /// A link that ends e-mails of this kind with one click (RFC 8058), for kinds that can be ended.
    pub unsubscribe: Option<String>,
    /// The address for replies. Without it, replies go to the installation's address.
    pub reply_to: Option<String>,
}

domain::redacted!(Wording);

/// `token` belongs to the content's link, if it has one.
pub fn wording(content: &EmailContent, token: Option<&str>) -> Wording {
    page(content, token).wording()
}

fn page(content: &EmailContent, token: Option<&str>) -> Page {
    // Browsers do not send the part after `#`, so no proxy logs the token.
    let with_token = |link: &str| token.map_or_else(|| link.to_owned(), |token| format!("{link}#{token}"));
    match content {
        EmailContent::MemberInvitation {
            workspace,
            link,
            expires_at,
        } => member_invitation(workspace, with_token(link), *expires_at),
        EmailContent::PartnerInvitation {
            program,
            identity,
            link,
            expires_at,
        } => partner_invitation(program, identity, with_token(link), *expires_at),
        EmailContent::PasswordReset { link, expires_at } => password_reset(with_token(link), *expires_at),
        EmailContent::NewSignIn {
            at,
            address,
            country,
            user_agent,
            account_link,
        } => new_sign_in(
            *at,
            [address.as_deref(), country.as_deref(), user_agent.as_deref()],
            account_link.clone(),
        ),
        EmailContent::PasswordChanged {
            at,
            by_link,
            account_link,
        } => password_changed(*at, *by_link, account_link),
        EmailContent::SecondClaim {
            at,
            invited_to,
            account_link,
        } => second_claim(*at, invited_to, account_link.clone()),
        EmailContent::WeeklySummary {
            first_day,
            last_day,
            lines,
            commissions_link,
            unsubscribe_link,
        } => {
            // The token is in the path: mail programs request this link themselves, and a part after `#` is not
            // sent. The token can only end these e-mails.
            let unsubscribe = token.map_or_else(
                || unsubscribe_link.clone(),
                |token| format!("{unsubscribe_link}/{token}"),
            );
            summary::page(*first_day, *last_day, lines, commissions_link.clone()).unsubscribe(unsubscribe)
        }
        EmailContent::AddressVerification { link, expires_at } => {
            address_verification(with_token(link), *expires_at)
        }
        EmailContent::ProgramNotice {
            program,
            endpoints,
            to_review,
            stuck,
            endpoints_link,
            events_link,
        } => notice::page(
            program,
            endpoints,
            (*to_review, *stuck),
            endpoints_link.clone(),
            events_link.clone(),
        ),
    }
}

fn member_invitation(workspace: &str, link: String, expires_at: DateTime<Utc>) -> Page {
    let workspace = unlinked(workspace);
    Page::new(format!("You are invited to work in {workspace}"))
        .paragraph(format!("You are invited to work in the workspace “{workspace}”."))
        .button("Accept the invitation", link)
        .paragraph(works_once(expires_at))
        .footnote("If you expected no invitation, ignore this e-mail.")
}

fn partner_invitation(
    program: &str,
    identity: &ProgramIdentity,
    link: String,
    expires_at: DateTime<Utc>,
) -> Page {
    let program = unlinked(program);
    Page::new(format!("You are invited to be a partner of {program}"))
        .reply_to(identity.reply_to.as_deref())
        .logo(&program, identity.logo_url.as_deref())
        .paragraph(format!(
            "You are invited to be a partner of “{program}”: get your referral links, and see what they earn."
        ))
        .button("Accept the invitation", link)
        .paragraph(works_once(expires_at))
        .footnote("If you expected no invitation, ignore this e-mail.")
}

/// `place`: address, country and browser, as far as known.
fn new_sign_in(at: DateTime<Utc>, place: [Option<&str>; 3], account_link: String) -> Page {
    let [address, country, browser] = place;
    Page::new("New sign-in to your account")
        .paragraph("Your account was signed in to from where it was not used before.")
        .fact("When", moment(at))
        .fact_if_any("Address", address)
        .fact_if_any("Country", country)
        .fact_if_any("Browser", browser.map(unlinked).as_deref())
        .paragraph(
            "If it was you, there is nothing to do. If not, end that session and change your password.",
        )
        .button("See where you are signed in", account_link)
}

fn address_verification(link: String, expires_at: DateTime<Utc>) -> Page {
    Page::new("Confirm your e-mail address")
        .paragraph("An account was made with this e-mail address. If you made it, confirm that the address is yours.")
        .button("Confirm the address", link)
        .paragraph(works_once(expires_at))
        .footnote("If you made no account, ignore this e-mail: the address stays unconfirmed.")
}

fn password_reset(link: String, expires_at: DateTime<Utc>) -> Page {
    Page::new("Choose a new password")
        .paragraph("Somebody asked for a new password for your account.")
        .button("Choose a new password", link)
        .paragraph(works_once(expires_at))
        .paragraph("A new password signs the account out everywhere.")
        .footnote("If it was not you, ignore this e-mail: your password stays as it is.")
}

fn second_claim(at: DateTime<Utc>, invited_to: &str, account_link: String) -> Page {
    let invited_to = unlinked(invited_to);
    Page::new("Somebody tried to use your address")
        .paragraph(format!(
            "Somebody opened an invitation to “{invited_to}” for your address, and did not give the password of your account."
        ))
        .fact("When", moment(at))
        .paragraph("Nothing was changed. If it was you, try again with the password of your account.")
        .paragraph("If it was not you, somebody else has that invitation: tell whoever invited you.")
        .button("Go to your account", account_link)
}

fn password_changed(at: DateTime<Utc>, by_link: bool, account_link: &str) -> Page {
    let how = if by_link {
        "The password of your account was replaced with a link that was sent to this address."
    } else {
        "The password of your account was changed."
    };
    Page::new("Your password was changed")
        .paragraph(how)
        .fact("When", moment(at))
        .paragraph(
            "Everybody else was signed out. Passkeys, the second factor and management keys stay as they were: look at those of your \
             account.",
        )
        .button("Go to your account", account_link.to_owned())
        .footnote("If it was not you, choose a new password at once, and tell whoever runs this installation.")
}

fn works_once(until: DateTime<Utc>) -> String {
    format!("The link works once, until {}.", moment(until))
}

/// `4 March 2026, 15:04 UTC`
fn moment(at: DateTime<Utc>) -> String {
    at.format("%-d %B %Y, %H:%M UTC").to_string()
}
