//! One address for all of the service, as the front of `deploy/caddy` is one elsewhere. What payment processors send goes to the webhook
//! consumer, everything else to the ingest.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// As in `deploy/caddy/Caddyfile`.
const OF_PROCESSORS: [&str; 2] = ["/webhooks/", "/api/webhook-distributor/"];

/// Ports: its own, and those of the services behind it.
#[derive(clap::Args, Clone, Copy)]
pub struct Ports {
    #[arg(long, required = false, requires_all = ["ingest_port", "webhook_consumer_port"])]
    front_port: u16,
    #[arg(long, required = false, requires = "front_port")]
    ingest_port: u16,
    #[arg(long, required = false, requires = "front_port")]
    webhook_consumer_port: u16,
}

impl Ports {
    pub const fn port(self) -> u16 {
        self.front_port
    }

    fn port_for(self, path: &str) -> u16 {
        if OF_PROCESSORS.iter().any(|prefix| path.starts_with(prefix)) {
            self.webhook_consumer_port
        } else {
            self.ingest_port
        }
    }
}

#[derive(Clone)]
struct Front {
    services: Ports,
    client: Client<HttpConnector, Body>,
}

pub fn router(services: Ports) -> Router {
    let client = Client::builder(TokioExecutor::new())
        // A service that was started again answers at once: no connection is older than its request.
        .pool_max_idle_per_host(0)
        .build_http();
    Router::new()
        .fallback(forward)
        .with_state(Front { services, client })
}

async fn forward(State(front): State<Front>, mut request: Request) -> Result<Response, StatusCode> {
    let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
    let uri = format!("http://127.0.0.1:{}{path}", front.services.port_for(path));
    *request.uri_mut() = uri.parse().map_err(|_| StatusCode::BAD_REQUEST)?;
    request.headers_mut().remove(header::CONNECTION);
    let answer = front.client.request(request).await;
    let mut answer = answer.map_err(|_| StatusCode::BAD_GATEWAY)?.into_response();
    answer.headers_mut().remove(header::CONNECTION);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use axum::body::to_bytes;
    use tokio::net::TcpListener;
    use tower::ServiceExt;

    use super::*;

    /// Answers with its name and the request.
    async fn service(name: &'static str) -> u16 {
        let echo = async move |request: Request| {
            let target = format!("{name} {} {} ", request.method(), request.uri());
            let host = request.headers().get(header::HOST).cloned();
            let body = to_bytes(request.into_body(), 64).await.unwrap();
            format!("{target}{host:?} {}", String::from_utf8_lossy(&body))
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(echo)).await });
        port
    }

    #[tokio::test]
    async fn processors_reach_the_webhook_consumer_and_everybody_else_the_ingest() {
        let front = router(Ports {
            front_port: 0,
            ingest_port: service("ingest").await,
            webhook_consumer_port: service("consumer").await,
        });
        for (path, wanted) in [
            ("/webhooks/stripe/1?a=%20", "consumer"),
            ("/api/webhook-distributor/stripe", "consumer"),
            ("/api/v1/track/sale", "ingest"),
            ("/api/webhook-endpoints", "ingest"),
            ("/app/webhooks/1", "ingest"),
            ("/webhooks", "ingest"),
        ] {
            let request = Request::post(path)
                .header(header::HOST, "a")
                .body(Body::from("body"));
            let answer = front.clone().oneshot(request.unwrap()).await.unwrap();
            let text = to_bytes(answer.into_body(), 1024).await.unwrap();
            assert_eq!(text, format!("{wanted} POST {path} Some(\"a\") body").as_bytes());
        }
    }

    #[test]
    fn the_front_of_an_installation_has_the_same_paths() {
        let caddyfile = include_str!("../../../deploy/caddy/Caddyfile");
        let paths = OF_PROCESSORS.map(|prefix| format!("{prefix}*")).join(" ");
        assert!(caddyfile.contains(&format!("@processors path {paths}\n")));
        let ingress = include_str!("../../../deploy/kubernetes/overlays/production/ingress.yaml");
        let gateway = include_str!("../../../deploy/kubernetes/overlays/gateway/gateway.yaml");
        for prefix in OF_PROCESSORS {
            let path = prefix.trim_end_matches('/');
            assert!(ingress.contains(&format!("path: {path}\n")), "{path}");
            assert!(gateway.contains(&format!("value: {path}\n")), "{path}");
        }
    }
}
