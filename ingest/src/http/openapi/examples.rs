//! Example bodies in the API description. A route's own types write its answers, and [`ApiError`] writes its
//! refusals, so an example always matches the service.

use serde::Serialize;
use serde_json::Value;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{Content, RefOr};

use crate::http::error::ApiError;
use crate::management::answers::{Data, Page};

const JSON: &str = "application/json";

/// The examples of one operation.
#[derive(Debug, Clone, Default)]
pub struct Examples {
    requests: Vec<Example>,
    answers: Vec<(String, Example)>,
}

#[derive(Debug, Clone)]
struct Example {
    /// A few words, from which the example's name is made.
    summary: String,
    body: Value,
}

impl Examples {
    pub fn of_refusals(errors: impl IntoIterator<Item = ApiError>) -> Self {
        errors
            .into_iter()
            .fold(Self::default(), |examples, error| examples.refusal(&error))
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

    /// An example of a 201.
    pub fn made(self, summary: &str, body: impl Serialize) -> Self {
        self.add(201, summary.to_owned(), body)
    }

    /// An example of a 200 with `data` inside the envelope.
    pub fn data(self, summary: &str, data: impl Serialize) -> Self {
        self.answer(summary, Data { data })
    }

    /// An example of a 201 with `data` inside the envelope.
    pub fn created(self, summary: &str, data: impl Serialize) -> Self {
        self.made(summary, Data { data })
    }

    /// An example of a list with one row.
    pub fn page<T: Serialize>(self, row: T) -> Self {
        self.answer("One of one", Page::default().listed::<T, _>([row], 1).0)
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
    fn add_to(&self, content: &mut RefOr<Content>) {
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
