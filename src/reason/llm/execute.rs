//! The executor: answers each check, with tools if a fact is missing.

use super::{Llm, evidence, finding, learned, line, list, numbered, object, passed, up_to};
use crate::check::{Evidence, Finding, Outcome};
use crate::llm::{Meter, ModelError, Prompt, Role, Turn, ask};
use crate::reason::{Case, Item};
use crate::tools::{Tool, Toolbox};
use crate::untrusted::gather;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Most tokens of a reply.
const REPLY: u32 = 400;
/// Most checks that one call of `single` may name.
const ONE: usize = 6;
/// Most calls of tools.
const CALLS: usize = 4;
/// Longest time for one answer of a tool.
const PROBE: std::time::Duration = std::time::Duration::from_secs(2);
/// Longest answer of a tool in a prompt, in characters of JSON.
const ANSWER: usize = 1_500;

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Said {
    Pass,
    Violation,
    Discard,
    Tool,
}

#[derive(Deserialize)]
struct Answer {
    check: usize,
    why: String,
    verdict: Said,
}

#[derive(Deserialize)]
struct Call {
    check: usize,
    tool: String,
    arguments: Value,
}

#[derive(Deserialize)]
struct Reply {
    answers: Vec<Answer>,
    #[serde(default)]
    calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Confirmed {
    fact: String,
    harm: String,
}

pub(super) async fn execute(
    llm: &Llm,
    case: &Case,
    items: &[Item],
    tools: &Toolbox,
    meter: &Meter,
) -> Result<Vec<Finding>, ModelError> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let offered: Vec<&Arc<dyn Tool>> = if llm.settings.tools { tools.iter().collect() } else { Vec::new() };
    let mut pieces = evidence(case);
    pieces.push(("checks", json!(numbered(items))));
    let names: Vec<&str> = offered.iter().map(|tool| tool.name()).collect();
    let prompt = llm.prompt(
        ("execute", &names),
        &[("tools", &described(&offered))],
        pieces,
        form(&offered, items.len()),
        REPLY,
    )?;
    let reply: Reply = ask(&*llm.executor, meter, &prompt).await?;
    let mut findings: Vec<Finding> = items.iter().map(|i| finding(&i.check, Outcome::Unknown, String::new())).collect();
    note(&mut findings, &reply.answers);
    if !offered.is_empty() && !reply.calls.is_empty() {
        resume(llm, tools, &prompt, reply, &mut findings, meter).await?;
    }
    if findings.iter().all(|found| found.reason.is_empty()) {
        return Err(silent());
    }
    for found in findings.iter_mut().filter(|f| f.reason.is_empty()) {
        "the model gave no answer to this check".clone_into(&mut found.reason);
    }
    confirm(llm, case, &mut findings, meter).await?;
    Ok(findings)
}

/// Analyzer and executor in one call.
pub(super) async fn single(llm: &Llm, case: &Case, items: &[Item], meter: &Meter) -> Result<Vec<Finding>, ModelError> {
    #[derive(Deserialize)]
    struct One {
        category: String,
        name: String,
        why: String,
        verdict: Said,
    }
    #[derive(Deserialize)]
    struct All {
        checks: Vec<One>,
    }
    let mut pieces = evidence(case);
    pieces.push(("checks", json!(numbered(items))));
    let text = json!({"type": "string"});
    let category = json!({"type": "string", "enum": llm.categories()});
    let verdict = json!({"type": "string", "enum": ["pass", "violation", "discard"]});
    let one = object(json!({"category": category, "name": text, "why": text, "verdict": verdict}));
    let slots = [("criteria", llm.settings.criteria.as_str())];
    let prompt =
        llm.prompt(("single", &[]), &slots, pieces, object(json!({"checks": up_to(ONE, list(one))})), REPLY)?;
    let said: All = ask(&*llm.executor, meter, &prompt).await?;
    if said.checks.is_empty() {
        return Err(silent());
    }
    let mut findings = Vec::new();
    for one in said.checks.into_iter().take(meter.limits().checks) {
        let known = items.iter().find(|i| i.check.name.eq_ignore_ascii_case(one.name.trim()));
        let check = known.map_or_else(|| learned(&one.category, &one.name, &one.name), |i| i.check.clone());
        findings.push(finding(&check, outcome(one.verdict), line(&one.why)));
    }
    let open = |i: &&Item| !findings.iter().any(|f| f.check == i.check);
    let silent: Vec<Finding> =
        items.iter().filter(open).map(|i| finding(&i.check, Outcome::Unknown, "no answer".to_owned())).collect();
    findings.extend(silent);
    confirm(llm, case, &mut findings, meter).await?;
    Ok(findings)
}

/// The error for a reply that answers no check.
fn silent() -> ModelError {
    ModelError::Malformed("the reply does not answer the checks".to_owned())
}

/// The schema of a reply: at most one answer for each check, so that a rambling model is cut short, and calls of the
/// offered tools, each with the arguments of its tool.
fn form(offered: &[&Arc<dyn Tool>], checks: usize) -> Value {
    let verdicts = match offered.is_empty() {
        true => json!(["pass", "violation", "discard"]),
        false => json!(["pass", "violation", "discard", "tool"]),
    };
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
    let answer = object(json!({"check": number, "why": text, "verdict": {"type": "string", "enum": verdicts}}));
    let mut form = object(json!({"answers": up_to(checks, list(answer))}));
    let call = |tool: &&Arc<dyn Tool>| {
        let name = json!({"type": "string", "enum": [tool.name()]});
        object(json!({"check": number, "tool": name, "arguments": tool.input_schema()}))
    };
    let mut calls: Vec<Value> = offered.iter().map(call).collect();
    let call = match calls.len() {
        0 => return form,
        1 => calls.remove(0),
        _ => json!({"anyOf": calls}),
    };
    // a reply without calls is complete, too
    if let Some(properties) = form.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("calls".to_owned(), up_to(CALLS, list(call)));
    }
    form
}

/// The tools in words, for the prompt. This program is their only source.
fn described(offered: &[&Arc<dyn Tool>]) -> String {
    if offered.is_empty() {
        return " (there are none)".to_owned();
    }
    let mut text = "; add the call to calls:".to_owned();
    for tool in offered {
        text.push_str(&format!(" {} ({}) {}", tool.name(), tool.description(), compact(&tool.input_schema())));
    }
    if let Some(tool) = offered.first() {
        let call = json!({"check": 1, "tool": tool.name(), "arguments": sample(&tool.input_schema())});
        text.push_str(&format!("; for example \"calls\":[{call}]"));
    }
    text
}

/// Sample values for the arguments that a schema requires: the first choice of an enumeration, `...` for a text.
fn sample(schema: &Value) -> Value {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let one = |name: &str| {
        let property = schema.pointer(&format!("/properties/{name}"));
        let list = property.and_then(|p| p.get("type")).is_some_and(|kind| kind == "array");
        let choice = property.and_then(|p| p.pointer("/enum/0")).cloned();
        choice.unwrap_or_else(|| if list { json!(["..."]) } else { json!("...") })
    };
    required.map(|name| (name.to_owned(), one(name))).collect()
}

/// The properties of a schema in few tokens.
fn compact(schema: &Value) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let short = |value: &Value| value.get("enum").or_else(|| value.get("type")).cloned().unwrap_or(Value::Null);
    properties.map_or(Value::Null, |p| p.iter().map(|(name, value)| (name.clone(), short(value))).collect())
}

fn outcome(said: Said) -> Outcome {
    match said {
        Said::Pass => Outcome::Pass,
        Said::Violation => Outcome::Violation,
        Said::Discard => Outcome::Discarded,
        Said::Tool => Outcome::Unknown,
    }
}

/// Notes answers. Of two answers to one check, the graver counts. An answer to a check that is not in the list is
/// ignored.
fn note(findings: &mut [Finding], answers: &[Answer]) {
    let grave = |outcome: Outcome| match outcome {
        Outcome::Violation => 3,
        Outcome::Unknown => 2,
        Outcome::Discarded => 1,
        Outcome::Pass => 0,
    };
    for answer in answers {
        let Some(found) = answer.check.checked_sub(1).and_then(|place| findings.get_mut(place)) else { continue };
        let new = outcome(answer.verdict);
        if found.reason.is_empty() || grave(new) > grave(found.outcome) {
            found.outcome = new;
            found.reason = line(&answer.why);
            if found.reason.is_empty() {
                "the model gave no reason".clone_into(&mut found.reason);
            }
        }
    }
}

/// Calls the requested tools, and asks the model again with their answers.
///
/// A check that the same reply marks as violated stays violated: the answer of the tool is attached as evidence, and
/// the model is not asked about this check again.
async fn resume(
    llm: &Llm,
    tools: &Toolbox,
    prompt: &Prompt,
    reply: Reply,
    findings: &mut [Finding],
    meter: &Meter,
) -> Result<(), ModelError> {
    let mut answers = Vec::new();
    let mut numbers = Vec::new();
    for call in reply.calls.into_iter().take(CALLS) {
        let Some(found) = call.check.checked_sub(1).and_then(|place| findings.get_mut(place)) else { continue };
        let said = match tools.get(call.tool.trim()) {
            Some(tool) => match tokio::time::timeout(PROBE, tool.examine(&call.arguments)).await {
                Ok(answer) => answer.map(|v| v.to_string()).unwrap_or_else(|e| e.to_string()),
                Err(_) => "the tool did not answer in time".to_owned(),
            },
            None => format!("there is no tool {}", line(&call.tool)),
        };
        let said: String = said.chars().take(ANSWER).collect();
        found.evidence.push(Evidence { about: line(&format!("{} {}", call.tool, call.arguments)), says: said.clone() });
        if found.outcome == Outcome::Violation {
            continue;
        }
        numbers.push(call.check.to_string());
        answers.push(json!({"check": call.check, "says": said}));
        // it called a tool, so it has not decided
        found.outcome = Outcome::Unknown;
        found.reason.clear();
    }
    if numbers.is_empty() {
        return Ok(());
    }
    let fenced = gather(vec![("answers", json!(answers))]).map_err(|e| ModelError::Budget(e.to_string()))?;
    let mut again = prompt.clone();
    // one nonce for the whole request: the second fence uses the nonce of the first
    let text = fenced.text.replace(&fenced.nonce, &prompt.nonce);
    again.turns.push(Turn { role: Role::Assistant, text: json!({"answers": [], "calls": numbers}).to_string() });
    let slots = [("numbers", numbers.join(", ")), ("data", text)];
    let slots: Vec<(&str, &str)> = slots.iter().map(|(n, v)| (*n, v.as_str())).collect();
    again.turns.extend(llm.prompts.fill("resume", &slots).map_err(|e| ModelError::Malformed(e.to_string()))?);
    if let Some(schema) = &mut again.schema {
        schema.schema = form(&[], findings.len());
    }
    let second: Reply = ask(&*llm.executor, meter, &again).await?;
    note(findings, &second.answers);
    Ok(())
}

/// Confirms a violation that the policies do not share by a second question. If no fact supports it, it is discarded.
async fn confirm(llm: &Llm, case: &Case, findings: &mut [Finding], meter: &Meter) -> Result<(), ModelError> {
    if !llm.settings.confirm || !passed(case) {
        return Ok(());
    }
    let said = |f: &Finding| line(&format!("{}: {}: {}", f.check.category, f.check.definition, f.reason));
    let alarms: Vec<String> = findings.iter().filter(|f| f.outcome == Outcome::Violation).map(said).collect();
    if alarms.is_empty() {
        return Ok(());
    }
    let mut pieces = evidence(case);
    let found: Vec<&str> = (findings.iter().filter(|f| f.outcome == Outcome::Violation))
        .flat_map(|f| f.evidence.iter().map(|evidence| evidence.says.as_str()))
        .collect();
    if !found.is_empty() {
        // what tools said is among the facts
        pieces.push(("found", json!(found)));
    }
    pieces.push(("alarm", json!(alarms.join("; "))));
    let harm = json!({"type": "string", "enum": ["none", "lost", "secret", "stopped", "rights", "hijack"]});
    let form = object(json!({"fact": {"type": "string"}, "harm": harm}));
    let prompt = llm.prompt(("confirm", &[]), &[], pieces, form, 80)?;
    let said: Confirmed = ask(&*llm.executor, meter, &prompt).await?;
    if said.harm != "none" {
        for found in findings.iter_mut().filter(|f| f.outcome == Outcome::Violation) {
            found.reason = format!("{} ({})", found.reason, line(&said.fact));
        }
        return Ok(());
    }
    let fact = line(&said.fact);
    for found in findings.iter_mut().filter(|f| f.outcome == Outcome::Violation) {
        found.outcome = Outcome::Discarded;
        found.reason = format!("{}; a second question found no fact that supports it: {fact}", found.reason);
    }
    Ok(())
}
