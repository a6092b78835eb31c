//! Any OpenAI-compatible endpoint, through `async-openai`.
//!
//! 1. An HTTP service below the client adds a limit on the body and retries of transient failures, within the call's
//!    time limit, with jittered back-off or after the time in `retry-after`. A circuit breaker guards the calls.
//! 2. Redirects are not followed and no proxy of the environment is used: the key is sent to the endpoint only.
//! 3. The JSON schema is sent as `response_format` unless the endpoint is known not to support it; the reply is
//!    validated against it in any case (`ask`).

use super::retry::{Breaker, RETRIES, delay, retry_after, transient};
use super::{Completion, LanguageModel, ModelError, Prompt, Role};
use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most bytes of a response body.
const BODY: usize = 4 * 1024 * 1024;

/// The address of a model.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Base URL, e.g. `http://127.0.0.1:8093/v1`.
    pub url: String,
    /// Name of the model.
    pub model: String,
    /// API key; `None` for most local servers.
    pub key: Option<SecretString>,
    /// OpenAI organisation.
    pub organization: Option<String>,
    /// Whether the server supports JSON schemas as `response_format`.
    pub structured: bool,
}

impl Endpoint {
    /// A model at a URL, without a key.
    #[must_use]
    pub fn new(url: &str, model: &str) -> Self {
        let url = url.trim_end_matches('/').to_owned();
        Self { url, model: model.to_owned(), key: None, organization: None, structured: true }
    }
}

/// A model behind an OpenAI-compatible endpoint.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    http: reqwest::Client,
    breaker: Breaker,
    /// Whether the server accepts `response_format`, as far as known.
    structured: AtomicBool,
}

/// The error that stopped the last attempt of a call.
type Stopped = Arc<Mutex<Option<ModelError>>>;

impl OpenAi {
    /// Creates a client. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ModelError::Unreachable`] if the URL, the key, the organisation or the TLS set-up is unusable.
    pub fn new(endpoint: Endpoint) -> Result<Self, ModelError> {
        let unusable = |why: String| ModelError::Unreachable { url: endpoint.url.clone(), why };
        let url = reqwest::Url::parse(&endpoint.url).map_err(|e| unusable(e.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some() {
            return Err(unusable("the URL must be http or https, without credentials".to_owned()));
        }
        let unfit = |text: &str| http::HeaderValue::from_str(text).is_err();
        if endpoint.key.as_ref().is_some_and(|k| unfit(k.expose_secret())) {
            return Err(unusable("the key is not a single line of plain text; check model.key_file".to_owned()));
        }
        if endpoint.organization.as_deref().is_some_and(unfit) {
            return Err(unusable("model.organization is not a single line of plain text".to_owned()));
        }
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(Duration::from_secs(5))
            .build()
            .map_err(|e| unusable(e.to_string()))?;
        let structured = AtomicBool::new(endpoint.structured);
        Ok(Self { endpoint, http, breaker: Breaker::default(), structured })
    }

    fn client(&self, until: Instant, stopped: &Stopped) -> Client<OpenAIConfig> {
        let key = self.endpoint.key.as_ref().map_or("none", |k| k.expose_secret());
        // organisation variables of the environment are meant for other programs
        let organization = self.endpoint.organization.as_deref().unwrap_or_default();
        let config = OpenAIConfig::new().with_api_base(&self.endpoint.url).with_api_key(key);
        let config = config.with_org_id(organization).with_project_id("");
        let (http, url, stopped) = (self.http.clone(), self.endpoint.url.clone(), Arc::clone(stopped));
        let service = tower::service_fn(move |request: HttpRequestFactory| {
            let (http, url, stopped) = (http.clone(), url.clone(), Arc::clone(&stopped));
            async move { send(&http, &url, request, until, &stopped).await }
        });
        Client::with_config(config).with_http_service(service)
    }

    async fn once(&self, prompt: &Prompt, until: Instant) -> Result<Completion, ModelError> {
        let (stopped, limit) = (Stopped::default(), until.saturating_duration_since(Instant::now()));
        let client = self.client(until, &stopped);
        let chat = client.chat();
        let call = chat.create_byot::<Value, Value>(self.request(prompt));
        match tokio::time::timeout(limit, call).await {
            Err(_) => Err(ModelError::Timeout(limit)),
            Ok(Ok(reply)) => completion(prompt, &reply),
            Ok(Err(error)) => {
                let known = stopped.lock().unwrap_or_else(PoisonError::into_inner).take();
                Err(known.unwrap_or_else(|| other(&self.endpoint.url, &error)))
            }
        }
    }

    /// Removes the key from an error, because a server may echo the request.
    fn scrubbed(&self, error: ModelError) -> ModelError {
        let clean = |text: String| {
            let key = self.endpoint.key.as_ref().map(|k| k.expose_secret()).filter(|k| !k.is_empty());
            let text = key.map_or(text.clone(), |key| text.replace(key, "[redacted]"));
            crate::untrusted::redact(&text).into_owned()
        };
        match error {
            ModelError::Status { url, status, why } => ModelError::Status { url, status, why: clean(why) },
            ModelError::Unreachable { url, why } => ModelError::Unreachable { url, why: clean(why) },
            ModelError::Malformed(why) => ModelError::Malformed(clean(why)),
            other => other,
        }
    }

    fn request(&self, prompt: &Prompt) -> Value {
        let role = |role: Role| match role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let messages: Vec<Value> =
            prompt.turns.iter().map(|t| json!({"role": role(t.role), "content": t.text})).collect();
        let mut request = json!({
            "model": self.endpoint.model, "messages": messages, "temperature": 0, "max_tokens": prompt.reply_tokens,
        });
        let structured = self.structured.load(Ordering::Relaxed);
        if let (Some(schema), true, Some(fields)) = (&prompt.schema, structured, request.as_object_mut()) {
            let format = json!({"name": schema.name, "strict": true, "schema": schema.schema});
            fields.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": format}));
        }
        request
    }
}

#[async_trait]
impl LanguageModel for OpenAi {
    fn name(&self) -> &str {
        &self.endpoint.model
    }

    async fn complete(&self, prompt: &Prompt, limit: Duration) -> Result<Completion, ModelError> {
        self.breaker.admit()?;
        let until = Instant::now() + limit;
        let mut outcome = self.once(prompt, until).await;
        let refused = matches!(outcome, Err(ModelError::Status { status: 400 | 404 | 415 | 422 | 501, .. }));
        if refused && prompt.schema.is_some() && self.structured.swap(false, Ordering::Relaxed) {
            outcome = self.once(prompt, until).await;
            // if the call fails without a schema, too, the schema was not the cause
            self.structured.store(outcome.is_err(), Ordering::Relaxed);
        }
        self.breaker.note(matches!(outcome, Ok(_) | Err(ModelError::Malformed(_))));
        outcome.map_err(|error| self.scrubbed(error))
    }
}

/// Converts the client's own errors, with bounded texts.
fn other(url: &str, error: &OpenAIError) -> ModelError {
    match error {
        OpenAIError::JSONDeserialize(error, _) => ModelError::Malformed(format!("the response is not JSON: {error}")),
        OpenAIError::ApiError(api) => {
            let why = api.api_error.message.chars().filter(|c| !c.is_control()).take(200).collect();
            ModelError::Status { url: url.to_owned(), status: api.status_code.as_u16(), why }
        }
        error => ModelError::Unreachable { url: url.to_owned(), why: error.to_string().chars().take(200).collect() },
    }
}

/// Sends one request with its retries, and reads the whole response body within bounds.
async fn send(
    http: &reqwest::Client,
    url: &str,
    request: HttpRequestFactory,
    until: Instant,
    stopped: &Stopped,
) -> Result<reqwest::Response, OpenAIError> {
    let stop = |why: ModelError| {
        let told = OpenAIError::InvalidArgument(why.to_string());
        *stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        told
    };
    let mut attempt = 0;
    loop {
        attempt += 1;
        let left = until.saturating_duration_since(Instant::now());
        let (problem, after) = match http.execute(request.build().await?).await {
            Ok(response) if response.status().is_success() => return bounded(response).await.map_err(stop),
            Ok(response) => {
                let after = response.headers().get("retry-after").and_then(|v| v.to_str().ok());
                let (after, status) = (retry_after(after), response.status().as_u16());
                let url = url.to_owned();
                let problem = match status {
                    401 | 403 => ModelError::Refused { url, status },
                    429 => ModelError::Overloaded { url },
                    _ => ModelError::Status { url, status, why: said(response).await },
                };
                if !transient(status) {
                    return Err(stop(problem));
                }
                (problem, after)
            }
            Err(error) => {
                let why = root_cause(&error);
                (ModelError::Unreachable { url: url.to_owned(), why }, None)
            }
        };
        match delay(attempt, after, left) {
            Some(wait) if attempt <= RETRIES => tokio::time::sleep(wait).await,
            _ => return Err(stop(problem)),
        }
    }
}

/// The same response with its body in memory; a body over [`BODY`] bytes is an error.
async fn bounded(mut response: reqwest::Response) -> Result<reqwest::Response, ModelError> {
    let mut body = Vec::new();
    let failed = |e: reqwest::Error| ModelError::Malformed(format!("the connection broke: {}", root_cause(&e)));
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > BODY {
            return Err(ModelError::Malformed(format!("the response is longer than {BODY} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    let rebuilt = http::Response::builder().status(response.status()).body(body);
    rebuilt.map(reqwest::Response::from).map_err(|e| ModelError::Malformed(e.to_string()))
}

/// The response of a failing server as one line of at most 200 characters.
async fn said(mut response: reqwest::Response) -> String {
    let first = response.chunk().await.ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&first).chars().filter(|c| !c.is_control()).take(200).collect()
}

fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string().chars().take(200).collect()
}

/// Extracts the completion from a response.
fn completion(prompt: &Prompt, reply: &Value) -> Result<Completion, ModelError> {
    let choice = reply.get("choices").and_then(|c| c.get(0));
    let text = choice.and_then(|c| c.get("message")).and_then(|m| m.get("content")).and_then(Value::as_str);
    let Some(text) = text else {
        return Err(ModelError::Malformed("the response has no choices[0].message.content".to_owned()));
    };
    let cut = choice.and_then(|c| c.get("finish_reason")).and_then(Value::as_str) == Some("length");
    let usage = |name: &str| reply.get("usage").and_then(|u| u.get(name)).and_then(Value::as_u64);
    let estimate = u64::try_from(text.len().div_ceil(3)).unwrap_or(u64::MAX);
    Ok(Completion {
        text: text.to_owned(),
        cut,
        tokens_in: usage("prompt_tokens").unwrap_or_else(|| prompt.tokens_at_most()),
        tokens_out: usage("completion_tokens").unwrap_or(estimate),
    })
}
