//! Detects data that a URL carries out: credentials and encoded text.

use super::Reason;
use crate::untrusted::redact;
use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::borrow::Cow;
use url::Url;

/// Fewest encoded characters in a run that count as data although they do not decode to text.
const LONG: usize = 96;
/// Fewest bytes of encoded readable text that count as data.
const READABLE: usize = 16;
/// Names of parameters that contain credentials, in lower case, without `-` and `_`.
const SECRET_NAMES: &[&str] = &[
    "apikey",
    "accesstoken",
    "authtoken",
    "refreshtoken",
    "idtoken",
    "token",
    "secret",
    "clientsecret",
    "password",
    "passwd",
    "pwd",
    "privatekey",
    "secretkey",
    "accesskey",
    "sessionid",
    "sessiontoken",
    "xamzsecuritytoken",
    "jwt",
    "bearer",
    "credential",
    "credentials",
];
/// Names of parameters that tell a place in a list though they are called tokens, in the same form.
const PLACES: &[&str] = &["pagetoken", "nexttoken", "nextpagetoken", "continuationtoken", "synctoken", "starttoken"];
/// Fewest bytes of the value of a parameter that contains credentials; a shorter value is a setting or a page number.
const SECRET_LENGTH: usize = 8;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const PLAIN: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const SAFE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// The gravest kind of data in path, query, fragment and host name.
pub(super) fn carries(url: &Url) -> Option<Reason> {
    let pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> = url.query_pairs().collect();
    let plain =
        |name: &str| -> String { name.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect() };
    let secret = |(name, value): &(Cow<'_, str>, Cow<'_, str>)| {
        value.len() >= SECRET_LENGTH && SECRET_NAMES.contains(&plain(name).as_str())
    };
    let mut rest = url.clone();
    if pairs.iter().any(|(name, _)| PLACES.contains(&plain(name).as_str())) {
        rest.query_pairs_mut()
            .clear()
            .extend_pairs(pairs.iter().filter(|(name, _)| !PLACES.contains(&plain(name).as_str())));
    }
    let decoded = percent_encoding::percent_decode_str(rest.as_str()).decode_utf8_lossy();
    if pairs.iter().any(secret) || matches!(redact(&decoded), Cow::Owned(_)) {
        return Some(Reason::CarriesSecret);
    }
    let fragment = url.fragment().unwrap_or_default();
    let values = pairs.iter().flat_map(|(name, value)| [name.as_ref(), value.as_ref()]).chain([fragment]);
    let labels = url.domain().into_iter().flat_map(|name| name.split('.'));
    let segments = url.path_segments().into_iter().flatten();
    let hides = values.into_iter().any(|value| runs(value).any(|run| hides_text(run) || is_blob(run)))
        || segments.chain(labels).any(|part| runs(part).any(hides_text));
    hides.then_some(Reason::CarriesData)
}

/// The longest runs that an encoder could have written.
fn runs(value: &str) -> impl Iterator<Item = &str> {
    // form decoding has turned the plus signs of base64 into spaces
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_');
    value.split(move |c| !inside(c)).filter(|run| run.len() >= READABLE)
}

/// Whether a run decodes to readable text.
fn hides_text(run: &str) -> bool {
    let readable = |bytes: &[u8]| {
        bytes.len() >= READABLE
            && std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(|c| !c.is_control() || c.is_whitespace()))
    };
    unhex(run).is_some_and(|bytes| readable(&bytes)) || decoded(run).any(|bytes| readable(&bytes))
}

/// The decoded bytes of a run of base64, in either alphabet.
pub(super) fn decoded(run: &str) -> impl Iterator<Item = Vec<u8>> {
    [&PLAIN, &SAFE].into_iter().filter_map(move |engine| engine.decode(run).ok())
}

pub(super) fn unhex(run: &str) -> Option<Vec<u8>> {
    let nibble = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = run.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from((nibble(high)? << 4) | nibble(low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

/// Whether a run is long and looks like an encoding rather than like words with dashes.
fn is_blob(run: &str) -> bool {
    let kinds = [
        run.bytes().any(|b| b.is_ascii_digit()),
        run.bytes().any(|b| b.is_ascii_lowercase()),
        run.bytes().any(|b| b.is_ascii_uppercase()),
    ];
    let hex = run.bytes().all(|b| b.is_ascii_hexdigit());
    run.len() >= LONG && (hex || kinds.iter().filter(|k| **k).count() >= 2) && longest_word(run) >= LONG / 3
}

/// The length of the longest part between `-`, `_` and `/`.
fn longest_word(run: &str) -> usize {
    run.split(['-', '_', '/']).map(str::len).max().unwrap_or_default()
}
