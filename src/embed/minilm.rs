//! all-MiniLM-L6-v2 on ONNX Runtime, through fastembed.

use super::{EmbedError, Embedder, MINILM_DIMENSIONS, MINILM_ID, Sources};
use async_trait::async_trait;
use fastembed::{InitOptionsUserDefined, Pooling, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest text, tokens of the model.
const TOKENS: usize = 256;
/// Longest text that is given to the tokenizer, bytes.
const BYTES: usize = 16 * 1024;
/// Vectors that are kept.
const KEPT: usize = 1024;
/// Time after which a model that did not load is tried again.
const AGAIN: Duration = Duration::from_secs(60);

/// The embedder that ships with the engine. It loads when it is first used.
#[derive(Clone)]
pub struct MiniLm {
    inner: Arc<Inner>,
}

struct Inner {
    sources: Sources,
    model: Mutex<State>,
    kept: Mutex<Kept>,
}

enum State {
    NotYet,
    Loaded(Box<TextEmbedding>),
    Failed(EmbedError, Instant),
}

#[derive(Default)]
struct Kept {
    vectors: HashMap<String, Vec<f32>>,
    order: VecDeque<String>,
}

impl std::fmt::Debug for MiniLm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MiniLm").field("sources", &self.inner.sources).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MiniLm {
    /// An embedder that will load from these sources.
    #[must_use]
    pub fn new(sources: Sources) -> Self {
        Self { inner: Arc::new(Inner { sources, model: Mutex::new(State::NotYet), kept: Mutex::default() }) }
    }

    /// Embeds on the calling thread; the async form is [`Embedder::embed`].
    ///
    /// # Errors
    /// [`EmbedError`]
    pub fn embed_now(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let known: Vec<Option<Vec<f32>>> = {
            let kept = lock(&self.inner.kept);
            texts.iter().map(|t| kept.vectors.get(t).cloned()).collect()
        };
        let missing: Vec<&str> = texts.iter().zip(&known).filter(|(_, v)| v.is_none()).map(|(t, _)| cut(t)).collect();
        let mut new = if missing.is_empty() { Vec::new() } else { self.run(&missing)? }.into_iter();
        let mut vectors = Vec::with_capacity(texts.len());
        for (text, vector) in texts.iter().zip(known) {
            let vector = match vector {
                Some(vector) => vector,
                None => {
                    let vector = new.next().ok_or_else(|| EmbedError::Run("a vector is missing".to_owned()))?;
                    lock(&self.inner.kept).keep(text, &vector);
                    vector
                }
            };
            vectors.push(vector);
        }
        Ok(vectors)
    }

    fn run(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut state = lock(&self.inner.model);
        match &*state {
            State::Failed(error, at) if at.elapsed() < AGAIN => return Err(error.clone()),
            State::NotYet | State::Failed(..) => match load(&self.inner.sources) {
                Ok(model) => *state = State::Loaded(Box::new(model)),
                Err(error) => {
                    *state = State::Failed(error.clone(), Instant::now());
                    return Err(error);
                }
            },
            State::Loaded(_) => {}
        }
        let State::Loaded(model) = &mut *state else { return Err(EmbedError::Load("not loaded".to_owned())) };
        let vectors = catch_unwind(AssertUnwindSafe(|| model.embed(texts, None)))
            .map_err(|_| EmbedError::Run("the runtime panicked".to_owned()))?
            .map_err(|e| EmbedError::Run(e.to_string()))?;
        let sound = |v: &Vec<f32>| v.len() == MINILM_DIMENSIONS && v.iter().all(|x| x.is_finite());
        if vectors.len() != texts.len() || !vectors.iter().all(sound) {
            return Err(EmbedError::Run("the model returned something that is no vector".to_owned()));
        }
        Ok(vectors)
    }
}

impl Kept {
    fn keep(&mut self, text: &str, vector: &[f32]) {
        if self.vectors.insert(text.to_owned(), vector.to_vec()).is_none() {
            self.order.push_back(text.to_owned());
        }
        while self.order.len() > KEPT {
            if let Some(oldest) = self.order.pop_front() {
                self.vectors.remove(&oldest);
            }
        }
    }
}

fn cut(text: &str) -> &str {
    let end = (0..=text.len().min(BYTES)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

fn load(sources: &Sources) -> Result<TextEmbedding, EmbedError> {
    let broken = |why: String| EmbedError::Load(why);
    let bytes = sources.model()?;
    #[cfg(feature = "ort-load-dynamic")]
    {
        let runtime = sources.runtime()?;
        // fastembed panics where the library is missing or too old; this says so instead
        let found = catch_unwind(AssertUnwindSafe(|| ort::init_from(&runtime).map(drop)));
        match found {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(broken(format!("{}: {error}", runtime.display()))),
            Err(_) => {
                return Err(broken(format!("{} is not a usable ONNX Runtime (1.24 or later)", runtime.display())));
            }
        }
    }
    let tokenizer = TokenizerFiles {
        tokenizer_file: include_bytes!("../../assets/minilm/tokenizer.json").to_vec(),
        config_file: include_bytes!("../../assets/minilm/config.json").to_vec(),
        special_tokens_map_file: include_bytes!("../../assets/minilm/special_tokens_map.json").to_vec(),
        tokenizer_config_file: include_bytes!("../../assets/minilm/tokenizer_config.json").to_vec(),
    };
    let model = UserDefinedEmbeddingModel::new(bytes, tokenizer).with_pooling(Pooling::Mean);
    let options = InitOptionsUserDefined::new().with_max_length(TOKENS);
    catch_unwind(AssertUnwindSafe(|| TextEmbedding::try_new_from_user_defined(model, options)))
        .map_err(|_| broken("the runtime panicked".to_owned()))?
        .map_err(|e| broken(e.to_string()))
}

#[async_trait]
impl Embedder for MiniLm {
    fn id(&self) -> &str {
        MINILM_ID
    }

    fn dimensions(&self) -> usize {
        MINILM_DIMENSIONS
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
        {
            let kept = lock(&self.inner.kept);
            if let Some(all) = texts.iter().map(|t| kept.vectors.get(t).cloned()).collect::<Option<Vec<_>>>() {
                return Ok(all);
            }
        }
        let this = self.clone();
        tokio::task::spawn_blocking(move || this.embed_now(&texts)).await.map_err(|e| EmbedError::Run(e.to_string()))?
    }
}
