//! A PostgreSQL server for one test, which the test can stop.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use super::{Certificate, Folder, free_address, from_environment};

/// The account that runs the server if the tests run as root, because PostgreSQL refuses to run as root.
const ACCOUNT: &str = "postgres";

/// Stopped and deleted when dropped.
#[derive(Debug)]
pub struct OwnPostgres {
    programs: PathBuf,
    dir: Folder,
    port: u16,
    /// User and group of the server, if they differ from those of the tests.
    account: Option<(u32, u32)>,
    /// Additional settings of this server.
    extra: String,
}

impl OwnPostgres {
    /// Starts an empty cluster and waits until it answers.
    pub fn start() -> Self {
        let server = Self::prepare();
        server.start_again();
        server
    }

    /// As [`Self::start`], but accepts TLS connections only.
    pub fn start_with(certificate: &Certificate) -> Self {
        let mut server = Self::prepare();
        let Certificate { certificate, key } = certificate.copy_to(&server.dir, server.account);
        server.extra = format!(
            " -c ssl=on -c ssl_cert_file={} -c ssl_key_file={}",
            certificate.display(),
            key.display()
        );
        let rules = "hostssl all all 127.0.0.1/32 trust\n";
        std::fs::write(server.dir.join("data/pg_hba.conf"), rules).unwrap();
        server.start_again();
        server
    }

    /// A standby that streams from `primary` and answers reads. `primary` then confirms a commit only after
    /// the standby has it.
    pub fn standby_of(primary: &Self) -> Self {
        let standby = Self::place();
        let port = primary.port.to_string();
        standby.run(
            "pg_basebackup",
            &[
                "--host=127.0.0.1",
                "--username=postgres",
                "--port",
                &port,
                "--checkpoint=fast",
                "--write-recovery-conf",
                "--no-sync",
            ],
        );
        standby.start_again();
        let commands = [
            "--command=ALTER SYSTEM SET synchronous_standby_names = '*'",
            "--command=SELECT pg_reload_conf()",
        ];
        let set = primary.run_beside(Path::new("psql"), &commands, &[]);
        assert!(set.status.success(), "{set:?}");
        standby
    }

    fn prepare() -> Self {
        let server = Self::place();
        let of_any_machine = ["--encoding=UTF8", "--no-locale"];
        let arguments = ["--auth=trust", "--username=postgres", "--no-sync"];
        server.run("initdb", &[arguments.as_slice(), &of_any_machine].concat());
        server
    }

    /// A directory and a port, without data.
    fn place() -> Self {
        let dir = Folder::create();
        let account = account_for_server();
        if let Some((user, group)) = account {
            chown(&*dir, Some(user), Some(group)).unwrap();
        }
        Self {
            programs: PathBuf::from(from_environment("RT_POSTGRES_BIN")),
            dir,
            port: free_address().port(),
            account,
            extra: String::new(),
        }
    }

    /// The URL of a database in the cluster.
    pub fn url(&self) -> String {
        Self::url_at(self.address())
    }

    /// The same URL with another address that leads to the server.
    pub fn url_at(address: SocketAddr) -> String {
        format!("postgres://postgres@{address}/postgres")
    }

    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Stops or starts the server on another thread, so that the code under test continues meanwhile.
    pub async fn off_thread(self: &Arc<Self>, act: fn(&Self)) {
        let server = Arc::clone(self);
        tokio::task::spawn_blocking(move || act(&server)).await.unwrap();
    }

    /// Drops every connection and transaction at once. The next start recovers from the WAL.
    pub fn stop_at_once(&self) {
        self.run("pg_ctl", &["stop", "--mode=immediate", "--wait"]);
    }

    /// Starts the server on the same data and port. Returns once it answers.
    pub fn start_again(&self) {
        // fsync protects against power cuts only, and no test cuts the power.
        let settings = format!(
            "-c listen_addresses=127.0.0.1 -c port={} -c unix_socket_directories='' -c fsync=off{}",
            self.port, self.extra
        );
        let log = self.dir.file("log");
        let start = ["start", "--wait", "--log", &log, "--options", &settings];
        self.run("pg_ctl", &start);
    }

    /// Makes a standby the primary. Returns once it accepts writes.
    pub fn promote(&self) {
        self.run("pg_ctl", &["promote", "--wait"]);
    }

    /// The server's own directory, which its account may write to. The cluster is in `data`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Runs a program as the server's account. The program finds the server's programs on its path, and its
    /// connection settings name the server.
    pub fn run_beside(&self, program: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Output {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("PATH", format!("{}:{path}", self.programs.display()))
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", self.port.to_string())
            .env("PGUSER", "postgres")
            .envs(settings.iter().copied())
            .current_dir(&*self.dir)
            .stdin(Stdio::null());
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command.output().unwrap()
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let status = self.command(program).args(arguments).status().unwrap();
        assert!(
            status.success(),
            "{program} {arguments:?}: {status}; see {}",
            self.dir.display()
        );
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command
            .arg("--pgdata")
            .arg(self.dir.join("data"))
            .current_dir(&*self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for OwnPostgres {
    fn drop(&mut self) {
        // The server may be stopped already.
        let _ = self
            .command("pg_ctl")
            .args(["stop", "--mode=immediate", "--wait"])
            .stderr(Stdio::null())
            .status();
    }
}

/// `None` if the server runs as the user of the tests.
fn account_for_server() -> Option<(u32, u32)> {
    let id = |flag: &str| -> u32 {
        let output = Command::new("id").args([flag, ACCOUNT]).output().unwrap();
        let number = String::from_utf8(output.stdout).unwrap();
        number.trim().parse().unwrap()
    };
    let root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    root.then(|| (id("-u"), id("-g")))
}
