//! Asks one question, validates the reply against the schema, and allows at most one repair turn.

use super::reply::{self, Malformed};
use super::{Completion, LanguageModel, Meter, ModelError, Prompt, Role, Turn};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Most bytes of a malformed reply that are shown to the model again.
const SHOWN: usize = 2_000;

/// Sends a prompt to a model and parses the reply according to its schema.
///
/// # Errors
/// [`ModelError`]; `Malformed` if neither the reply nor the one after the repair turn can be parsed.
pub(crate) async fn ask<T: DeserializeOwned>(
    model: &dyn LanguageModel,
    meter: &Meter,
    prompt: &Prompt,
) -> Result<T, ModelError> {
    let first = once(model, meter, prompt).await?;
    let why = match parse(prompt, &first) {
        Ok(answer) => return Ok(answer),
        Err(why) => why,
    };
    meter.count_malformed();
    let mut again = prompt.clone();
    again.turns.push(Turn { role: Role::Assistant, text: bounded(&first.text).to_owned() });
    again.turns.push(Turn {
        role: Role::User,
        text: format!(
            "Your reply cannot be read: {why}. Give the same answer again as one JSON document and nothing else."
        ),
    });
    let second = once(model, meter, &again).await?;
    parse(prompt, &second).map_err(|why| {
        meter.count_malformed();
        ModelError::Malformed(why.to_string())
    })
}

/// Sends a prompt to a model that asks for `yes` or `no`, and returns whether the reply begins with yes.
///
/// # Errors
/// [`ModelError`]; `Malformed` if neither the reply nor the one after the repair turn is an answer.
pub(crate) async fn ask_whether(model: &dyn LanguageModel, meter: &Meter, prompt: &Prompt) -> Result<bool, ModelError> {
    let first = once(model, meter, prompt).await?;
    if let Some(answer) = yes_or_no(&first.text) {
        return Ok(answer);
    }
    meter.count_malformed();
    let mut again = prompt.clone();
    again.turns.push(Turn { role: Role::Assistant, text: bounded(&first.text).to_owned() });
    again.turns.push(Turn { role: Role::User, text: "Answer with one word, yes or no.".to_owned() });
    let second = once(model, meter, &again).await?;
    yes_or_no(&second.text).ok_or_else(|| {
        meter.count_malformed();
        ModelError::Malformed("the reply is neither yes nor no".to_owned())
    })
}

/// What the first word of a reply says.
fn yes_or_no(reply: &str) -> Option<bool> {
    let mut words = reply.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    match words.next()?.to_lowercase().as_str() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

async fn once(model: &dyn LanguageModel, meter: &Meter, prompt: &Prompt) -> Result<Completion, ModelError> {
    let (limit, reply_tokens) = meter.admit(prompt)?;
    let mut prompt = prompt.clone();
    prompt.reply_tokens = reply_tokens;
    let completion = match tokio::time::timeout(limit, model.complete(&prompt, limit)).await {
        Ok(done) => done?,
        Err(_) => return Err(ModelError::Timeout(limit)),
    };
    meter.count(&completion);
    Ok(completion)
}

/// Why a reply is not an answer to its prompt. The model reads the message in the repair turn.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error("it was cut off after {0} tokens; be shorter")]
    Cut(u64),
    #[error("{}", .0.why)]
    NotJson(Malformed),
    #[error(transparent)]
    BadSchema(Box<jsonschema::ValidationError<'static>>),
    #[error("at {at}: {what}")]
    Schema { at: String, what: String },
    #[error(transparent)]
    Form(serde_json::Error),
}

fn parse<T: DeserializeOwned>(prompt: &Prompt, completion: &Completion) -> Result<T, Unfit> {
    if completion.cut {
        return Err(Unfit::Cut(completion.tokens_out));
    }
    let document: Value = reply::document(&completion.text).map_err(Unfit::NotJson)?;
    if let Some(schema) = &prompt.schema {
        let validator = jsonschema::validator_for(&unbounded(schema.schema.clone()))
            .map_err(|problem| Unfit::BadSchema(Box::new(problem)))?;
        if let Some(error) = validator.iter_errors(&document).next() {
            let what: String = error.to_string().chars().filter(|c| !c.is_control()).take(160).collect();
            return Err(Unfit::Schema { at: error.instance_path().to_string(), what });
        }
    }
    serde_json::from_value(document).map_err(Unfit::Form)
}

/// The schema without `maxItems`. That limit stops a rambling model if the server enforces the schema. If it does not,
/// the code that uses the answer drops the excess, which is no reason to ask again.
fn unbounded(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            fields.remove("maxItems");
            fields.values_mut().for_each(|field| *field = unbounded(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = unbounded(item.take())),
        _ => {}
    }
    schema
}

fn bounded(text: &str) -> &str {
    let mut end = text.len().min(SHOWN);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
