//! A page of an e-mail: the same parts as text and as HTML.

use std::fmt::Write;

use super::Wording;

/// Colours of the dashboard (`web/dashboard/src/styles/tokens.css`). They are repeated here because mail
/// programs support neither variables nor style sheets.
const INK: &str = "#17211d";
const SOFT: &str = "#55625c";
const LINE: &str = "#e2e6e0";
const GROUND: &str = "#f6f7f5";
const ACCENT: &str = "#0f6259";
const FONT: &str = "-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";
const PRODUCT: &str = "Referral tracker";
const NO_MORE: &str = "Get no more of these e-mails";

enum Part {
    /// In HTML only.
    Logo {
        of: String,
        url: String,
    },
    Heading(String),
    Paragraph(String),
    Fact {
        name: &'static str,
        value: String,
    },
    Button {
        label: &'static str,
        link: String,
    },
    Footnote(&'static str),
}

pub struct Page {
    subject: String,
    parts: Vec<Part>,
    unsubscribe: Option<String>,
    reply_to: Option<String>,
}

impl Page {
    /// The subject is also the heading.
    pub fn new(subject: impl Into<String>) -> Self {
        Self {
            subject: one_line(&subject.into()),
            parts: Vec::new(),
            unsubscribe: None,
            reply_to: None,
        }
    }

    pub fn logo(self, of: &str, url: Option<&str>) -> Self {
        // Nothing but https is fetched, whatever is stored.
        match url.filter(|url| url.starts_with("https://")) {
            Some(url) => self.with(Part::Logo {
                of: one_line(of),
                url: url.to_owned(),
            }),
            None => self,
        }
    }

    /// The address for replies. Without it, replies go to the installation's address.
    pub fn reply_to(self, address: Option<&str>) -> Self {
        Self {
            reply_to: address.map(str::to_owned),
            ..self
        }
    }

    pub fn heading(self, text: &str) -> Self {
        self.with(Part::Heading(one_line(text)))
    }

    pub fn paragraph(self, text: impl Into<String>) -> Self {
        self.with(Part::Paragraph(one_line(&text.into())))
    }

    pub fn fact(self, name: &'static str, value: impl Into<String>) -> Self {
        let value = one_line(&value.into());
        self.with(Part::Fact { name, value })
    }

    pub fn fact_if_any(self, name: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.fact(name, value),
            None => self,
        }
    }

    pub fn button(self, label: &'static str, link: String) -> Self {
        self.with(Part::Button { label, link })
    }

    pub fn footnote(self, text: &'static str) -> Self {
        self.with(Part::Footnote(text))
    }

    /// The link that ends e-mails of this kind with one click.
    pub fn unsubscribe(self, link: String) -> Self {
        Self {
            unsubscribe: Some(link),
            ..self
        }
    }

    fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    pub fn wording(self) -> Wording {
        Wording {
            text: self.text(),
            html: self.html(),
            subject: self.subject,
            unsubscribe: self.unsubscribe,
            reply_to: self.reply_to,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", self.subject);
        let mut after_fact = false;
        for part in self
            .parts
            .iter()
            .filter(|part| !matches!(part, Part::Logo { .. }))
        {
            let is_fact = matches!(part, Part::Fact { .. });
            if !(is_fact && after_fact) {
                text.push('\n');
            }
            after_fact = is_fact;
            // Writing to a string cannot fail.
            let _ = match part {
                Part::Logo { .. } => Ok(()),
                Part::Heading(heading) => writeln!(text, "{heading}"),
                Part::Paragraph(paragraph) => writeln!(text, "{paragraph}"),
                Part::Fact { name, value } => writeln!(text, "{name}: {value}"),
                Part::Button { label, link } => writeln!(text, "{label}:\n{link}"),
                Part::Footnote(note) => writeln!(text, "{note}"),
            };
        }
        if let Some(link) = &self.unsubscribe {
            let _ = write!(text, "\n{NO_MORE}:\n{link}\n");
        }
        let _ = write!(text, "\n-- \n{PRODUCT}\n");
        text
    }

    fn html(&self) -> String {
        let subject = escaped(&self.subject);
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{subject}</title>\n</head>\n\
             <body style=\"margin:0;padding:24px 12px;background:{GROUND};color:{INK};font-family:{FONT};font-size:15px;line-height:1.5\">\n\
             <table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\"><tr><td align=\"center\">\n\
             <p style=\"margin:0 0 16px;font-size:17px;font-weight:650;color:{ACCENT}\">{PRODUCT}</p>\n\
             <table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" style=\"max-width:480px;background:#ffffff;\
             border:1px solid {LINE};border-radius:12px\"><tr><td style=\"padding:24px\">\n\
             <h1 style=\"margin:0 0 16px;font-size:20px;line-height:1.3;overflow-wrap:anywhere\">{subject}</h1>\n"
        );
        for part in &self.parts {
            part.write_html(&mut html);
        }
        html.push_str("</td></tr></table>\n");
        if let Some(link) = &self.unsubscribe {
            let link = escaped(link);
            // Writing to a string cannot fail.
            let _ = writeln!(
                html,
                "<p style=\"margin:16px 0 0;font-size:13px\"><a href=\"{link}\" style=\"color:{SOFT}\">{NO_MORE}</a></p>"
            );
        }
        html.push_str("</td></tr></table>\n</body>\n</html>\n");
        html
    }
}

impl Part {
    fn write_html(&self, html: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Logo { of, url } => writeln!(
                html,
                "<p style=\"margin:0 0 12px\"><img src=\"{}\" alt=\"{}\" height=\"40\" style=\"height:40px;max-width:240px;\
                 object-fit:contain;object-position:left\"></p>",
                escaped(url),
                escaped(of)
            ),
            Self::Heading(text) => writeln!(
                html,
                "<h2 style=\"margin:24px 0 8px;font-size:16px;overflow-wrap:anywhere\">{}</h2>",
                escaped(text)
            ),
            Self::Paragraph(text) => writeln!(
                html,
                "<p style=\"margin:0 0 16px;overflow-wrap:anywhere\">{}</p>",
                escaped(text)
            ),
            Self::Fact { name, value } => writeln!(
                html,
                "<p style=\"margin:0 0 16px;overflow-wrap:anywhere\"><span style=\"color:{SOFT}\">{name}:</span> {}</p>",
                escaped(value)
            ),
            Self::Button { label, link } => {
                let link = escaped(link);
                writeln!(
                    html,
                    "<p style=\"margin:0 0 8px\"><a href=\"{link}\" style=\"display:inline-block;padding:10px 18px;background:{ACCENT};\
                     color:#ffffff;border-radius:8px;text-decoration:none;font-weight:600\">{label}</a></p>\n\
                     <p style=\"margin:0 0 16px;font-size:13px;color:{SOFT};overflow-wrap:anywhere\">Or open this address: {link}</p>"
                )
            }
            Self::Footnote(text) => writeln!(
                html,
                "<p style=\"margin:0;font-size:13px;color:{SOFT}\">{}</p>",
                escaped(text)
            ),
        };
    }
}

/// Names come from people, so control characters are replaced: no name may start a new line.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Writes a name so that no mail program turns it into a link: it puts a narrow space where an address has
/// none. An invisible character would not help, because some programs count it as a letter, and browsers
/// ignore it in a host name.
pub fn unlinked(name: &str) -> String {
    const NARROW_SPACE: char = '\u{202f}';
    let mut unlinked = String::with_capacity(name.len());
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        unlinked.push(c);
        let breaks = match c {
            '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => {
                rest.peek().is_some_and(|next| !next.is_whitespace())
            }
            ':' => rest.peek() == Some(&'/'),
            _ => false,
        };
        if breaks {
            unlinked.push(NARROW_SPACE);
        }
    }
    unlinked
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
