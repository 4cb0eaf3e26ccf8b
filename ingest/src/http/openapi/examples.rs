//! Example bodies in the API description. [`ApiError`] writes refusals, and tracking routes write their
//! answers by their own types. `pages/openapi/examples.rs` puts the other bodies' examples together.

use serde::Serialize;
use serde_json::Value;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{Content, RefOr};

use crate::http::error::ApiError;

/// Where an operation lists its refusals. The description shows them as examples of its answers instead.
const REFUSALS: &str = "x-refusals";
pub const JSON: &str = "application/json";

/// The examples of one operation.
#[derive(Debug, Clone, Default)]
pub struct Examples {
    requests: Vec<Example>,
    answers: Vec<(String, Example)>,
}

#[derive(Debug, Clone)]
pub struct Example {
    /// A few words, from which the example's name is made.
    pub summary: String,
    pub body: Value,
}

impl Examples {
    pub fn of_refusals(errors: impl IntoIterator<Item = ApiError>) -> Self {
        errors
            .into_iter()
            .fold(Self::default(), |examples, error| examples.refusal(&error))
    }

    /// Takes the refusals that the operation lists as `x-refusals`.
    pub fn take_refusals(operation: &mut Operation) -> Self {
        let listed = operation
            .extensions
            .as_mut()
            .and_then(|extensions| extensions.remove(REFUSALS));
        let refusals = match listed {
            Some(Value::Array(refusals)) => refusals,
            _ => Vec::new(),
        };
        let example = |body: Value| {
            let part = |name: &str| body.pointer(&format!("/error/{name}"));
            let summary = part("message").and_then(Value::as_str).unwrap_or_default();
            let summary = summary.to_owned();
            let status = part("status").map(Value::to_string).unwrap_or_default();
            (status, Example { summary, body })
        };
        Self {
            requests: Vec::new(),
            answers: refusals.into_iter().map(example).collect(),
        }
    }

    pub fn contain(&self, refusal: &ApiError) -> bool {
        let body = refusal.body();
        self.answers.iter().any(|(_, example)| example.body == body)
    }

    pub fn request(mut self, summary: &str, body: Value) -> Self {
        self.requests.push(Example {
            summary: summary.to_owned(),
            body,
        });
        self
    }

    /// An example of a 200.
    pub fn answer(self, summary: &str, body: impl Serialize) -> Self {
        self.add(200, summary.to_owned(), body)
    }

    /// An example of a 503 that is not a refusal.
    pub fn unready(self, summary: &str, body: impl Serialize) -> Self {
        self.add(503, summary.to_owned(), body)
    }

    /// An example of a refusal, named by its message.
    pub fn refusal(self, error: &ApiError) -> Self {
        self.add(error.status().as_u16(), error.to_string(), error.body())
    }

    fn add(mut self, status: u16, summary: String, body: impl Serialize) -> Self {
        // A body that cannot be serialized becomes null. No answer is null, so the test of the examples finds
        // it.
        let body = serde_json::to_value(body).unwrap_or_default();
        self.answers.push((status.to_string(), Example { summary, body }));
        self
    }

    pub fn add_to(&self, operation: &mut Operation) {
        if let Some(RefOr::T(request)) = &mut operation.request_body
            && let Some(content) = request.content.get_mut(JSON)
        {
            self.requests.iter().for_each(|example| example.add_to(content));
        }
        for (status, example) in &self.answers {
            if let Some(RefOr::T(response)) = operation.responses.responses.get_mut(status)
                && let Some(content) = response.content.get_mut(JSON)
            {
                example.add_to(content);
            }
        }
    }

    /// The bodies of the requests, as a caller would send them.
    #[cfg(test)]
    pub fn requests(&self) -> impl Iterator<Item = Vec<u8>> {
        self.requests
            .iter()
            .map(|example| example.body.to_string().into_bytes())
    }
}

impl Example {
    pub fn add_to(&self, content: &mut RefOr<Content>) {
        let RefOr::T(content) = content else { return };
        let example = ExampleBuilder::new()
            .summary(self.summary.clone())
            .value(Some(self.body.clone()));
        content.examples.insert(self.name(), example.build().into());
    }

    fn name(&self) -> String {
        let words = self.summary.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        words.join("_").to_lowercase()
    }
}
