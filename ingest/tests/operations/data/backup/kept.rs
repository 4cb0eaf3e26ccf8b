//! A server whose backups and log archive pgBackRest keeps.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use testing::{OwnPostgres, from_environment};

/// Uses the settings of `deploy/backup`, and a copy of the scripts that its account can reach.
pub(super) struct Kept {
    pub(super) server: OwnPostgres,
    pub(super) scripts: PathBuf,
    pub(super) backups: String,
}

impl Kept {
    /// Follows `deploy/README.md`: creates the stanza, turns archiving on, then checks that it works.
    pub(super) fn start() -> Self {
        let server = OwnPostgres::start();
        let dir = server.dir().to_owned();
        let scripts = dir.join("scripts");
        fs::create_dir(&scripts).unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/backup");
        for entry in fs::read_dir(sources).unwrap() {
            let source = entry.unwrap().path();
            fs::copy(&source, scripts.join(source.file_name().unwrap())).unwrap();
        }
        let ctl = PathBuf::from(from_environment("RT_BIN_DIR")).join("ctl");
        fs::copy(ctl, scripts.join("ctl")).unwrap();
        fs::set_permissions(&scripts, fs::Permissions::from_mode(0o755)).unwrap();
        let kept = Self {
            backups: dir.join("backups").display().to_string(),
            server,
            scripts,
        };
        let archive = kept.configure();
        succeeded(&kept.pgbackrest(&["stanza-create"]));
        let set = format!("--command=ALTER SYSTEM SET archive_command = '{archive}'");
        let on = "--command=ALTER SYSTEM SET archive_mode = 'on'";
        succeeded(&kept.execute(Path::new("psql"), &[set.as_str(), on]));
        kept.server.stop_at_once();
        kept.server.start_again();
        succeeded(&kept.pgbackrest(&["check"]));
        kept
    }

    /// Puts this server's paths into the settings; returns their `archive_command`.
    fn configure(&self) -> String {
        let file = self.scripts.join("pgbackrest.conf");
        let mut settings = fs::read_to_string(&file).unwrap();
        let dir = self.server.dir().display();
        let port = self.server.address().port();
        for (shipped, own) in [
            (
                "repo1-path=/var/lib/pgbackrest\n",
                format!(
                    "repo1-path={}\nlock-path={dir}/lock\nlog-level-file=off\n",
                    self.backups
                ),
            ),
            (
                "pg1-path=/var/lib/postgresql/15/main\n",
                format!("pg1-path={dir}/data\npg1-port={port}\n"),
            ),
        ] {
            assert!(settings.contains(shipped), "{settings}");
            settings = settings.replace(shipped, &own);
        }
        fs::write(&file, &settings).unwrap();
        let (_, command) = settings.split_once("archive_command = '").unwrap();
        let (command, _) = command.split_once('\'').unwrap();
        command.replace("pgbackrest ", &format!("pgbackrest --config={} ", file.display()))
    }

    pub(super) fn execute(&self, program: &Path, arguments: &[&str]) -> Output {
        let [ctl, config] =
            ["ctl", "pgbackrest.conf"].map(|name| self.scripts.join(name).display().to_string());
        // The port names the socket, which is in a directory of its own.
        let settings = [
            ("CTL", ctl.as_str()),
            ("DRILL_PORT", "5432"),
            ("PGBACKREST_CONFIG", config.as_str()),
            ("TEXTFILE_DIRECTORY", self.backups.as_str()),
        ];
        self.server.run_beside(program, arguments, &settings)
    }

    pub(super) fn script(&self, name: &str, arguments: &[&str]) -> Output {
        self.execute(&self.scripts.join(name), arguments)
    }

    pub(super) fn pgbackrest(&self, arguments: &[&str]) -> Output {
        // As an argument it also becomes part of the `restore_command` of a restored server.
        let config = format!("--config={}/pgbackrest.conf", self.scripts.display());
        let stanza = [config.as_str(), "--stanza=referral-tracker"];
        self.execute(Path::new("pgbackrest"), &[&stanza[..], arguments].concat())
    }

    /// The metric that the alert `BackupOld` uses.
    pub(super) fn metric(&self) -> PathBuf {
        Path::new(&self.backups).join("referral-tracker-backup.prom")
    }
}

/// The output of a command that succeeded.
pub(super) fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(super) fn failed(output: &Output, because: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains(because), "{output:?}");
}
