//! all-MiniLM-L6-v2, with weights stored as int8, through ONNX Runtime.
//!
//! 1. Nothing is loaded before the first text; loading happens at most once, in a blocking thread.
//! 2. A failure to load is cached for 60 s, so that not every call pays for it, and then loading is tried again.
//! 3. Each text is embedded alone, so that a vector cannot depend on other texts of the batch or on their padding.
//! 4. A text is truncated after 256 tokens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use fastembed::{InitOptionsUserDefined, Pooling, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};
use ort::environment::Environment;

use super::cache::{self, Key, Lru};
use super::{EmbedError, Embedder, MINILM_DIMENSIONS as DIMENSIONS, Sources, provide};

/// Id of the vectors: the model and its weights.
pub const ID: &str = "all-MiniLM-L6-v2-int8@8199be6f699a";
const TOKENS: usize = 256;
/// Most bytes of a text. 256 tokens are never longer, except in text that consists almost only of white space.
const BYTES: usize = 32 << 10;
const REMEMBERED: usize = 1024;
const RETRY: Duration = Duration::from_secs(60);

/// The ONNX Runtime environment; a process can have only one.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// The embedder. Clones share the model and the cached vectors.
#[derive(Debug, Clone)]
pub struct MiniLm {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    sources: Sources,
    retry: Duration,
    state: Mutex<State>,
    vectors: Mutex<Lru>,
}

enum State {
    Cold,
    Ready(Box<TextEmbedding>),
    Failed(Instant, EmbedError),
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cold => f.write_str("Cold"),
            Self::Ready(_) => f.write_str("Ready"),
            Self::Failed(_, error) => write!(f, "Failed({error})"),
        }
    }
}

impl MiniLm {
    /// Creates an embedder with the locations of its files. No file is opened yet.
    ///
    /// The runtime library is shared by the whole process: the first one that loads is used from then on.
    pub fn new(sources: Sources) -> Self {
        Self::with_retry(sources, RETRY)
    }

    pub(super) fn with_retry(sources: Sources, retry: Duration) -> Self {
        let (state, vectors) = (Mutex::new(State::Cold), Mutex::new(Lru::new(REMEMBERED)));
        Self { shared: Arc::new(Shared { sources, retry, state, vectors }) }
    }
}

#[async_trait]
impl Embedder for MiniLm {
    fn id(&self) -> &str {
        ID
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let keyed: Vec<(Key, &str)> = texts.iter().map(|text| cut(text)).map(|text| (cache::key(text), text)).collect();
        if let Some(vectors) = self.shared.remembered(&keyed) {
            return Ok(vectors);
        }
        let owned: Vec<(Key, String)> = keyed.into_iter().map(|(key, text)| (key, text.to_owned())).collect();
        let shared = Arc::clone(&self.shared);
        let work = move || shared.vectors_of(&owned);
        match tokio::runtime::Handle::try_current() {
            Ok(handle) => handle
                .spawn_blocking(work)
                .await
                .unwrap_or_else(|error| Err(EmbedError::Model(format!("its worker thread ended: {error}")))),
            Err(_) => work(),
        }
    }
}

impl Shared {
    fn remembered(&self, keyed: &[(Key, &str)]) -> Option<Vec<Vec<f32>>> {
        let mut vectors = locked(&self.vectors);
        keyed.iter().map(|(key, _)| vectors.get(key)).collect()
    }

    fn vectors_of(&self, texts: &[(Key, String)]) -> Result<Vec<Vec<f32>>, EmbedError> {
        texts.iter().map(|(key, text)| self.vector_of(key, text)).collect()
    }

    fn vector_of(&self, key: &Key, text: &str) -> Result<Vec<f32>, EmbedError> {
        if let Some(vector) = locked(&self.vectors).get(key) {
            return Ok(vector);
        }
        let mut state = locked(&self.state);
        if let State::Failed(at, error) = &*state
            && at.elapsed() < self.retry
        {
            return Err(error.clone());
        }
        if !matches!(&*state, State::Ready(_)) {
            *state = match guarded(|| load(&self.sources)) {
                Ok(model) => State::Ready(Box::new(model)),
                Err(error) => State::Failed(Instant::now(), error),
            };
        }
        let outcome = match &mut *state {
            State::Ready(model) => guarded(|| run(model, text)),
            State::Failed(_, error) => Err(error.clone()),
            State::Cold => Err(EmbedError::Model("it was not loaded".into())),
        };
        drop(state);
        let vector = outcome?;
        locked(&self.vectors).put(*key, vector.clone());
        Ok(vector)
    }
}

fn load(sources: &Sources) -> Result<TextEmbedding, EmbedError> {
    let environment = environment(sources)?;
    let onnx = provide::model(sources)?;
    let tokenizer = TokenizerFiles {
        tokenizer_file: include_bytes!("../../assets/minilm/tokenizer.json").to_vec(),
        config_file: include_bytes!("../../assets/minilm/config.json").to_vec(),
        special_tokens_map_file: include_bytes!("../../assets/minilm/special_tokens_map.json").to_vec(),
        tokenizer_config_file: include_bytes!("../../assets/minilm/tokenizer_config.json").to_vec(),
    };
    let model = UserDefinedEmbeddingModel::new(onnx, tokenizer).with_pooling(Pooling::Mean);
    let options = InitOptionsUserDefined::new()
        .with_environment(environment)
        .with_max_length(TOKENS)
        // one thread: sums are computed in the same order each time, and a short text gains little from more threads
        .with_intra_threads(1);
    TextEmbedding::try_new_from_user_defined(model, options).map_err(|error| EmbedError::Model(error.to_string()))
}

fn environment(sources: &Sources) -> Result<Environment, EmbedError> {
    let mut kept = locked(&ENVIRONMENT);
    let builder = provide::runtime(sources, open)?;
    if let Some(environment) = &*kept {
        return Ok(environment.clone());
    }
    let made = builder
        .with_name("agrail")
        .with_telemetry(false)
        .build()
        .map_err(|error| EmbedError::Model(error.to_string()))?;
    Ok(kept.insert(made).clone())
}

fn open(path: &Path) -> Result<ort::environment::EnvironmentBuilder, EmbedError> {
    let refused = |reason: String| EmbedError::Runtime { path: path.to_path_buf(), reason };
    guarded(|| ort::init_from(path).map_err(|error| refused(error.to_string())))
        .map_err(|error| if let EmbedError::Model(reason) = error { refused(reason) } else { error })
}

fn run(model: &mut TextEmbedding, text: &str) -> Result<Vec<f32>, EmbedError> {
    let vectors = model.embed([text], Some(1)).map_err(|error| EmbedError::Model(error.to_string()))?;
    let Ok([vector]) = <[Vec<f32>; 1]>::try_from(vectors) else {
        return Err(EmbedError::BadVector("expected one vector for one text".into()));
    };
    check(vector)
}

/// Checks that a vector consists of 384 finite numbers and has norm 1.
pub(super) fn check(vector: Vec<f32>) -> Result<Vec<f32>, EmbedError> {
    if vector.len() != DIMENSIONS {
        return Err(EmbedError::BadVector(format!("{} numbers instead of {DIMENSIONS}", vector.len())));
    }
    if vector.iter().any(|number| !number.is_finite()) {
        return Err(EmbedError::BadVector("it contains a number that is not finite".into()));
    }
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if (length - 1.0).abs() > 1e-3 {
        return Err(EmbedError::BadVector(format!("its length is {length} instead of 1")));
    }
    Ok(vector)
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(BYTES)).unwrap_or(text)
}

/// Turns a panic into an error, because the libraries panic where they should return one.
fn guarded<T>(work: impl FnOnce() -> Result<T, EmbedError>) -> Result<T, EmbedError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said =
            panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).into()));
        Err(EmbedError::Model(said.unwrap_or_else(|| "it panicked".into())))
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
