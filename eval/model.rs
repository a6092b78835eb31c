//! The model of a run, and its options.

use agrail::llm::{Endpoint, LanguageModel, OpenAi, Player, Recorder};
use agrail::prompts::Prompts;
use agrail::reason::llm::{Llm, LlmSettings};
use agrail::verdict::Mode;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use secrecy::SecretString;
use std::path::PathBuf;
use std::sync::Arc;

/// When the model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Never.
    Rules,
    /// If the deterministic stages leave a question that a model may answer.
    Tiered,
    /// Always.
    Llm,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Rules => Self::Rules,
            ModeArg::Tiered => Self::Tiered,
            ModeArg::Llm => Self::Llm,
        }
    }
}

/// The model of a run.
#[derive(Debug, Clone, clap::Args)]
pub struct ModelArgs {
    /// Base URL of an OpenAI-compatible endpoint, e.g. http://127.0.0.1:8093/v1.
    #[arg(long, value_name = "URL")]
    pub model_url: Option<String>,
    /// Name of the model.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub model: String,
    /// File with the endpoint's key.
    #[arg(long, value_name = "FILE")]
    pub model_key_file: Option<PathBuf>,
    /// Folder with prompts that replace the shipped ones.
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<PathBuf>,
    /// Record requests and replies in this file; recorded requests are not sent again.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Answer from this recording only; a request that is not in it is an error.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "model_url"])]
    pub play: Option<PathBuf>,
}

impl ModelArgs {
    /// The model, with recording or playback if requested.
    pub fn model(&self) -> Result<Arc<dyn LanguageModel>> {
        if let Some(file) = &self.play {
            let player = Player::open(&self.model, file);
            return Ok(Arc::new(player.with_context(|| format!("cannot play the recording {}", file.display()))?));
        }
        let Some(url) = &self.model_url else {
            bail!("this mode needs a model; give --model-url and --model, or --play FILE with a recording");
        };
        let mut endpoint = Endpoint::new(url, &self.model);
        if let Some(file) = &self.model_key_file {
            let key = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            endpoint.key = Some(SecretString::from(key.trim().to_owned()));
        }
        let model: Arc<dyn LanguageModel> = Arc::new(OpenAi::new(endpoint)?);
        Ok(match &self.record {
            None => model,
            Some(file) => {
                Arc::new(Recorder::new(model, file).with_context(|| format!("cannot record to {}", file.display()))?)
            }
        })
    }

    /// A reasoner on that model.
    pub fn reasoner(&self, model: Arc<dyn LanguageModel>, settings: LlmSettings) -> Result<Arc<Llm>> {
        Ok(Arc::new(Llm::new(model, Prompts::load(self.prompts.as_deref())?, settings)))
    }
}
