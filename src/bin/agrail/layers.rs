//! The sources of settings: defaults, the configuration file, the environment, the command line. Later sources win.

use crate::settings::{Config, default_file};
use crate::settled::{present, text};
use anyhow::{Context as _, Result, anyhow, bail};
use figment::providers::{Env, Format as _, Serialized, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};
use std::path::{Path, PathBuf};

/// Prefix of each environment variable with a setting; two underscores separate its parts: `AGRAIL_GUARD__ON_FAILURE`.
const PREFIX: &str = "AGRAIL_";
const ENVIRONMENT: &str = "the environment";

/// The sources of settings besides the environment.
#[derive(Debug, Default, Clone)]
pub struct Places {
    /// The file that `--config` names.
    pub named: Option<PathBuf>,
    /// `KEY=VALUE` of the command line.
    pub sets: Vec<String>,
}

/// One setting and its origin.
#[derive(Debug, serde::Serialize)]
pub struct Setting {
    pub key: String,
    pub value: serde_json::Value,
    pub origin: String,
}

/// A setting from the command line.
struct Flag {
    key: String,
    values: Dict,
}

impl Flag {
    /// Parses the value as TOML, or takes it as a string if it is not TOML.
    fn parse(set: &str) -> Result<Self> {
        let Some((key, value)) = set.split_once('=').filter(|(key, _)| key.contains('.')) else {
            bail!("--set {set}: write SECTION.KEY=VALUE, such as guard.on_failure=ask");
        };
        let (key, value) = (key.trim().to_owned(), value.trim());
        let table = |value: &str| toml::from_str::<Dict>(&format!("{key} = {value}"));
        let text = toml::Value::String(value.to_owned()).to_string();
        let values = table(value).or_else(|_| table(&text)).with_context(|| format!("--set {set}"))?;
        Ok(Self { key, values })
    }
}

impl Provider for Flag {
    fn metadata(&self) -> Metadata {
        Metadata::named(format!("--set {}", self.key))
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(self.values.clone()))
    }
}

fn environment() -> Env {
    Env::prefixed(PREFIX).filter(|key| key.as_str().contains("__")).split("__")
}

/// Loads the settings from all sources.
pub fn load(places: &Places) -> Result<Config> {
    let file = match &places.named {
        Some(path) => Some(path.to_owned()),
        None => default_file().map(|file| present(file, "the configuration file")).transpose()?.flatten(),
    };
    let text = match &file {
        Some(file) => {
            text(file, "the configuration file").context("cannot load the settings; name another file with --config")?
        }
        None => String::new(),
    };
    // parse the file alone first, because this error shows the line
    let mut config: Config = toml::from_str(&text)
        .map_err(|e| anyhow!("{}: {e}", file.as_deref().unwrap_or(Path::new("configuration")).display()))?;
    if environment().iter().next().is_some() || !places.sets.is_empty() {
        config = merged(file.as_deref(), places)?.extract().map_err(explained)?;
    }
    config.file = file;
    config.places = places.clone();
    Ok(config)
}

fn merged(file: Option<&Path>, places: &Places) -> Result<Figment> {
    let mut layers = Figment::new();
    if let Some(file) = file {
        layers = layers.merge(Toml::file_exact(file));
    }
    layers = layers.merge(environment());
    for set in &places.sets {
        layers = layers.merge(Flag::parse(set)?);
    }
    Ok(layers)
}

/// The error with the origin of the setting.
fn explained(error: figment::Error) -> anyhow::Error {
    let key = error.path.join(".");
    let of = error.metadata.as_ref().map_or_else(|| "the configuration".to_owned(), |from| origin(from, &key));
    // the origin may name the key already
    let at = if of.ends_with(&key) { String::new() } else { format!(" {key}:") };
    match &error.kind {
        figment::error::Kind::UnknownField(_, known) => {
            anyhow!("{of}:{at} there is no such setting; there are {}", known.join(", "))
        }
        kind => anyhow!("{of}:{at} {kind}"),
    }
}

/// The origin of a setting as text.
fn origin(from: &Metadata, key: &str) -> String {
    match from.source.as_ref().and_then(figment::Source::file_path) {
        Some(path) => path.display().to_string(),
        None if from.name.starts_with("--set") => from.name.to_string(),
        None if from.name.contains("environment") => {
            format!("{ENVIRONMENT}: {PREFIX}{}", key.replace('.', "__").to_uppercase())
        }
        None => "default".to_owned(),
    }
}

/// Every setting that has a value, by key.
pub fn settings(config: &Config) -> Result<Vec<Setting>> {
    let layers =
        Figment::from(Serialized::defaults(Config::default())).merge(merged(config.file.as_deref(), &config.places)?);
    let mut found = Vec::new();
    for (key, value) in layers.data().map_err(explained)?.remove(&Profile::Default).unwrap_or_default() {
        flat(key, &value, &layers, &mut found)?;
    }
    for (key, value) in config.computed()? {
        if !found.iter().any(|setting: &Setting| setting.key == key) {
            found.push(Setting { key: key.to_owned(), value, origin: "default".to_owned() });
        }
    }
    found.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(found)
}

fn flat(key: String, value: &Value, layers: &Figment, found: &mut Vec<Setting>) -> Result<()> {
    match value {
        Value::Dict(_, fields) => {
            for (name, field) in fields {
                flat(format!("{key}.{name}"), field, layers, found)?;
            }
        }
        Value::Empty(..) => {}
        value => {
            let origin =
                layers.get_metadata(value.tag()).map_or_else(|| "default".to_owned(), |from| origin(from, &key));
            found.push(Setting { value: serde_json::to_value(value)?, key, origin });
        }
    }
    Ok(())
}
