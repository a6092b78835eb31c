//! The `[model]` section of the configuration, and the clients that are built from it.

use crate::settings::Config;
use agrail::llm::{Endpoint, LanguageModel, Limits, OpenAi, Prompt, Role, Turn};
use agrail::prompts::{Prompts, UNIVERSAL};
use agrail::reason::llm::{Llm, LlmSettings};
use agrail::verdict::Mode;
use anyhow::{Context as _, Result, bail};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// `[model]`: any OpenAI-compatible endpoint.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSection {
    /// Base URL, e.g. `http://127.0.0.1:8093/v1`. Without it no model is asked.
    pub url: Option<String>,
    /// Name of the model.
    pub name: Option<String>,
    /// File with the key.
    pub key_file: Option<PathBuf>,
    /// OpenAI organisation.
    pub organization: Option<String>,
    /// `tiered` (default) or `llm`.
    pub mode: Option<String>,
    /// One call analyzes and executes: half the tokens, but remembered checks are neither revised nor merged.
    pub one_call: bool,
    /// The model also judges whether an action follows the observations; one call, if they ask for something.
    pub judge: bool,
    /// Folder with prompts that replace the shipped ones.
    pub prompts: Option<PathBuf>,
    /// File with your own safety criteria, one per line: `category: meaning`.
    pub criteria: Option<PathBuf>,
    /// Another model for the paraphrase.
    pub paraphraser: Option<Other>,
    /// Another model for the executor.
    pub executor: Option<Other>,
    /// Maximum number of model calls for one verdict.
    pub max_calls: Option<u32>,
    /// Maximum number of prompt tokens for one verdict.
    pub max_prompt_tokens: Option<u64>,
    /// Maximum number of reply tokens for one verdict.
    pub max_reply_tokens: Option<u64>,
    /// Time limit for the model calls of one verdict, ms.
    pub max_ms: Option<u64>,
}

/// A separate model for one part; missing values come from `[model]`.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Other {
    pub url: Option<String>,
    pub name: Option<String>,
    pub key_file: Option<PathBuf>,
    pub organization: Option<String>,
}

impl ModelSection {
    /// The reasoner; `None` without a URL.
    pub fn reasoner(&self, config: &Config) -> Result<Option<Arc<Llm>>> {
        if self.url.is_none() {
            if self.name.is_some() || self.mode.is_some() {
                bail!("[model] has no url; give the base URL of an OpenAI-compatible endpoint, or remove the section");
            }
            return Ok(None);
        }
        let folder = self.prompts_folder(config)?;
        let mut settings = LlmSettings::default();
        settings.single = self.one_call;
        if let Some(file) = &self.criteria {
            settings.criteria = criteria(&config.beside(file))?;
        }
        let model = Arc::new(self.client(&Other::default(), config)?);
        let mut llm = Llm::new(model, Prompts::load(folder.as_deref())?, settings);
        if let Some(other) = &self.paraphraser {
            llm = llm.paraphraser(Arc::new(self.client(other, config)?));
        }
        if let Some(other) = &self.executor {
            llm = llm.executor(Arc::new(self.client(other, config)?));
        }
        Ok(Some(Arc::new(llm)))
    }

    /// The model itself; `None` without a URL.
    pub fn language_model(&self, config: &Config) -> Result<Option<Arc<dyn LanguageModel>>> {
        if self.url.is_none() {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.client(&Other::default(), config)?)))
    }

    /// Folder with prompts that replace the shipped ones.
    pub fn prompts_folder(&self, config: &Config) -> Result<Option<PathBuf>> {
        let folder = self.prompts.as_deref().map(|f| config.beside(f));
        match folder {
            Some(folder) if !folder.is_dir() => {
                bail!("model.prompts names {}, which is not a folder", folder.display())
            }
            folder => Ok(folder),
        }
    }

    /// When the model is asked.
    pub fn mode(&self) -> Result<Mode> {
        Ok(match self.mode.as_deref() {
            None | Some("tiered") => Mode::Tiered,
            Some("llm") => Mode::Llm,
            Some(other) => bail!("model.mode is \"{other}\"; it must be \"tiered\" or \"llm\""),
        })
    }

    /// Limits on the model calls of one verdict.
    pub fn limits(&self) -> Limits {
        let default = Limits::default();
        Limits {
            prompt_tokens: self.max_prompt_tokens.unwrap_or(default.prompt_tokens),
            reply_tokens: self.max_reply_tokens.unwrap_or(default.reply_tokens),
            calls: self.max_calls.unwrap_or(default.calls),
            wall: self.max_ms.map_or(default.wall, Duration::from_millis),
            ..default
        }
    }

    /// Asks the model for one word; returns its name and response time as text. `None` without a model.
    pub fn probe(&self, config: &Config) -> Result<Option<String>> {
        if self.reasoner(config)?.is_none() {
            return Ok(None);
        }
        let model = self.client(&Other::default(), config)?;
        let turns = vec![Turn { role: Role::User, text: "Answer with the word yes.".to_owned() }];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let started = Instant::now();
        runtime.block_on(model.complete(&Prompt::new(turns, 8), Duration::from_secs(20)))?;
        let took = started.elapsed().as_millis();
        Ok(Some(format!("{} answers in {took} ms; mode {}", model.name(), self.mode()?.as_str())))
    }

    fn client(&self, other: &Other, config: &Config) -> Result<OpenAi> {
        let url = other.url.as_ref().or(self.url.as_ref()).context("model.url is missing")?;
        let name =
            other.name.as_ref().or(self.name.as_ref()).context("model.name is missing; name the model to ask")?;
        let mut endpoint = Endpoint::new(url, name);
        // a key is sent only to the server that it belongs to
        let own = if other.url.is_some() {
            other.key_file.as_ref()
        } else {
            other.key_file.as_ref().or(self.key_file.as_ref())
        };
        if let Some(file) = own {
            let file = config.beside(file);
            let key = std::fs::read_to_string(&file)
                .with_context(|| format!("cannot read the key in {}; check model.key_file", file.display()))?;
            endpoint.key = Some(SecretString::from(key.trim().to_owned()));
        }
        let shared = if other.url.is_some() { None } else { self.organization.clone() };
        endpoint.organization = other.organization.clone().or(shared);
        Ok(OpenAi::new(endpoint)?)
    }
}

/// Loads the operator's criteria and checks their form.
fn criteria(file: &Path) -> Result<String> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the criteria in {}; check model.criteria", file.display()))?;
    let bad = text.lines().find(|l| !l.trim().is_empty() && !l.contains(':'));
    if let Some(line) = bad {
        bail!(
            "{}: '{line}' is not a criterion; write lines like '{}'",
            file.display(),
            UNIVERSAL.lines().next().unwrap_or_default()
        );
    }
    if text.trim().is_empty() || text.len() > 8 * 1024 {
        bail!("{} must contain one criterion per line and at most 8 KiB", file.display());
    }
    Ok(text.trim().to_owned())
}
