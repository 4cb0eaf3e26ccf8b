//! Generates `docs/configuration.md` from the descriptions that `--help` prints.

use std::fmt::Write;

use clap::{Arg, Command};

use super::load::is_secret;

const OPENING: &str = "\
# Configuration

Generated from the settings' own descriptions, which `--help` prints too.
`UPDATE_DOCS=1 cargo xtask test up_to_date` regenerates it.

Each setting is an environment variable and a flag; a flag overrides the variable. A secret can also come from
a file: `NAME_FILE` names the file, and its content, without the final line break, is the value of `NAME`. If
`NAME` takes several values, the file may have one on each line. A service checks all settings before it does
anything else, and reports all errors at once.

";

struct Setting {
    heading: String,
    variable: String,
    meaning: String,
    secret: bool,
    /// Each service, and its default if there is one.
    services: Vec<(&'static str, Option<String>)>,
    required: bool,
}

/// Renders the page. Settings are grouped by heading, in the order in which the services list them.
pub fn page(services: &[(&'static str, Command)]) -> String {
    let mut settings: Vec<Setting> = Vec::new();
    for (service, command) in services {
        for arg in command.get_arguments().filter(|arg| arg.get_env().is_some()) {
            let setting = Setting::of(service, arg);
            match settings
                .iter_mut()
                .find(|known| known.variable == setting.variable)
            {
                Some(known) => known.services.extend(setting.services),
                None => settings.push(setting),
            }
        }
    }
    let mut headings: Vec<&str> = Vec::new();
    for setting in &settings {
        if !headings.contains(&setting.heading.as_str()) {
            headings.push(&setting.heading);
        }
    }
    let mut page = OPENING.to_owned();
    for heading in headings {
        let _ = write!(
            page,
            "## {heading}\n\n| variable | default | services | meaning |\n|---|---|---|---|\n"
        );
        for setting in settings.iter().filter(|setting| setting.heading == heading) {
            let _ = writeln!(page, "{}", setting.row(services.len()));
        }
        page.push('\n');
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

impl Setting {
    fn of(service: &'static str, arg: &Arg) -> Self {
        let help = arg.get_long_help().or_else(|| arg.get_help());
        let meaning = help.map(ToString::to_string).unwrap_or_default();
        let default = arg.get_default_values().first();
        Self {
            heading: arg.get_help_heading().unwrap_or("Other").to_owned(),
            variable: arg.get_env().unwrap_or_default().to_string_lossy().into_owned(),
            meaning: meaning.split_whitespace().collect::<Vec<_>>().join(" "),
            secret: is_secret(arg),
            services: vec![(service, default.map(|value| value.to_string_lossy().into_owned()))],
            required: arg.is_required_set(),
        }
    }

    fn row(&self, of: usize) -> String {
        let file = if self.secret {
            format!(" or `{}_FILE`", self.variable)
        } else {
            String::new()
        };
        let services: Vec<&str> = self.services.iter().map(|(service, _)| *service).collect();
        let services = if services.len() == of {
            "all".to_owned()
        } else {
            services.join(", ")
        };
        format!(
            "| `{}`{file} | {} | {services} | {}. |",
            self.variable,
            self.default(),
            self.meaning.trim_end_matches('.').replace('|', "\\|"),
        )
    }

    /// The first service's default, and the services with a different one.
    fn default(&self) -> String {
        if self.required {
            return "must be set".to_owned();
        }
        let shown = |default: &Option<String>| match default.as_deref() {
            None => "none".to_owned(),
            Some("") => "empty".to_owned(),
            Some(value) => format!("`{value}`"),
        };
        let Some((_, common)) = self.services.first() else {
            return String::new();
        };
        let others = self.services.iter().filter(|(_, default)| default != common);
        let others: Vec<String> = others
            .map(|(service, default)| format!("; {service}: {}", shown(default)))
            .collect();
        format!("{}{}", shown(common), others.concat())
    }
}
