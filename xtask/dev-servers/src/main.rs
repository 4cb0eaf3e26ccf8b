//! What runs beside the service on a developer's machine and in tests, on loopback: a front before ingest and webhook consumer, a page of
//! the e-mails that were sent, and a receiver of webhooks. `cargo xtask dev` and `cargo xtask test` start it.

mod front;
mod mail;
mod newest;
mod page;
mod webhooks;

use std::net::Ipv4Addr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use axum::Router;
use clap::Parser;
use tokio::net::TcpListener;

#[derive(Parser)]
struct Options {
    /// Where services send e-mails.
    #[arg(long)]
    smtp_port: u16,
    /// The page of e-mails.
    #[arg(long)]
    mail_port: u16,
    /// The receiver of webhooks, and its page.
    #[arg(long)]
    webhooks_port: u16,
    /// What the secrets of webhook endpoints are read from: lines of a path, a blank and its secret.
    #[arg(long)]
    secrets: PathBuf,
    #[command(flatten)]
    front: Option<front::Ports>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let mailbox = mail::Mailbox::default();
    let smtp = mail::smtp::serve(listen(options.smtp_port).await?, mailbox.clone());
    let pages = serve(options.mail_port, mail::router(mailbox));
    let webhooks = serve(options.webhooks_port, webhooks::router(options.secrets));
    let front = async {
        match options.front {
            Some(front) => serve(front.port(), front::router(front)).await,
            None => Ok(()),
        }
    };
    tokio::try_join!(smtp, pages, webhooks, front).map(|_| ())
}

async fn listen(port: u16) -> Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    listener.with_context(|| format!("cannot listen on port {port}"))
}

async fn serve(port: u16, router: Router) -> Result<()> {
    Ok(axum::serve(listen(port).await?, router).await?)
}
