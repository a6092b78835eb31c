//! A custom tool: a typed, read-only probe that answers a question about the target of an effect.
//!
//!     cargo run --release --example custom_tool

use agrail::effect::Kind;
use agrail::policy::EffectFacts;
use agrail::tools::{Tool, ToolError, Toolbox};
use agrail::{Action, Context, Guard, Identity};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::sync::Arc;

/// Knows which hosts are in production.
#[derive(Debug)]
struct Inventory {
    production: Vec<String>,
}

#[async_trait]
impl Tool for Inventory {
    fn name(&self) -> &'static str {
        "inventory"
    }

    fn description(&self) -> &'static str {
        "says whether a host is in production"
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object", "required": ["host"], "properties": {"host": {"type": "string"}}})
    }

    async fn examine(&self, arguments: &Value) -> Result<Value, ToolError> {
        let host = arguments.get("host").and_then(Value::as_str).ok_or_else(|| ToolError::Arguments {
            tool: "inventory",
            problem: "host is missing".to_owned(),
            schema: self.input_schema().to_string(),
        })?;
        Ok(json!({"host": host, "production": self.production.iter().any(|own| own == host)}))
    }

    fn arguments_for(&self, query: &EffectFacts) -> Option<Value> {
        (query.kind == Kind::Host).then(|| json!({"host": query.name}))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let inventory = Inventory { production: vec!["db1.example".to_owned()] };
    println!("{}", inventory.examine(&json!({"host": "db1.example"})).await?);
    // reasoners, with or without a model, call it for each effect that it has arguments for
    let guard = Guard::builder().toolbox(Toolbox::default().with(Arc::new(inventory))).build()?;
    let action = Action::Shell { command: "scp backup.tar db1.example:/srv".to_owned(), cwd: None };
    let verdict = guard.check(&action, &Context::new(Identity::default(), None)).await;
    println!("{:5} {}", verdict.decision, verdict.reason);
    Ok(())
}
