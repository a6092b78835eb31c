//! Parses and writes server-sent events, as far as MCP uses them:
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html>.
//!
//! Every event is parsed and then written anew, so that the client cannot interpret it differently from the proxy.

use super::stdio::{LONGEST, WireError, raw_line};
use std::fmt::Write as _;
use tokio::io::AsyncBufRead;

/// One event.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// All fields except the data, in their order: `id`, `event`, `retry`.
    pub fields: Vec<(&'static str, String)>,
    /// The data, its lines joined with line feeds.
    pub data: String,
    /// Not an event but a comment between events, which keeps the connection open.
    pub comment: bool,
}

/// The next event; `None` at the end of the stream. An event that the end cuts off is dropped.
pub(super) async fn next(input: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Event>, WireError> {
    let mut event = Event::default();
    let mut lines = 0_usize;
    let mut read = 0;
    while let Some(line) = raw_line(input).await? {
        read += line.len() as u64;
        if read > LONGEST {
            return Err(WireError::Long);
        }
        let line = line.trim_end_matches(['\r', '\n']).trim_start_matches('\u{feff}');
        if line.is_empty() {
            if lines > 0 || !event.fields.is_empty() {
                return Ok(Some(event));
            }
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                if lines > 0 {
                    event.data.push('\n');
                }
                lines += 1;
                event.data.push_str(value);
            }
            "id" => event.fields.push(("id", value.to_owned())),
            "event" => event.fields.push(("event", value.to_owned())),
            "retry" => event.fields.push(("retry", value.to_owned())),
            "" if lines == 0 && event.fields.is_empty() => return Ok(Some(Event { comment: true, ..event })),
            _ => {}
        }
    }
    Ok(None)
}

/// The event in the wire format.
pub(super) fn write(event: &Event) -> String {
    if event.comment {
        return ":\n\n".to_owned();
    }
    let mut text = String::new();
    for (name, value) in &event.fields {
        let _ = writeln!(text, "{name}: {}", value.replace(['\r', '\n'], " "));
    }
    for line in event.data.split(['\r', '\n']) {
        let _ = writeln!(text, "data: {line}");
    }
    text.push('\n');
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    async fn all(text: &str) -> Vec<Event> {
        let mut input = text.as_bytes();
        let mut found = Vec::new();
        while let Some(event) = next(&mut input).await.unwrap() {
            found.push(event);
        }
        found
    }

    #[tokio::test]
    async fn events_survive_a_round_trip() {
        let text =
            ": hello\r\n\r\nid: 1\r\nevent: message\r\ndata: {\"a\":\r\ndata:1}\r\n\r\nid: 2\ndata\n\ndata: cut off";
        let found = all(text).await;
        assert!(found[0].comment, "a comment is passed on without its text");
        let found = found[1..].to_vec();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].data, "{\"a\":\n1}");
        assert_eq!(found[0].fields, [("id", "1".to_owned()), ("event", "message".to_owned())]);
        assert_eq!((found[1].data.as_str(), found[1].fields.len()), ("", 1));
        assert_eq!(all(&found.iter().map(write).collect::<String>()).await, found);
    }

    #[tokio::test]
    async fn data_cannot_inject_an_event() {
        let fields = vec![("id", "1\ndata: x".to_owned())];
        let event = Event { fields, data: "a\r\rdata: b".to_owned(), comment: false };
        let found = all(&write(&event)).await;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].data, "a\n\ndata: b");
    }

    #[tokio::test]
    async fn endless_event_is_an_error() {
        let long = format!("data: {}\n", "x".repeat(1024 * 1024)).repeat(17);
        assert!(matches!(next(&mut long.as_bytes()).await, Err(WireError::Long)));
    }
}
