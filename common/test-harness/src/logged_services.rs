//! The services with logs at level `trace`, for tests of what must not be logged.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;

use testing::{Process, free_address, unique_name};

use crate::edge::Edge;
use crate::stack::Stack;

/// The services as separate processes with readable logs.
#[derive(Debug)]
pub struct LoggedServices {
    /// The address of the webhook consumer.
    pub webhooks: SocketAddr,
    logs: Vec<PathBuf>,
    processes: Vec<Process>,
}

impl LoggedServices {
    /// Starts workers of both roles, an ingest and a webhook consumer. The stack sends its requests to this
    /// ingest.
    pub async fn start(stack: &mut Stack) -> Self {
        let mut services = Self {
            webhooks: free_address(),
            logs: Vec::new(),
            processes: Vec::new(),
        };
        for (name, role) in [
            ("worker", "pipeline"),
            ("worker", "delivery"),
            ("webhook-consumer", ""),
            ("ingest", ""),
        ] {
            let address = if name == "webhook-consumer" {
                services.webhooks
            } else {
                free_address()
            };
            let mut settings = stack.environment(address);
            settings.push(("LOG", "trace".to_owned()));
            if !role.is_empty() {
                settings.push(("WORKER_ROLE", role.to_owned()));
            }
            let log = std::env::temp_dir().join(format!("{}-{name}-{role}.log", unique_name()));
            let file = File::create(&log).unwrap();
            services
                .processes
                .push(Process::start_logging(name, &settings, file.into()));
            services.logs.push(log);
            stack.use_ingest(address);
        }
        stack.ready().await;
        Edge::at(services.webhooks).ready(stack).await;
        services
    }

    /// Everything logged so far.
    pub fn logged(&self) -> String {
        let text = |log| String::from_utf8_lossy(&std::fs::read(log).unwrap()).into_owned();
        self.logs.iter().map(text).collect()
    }

    /// Ends the services and returns everything they logged.
    pub fn end(mut self) -> String {
        self.processes.iter_mut().for_each(Process::kill);
        let logged = self.logged();
        for log in &self.logs {
            std::fs::remove_file(log).unwrap();
        }
        logged
    }
}
