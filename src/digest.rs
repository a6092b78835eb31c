//! SHA-256 digests as hexadecimal text.

use serde_json::Value;
use std::collections::BTreeMap;

/// The bytes as lower-case hexadecimal text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The finished hash as lower-case hexadecimal text.
pub(crate) fn finish(hash: sha2::Sha256) -> String {
    hex(&sha2::Digest::finalize(hash))
}

/// The SHA-256 of several parts as lower-case hexadecimal text (64 digits). The length of each part is hashed before
/// the part, so that shifting a boundary between two parts changes the digest.
pub(crate) fn digest<const N: usize>(parts: [Vec<u8>; N]) -> String {
    use sha2::{Digest as _, Sha256};
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    finish(hash)
}

/// The same value with the keys of each object sorted.
pub(crate) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let ordered: BTreeMap<&String, Value> = fields.iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(ordered.into_iter().map(|(key, value)| (key.clone(), value)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
