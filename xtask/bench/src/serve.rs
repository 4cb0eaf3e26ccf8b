//! What the service is held against, as processes of their own: (H) a handler that only parses, and the rival (R).

use std::convert::Infallible;
use std::env;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use harness::interrupt::{Interrupt, PAUSE};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::rival;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// Parses a click, and answers a constant.
    Constant,
    /// The ordinary design.
    Rival,
}

impl What {
    /// As on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Rival => "rival",
        }
    }
}

/// Fields of a click that the ordinary handler reads; the body's others are skipped.
#[derive(Debug, Deserialize)]
pub(super) struct Click {
    pub(super) affiliate_url: String,
    pub(super) page_url: Option<String>,
    pub(super) page_title: Option<String>,
    pub(super) referrer_url: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) screen_resolution: Option<String>,
    pub(super) viewport_size: Option<String>,
    pub(super) language: Option<String>,
    pub(super) timezone: Option<String>,
}

/// Serves on `LISTEN` until it is told to end.
pub(super) fn serve(what: What, interrupt: &Interrupt) -> Result<()> {
    Runtime::new()?.block_on(async {
        let routes = match what {
            What::Constant => Router::new().route("/api/v1/track/click", post(constant)),
            What::Rival => rival::routes().await?,
        };
        let routes = routes.route("/readyz", get(|| async { "ready" }));
        let listener = TcpListener::bind(env::var("LISTEN").context("LISTEN is not set")?)
            .await?
            .tap_io(|stream| {
                // Without it the answer waits for an acknowledgement of the one before; it fails on no Linux.
                let _ = stream.set_nodelay(true);
            });
        let ended = async {
            while !interrupt.came() {
                tokio::time::sleep(PAUSE).await;
            }
        };
        // Whoever is still being served is the load's, which is over.
        tokio::select! {
            served = axum::serve(listener, routes) => Ok(served?),
            () = ended => Ok(()),
        }
    })
}

async fn constant(body: Bytes) -> Result<Response, Infallible> {
    Ok(match serde_json::from_slice::<Click>(&body) {
        Ok(click) if click.affiliate_url.contains("aff=") => json(
            r#"{"success":true,"click_id":"cust_4503599627370496_1767225600000","message":"Click tracked successfully"}"#,
        ),
        _ => StatusCode::BAD_REQUEST.into_response(),
    })
}

pub(super) fn json(body: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}
