//! Whether the user's request explains an action, or only the observations do.

use super::claim::Claim;
use super::delegate::Word;
use super::kinds::Kinds;
use super::pieces::pieces;
use super::read::{Piece, Seen};
use super::spans::{Words, holds, identifying, overlap, plain, stem, stems};
use super::taint::{is_link, is_step, tainted};
use super::unasked::{Unasked, unasked};
use super::unknown::unknown;
use super::voices::Voices;
use super::weight::Weight;
use crate::effect::{Verb, tool_call::class};
use crate::embed::{EmbedError, Embedder, similarity};
use std::collections::BTreeSet;

/// How much better, in cosine, the observations must explain an action than the request does.
const MARGIN: f32 = 0.1;
/// A text explains an action only if it is at least this similar to it, in cosine.
const FLOOR: f32 = 0.3;
/// The same if the request delegates to a text.
const DELEGATED: f32 = 0.35;
/// The bonus, in cosine, if all values occur in one side and none in the other.
const VALUES: f32 = 0.1;
/// Pieces of the observations, and of the request, that are compared by meaning.
const COMPARED: (usize, usize) = (4, 2);

/// Fewest words of a sentence.
const SENTENCE: usize = 4;

/// Pieces that are examined between two points at which the deadline can interrupt.
const AT_ONCE: usize = 256;

/// Whether an action follows the request or the observations.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Alignment {
    /// No observation contains an instruction.
    NoInstructions,
    /// The request explains the action at least as well as the observations do (cosine of each).
    Explained { request: f32, read: f32 },
    /// Only the observations explain this value.
    Tainted { value: String, quote: Piece, delegated: bool },
    /// The observations explain the action better than the request does (cosine of each).
    FollowsObservation { request: f32, read: f32, quote: Piece },
    /// No text orders the action, but neither does the request ask for it.
    Unasked(Unasked),
    /// The request is unknown or does not explain the action, and an observation contains an instruction.
    Undetermined { why: &'static str, quote: Piece },
}

/// Compares an action with the request and the observations. Without an embedder, texts are compared by their words.
pub(super) async fn weigh(
    claim: &Claim,
    request: &str,
    seen: &Seen,
    embedder: Option<&dyn Embedder>,
) -> Result<Alignment, EmbedError> {
    let asked = plain(request);
    let voices = Voices::of(claim, request, seen);
    if asked.is_empty() {
        return Ok(if is_step(claim, seen) { Alignment::NoInstructions } else { unknown(claim, seen, &voices).await });
    }
    let found = ordered(claim, (request, &asked), seen, &voices, embedder).await?;
    if !matches!(found, Alignment::NoInstructions | Alignment::Explained { .. }) || is_step(claim, seen) {
        return Ok(found);
    }
    Ok(unasked(claim, request, &asked, seen, &voices).await.map_or(found, Alignment::Unasked))
}

/// Compares an action with the instructions in the observations. `asked`: the request in [`plain`] form.
async fn ordered(
    claim: &Claim,
    (request, asked): (&str, &str),
    seen: &Seen,
    voices: &Voices,
    embedder: Option<&dyn Embedder>,
) -> Result<Alignment, EmbedError> {
    let Some(first) = seen.pieces.iter().zip(&voices.of).find(|(p, word)| p.order && !word.is_users()).map(|(p, _)| p)
    else {
        return Ok(Alignment::NoInstructions);
    };
    if is_step(claim, seen) || is_link(claim, asked, seen) {
        return Ok(Alignment::Explained { request: 1.0, read: 0.0 });
    }
    if let Some((value, quote, named)) = tainted(claim, asked, seen, voices).await {
        return Ok(Alignment::Tainted { value, quote, delegated: named || voices.all && claim.reads });
    }
    if claim.typed {
        return typed(claim, request, seen, embedder).await;
    }
    // without a description there is nothing to compare; no value is tainted
    if claim.description.is_empty() || is_settled(claim, request, asked, seen, voices).await {
        return Ok(Alignment::NoInstructions);
    }
    compared(claim, (request, asked), seen, voices, (first, embedder)).await
}

/// Compares the description of an action by meaning: with the request, and with the instructions and their surroundings.
async fn compared(
    claim: &Claim,
    (request, asked): (&str, &str),
    seen: &Seen,
    voices: &Voices,
    (first, embedder): (&Piece, Option<&dyn Embedder>),
) -> Result<Alignment, EmbedError> {
    let sink = claim.weight == Weight::Sink;
    let foreign = seen.pieces.iter().zip(&voices.of).filter(|(_, word)| !word.is_users()).map(|(piece, _)| piece);
    // a look or a local step is stopped only by a text that orders it
    let near: Vec<&Piece> = foreign.filter(|p| if sink { is_near(p) } else { p.order && orders(claim, p) }).collect();
    if near.is_empty() && !sink {
        return Ok(Alignment::Explained { request: 1.0, read: 0.0 });
    }
    let near = likeliest(&claim.description, near, |p| &p.text, COMPARED.0);
    let users = seen.pieces.iter().zip(&voices.of).filter(|(_, word)| word.is_users()).map(|(p, _)| p.text.as_str());
    let mut ours = vec![request];
    ours.extend(likeliest(&claim.description, pieces(request), |p| p, COMPARED.1));
    ours.extend(likeliest(&claim.description, users.collect(), |p| p, COMPARED.1));
    let theirs: Vec<&str> = near.iter().map(|p| p.text.as_str()).collect();
    let by_request = best(&claim.description, &ours, embedder).await?.1;
    let (place, by_read) = best(&claim.description, &theirs, embedder).await?;
    let said: String = seen.pieces.iter().filter(|p| p.object).flat_map(|p| [p.plain.as_str(), "\n"]).collect();
    let bonus = VALUES * (share(claim, &said).await - share(claim, asked).await);
    let floor = if voices.all { DELEGATED } else { FLOOR };
    Ok(match near.get(place) {
        Some(quote)
            if by_read > floor
                && by_read - by_request + bonus > if asks(claim, quote, request) { 0.0 } else { MARGIN } =>
        {
            Alignment::FollowsObservation { request: by_request, read: by_read, quote: (*quote).clone() }
        }
        _ if sink && claim.values.is_empty() && specific(request) => Alignment::Undetermined {
            why: "the call contains none of the names and values in the request",
            quote: first.clone(),
        },
        _ => Alignment::Explained { request: by_request, read: by_read },
    })
}

/// Whether the values of a call decide: the request asks for it by its verb or its object, and no instruction has a value
/// of it that the request lacks.
async fn is_settled(claim: &Claim, request: &str, asked: &str, seen: &Seen, voices: &Voices) -> bool {
    if claim.weight != Weight::Sink || claim.tool.is_empty() || claim.values.is_empty() {
        return false;
    }
    let kinds = Kinds::of(request);
    let kind = class(&claim.tool.join("_"));
    if kinds.only_look() || !kinds.may_ask_for(kind) || !kinds.names(&claim.tool) {
        return false;
    }
    // the request asks for the act itself, and names the text for what it needs
    let asks = kinds.ask_for(&claim.tool);
    let orders = |(piece, word): &(&Piece, &Word)| {
        (piece.order || piece.hostile) && !word.is_users() && !(asks && **word == Word::Named)
    };
    // a text may contain a link or an address
    let parts = claim
        .values
        .iter()
        .flat_map(|value| value.split_whitespace())
        .map(|part| part.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '#'));
    let values = claim.values.iter().map(String::as_str).chain(parts.filter(|part| is_reached(part)));
    for value in values.filter(|value| !holds(asked, value)) {
        tokio::task::yield_now().await;
        let said = |(piece, _): (&Piece, &Word)| holds(&piece.plain, value);
        if seen.pieces.iter().zip(&voices.of).filter(orders).any(said) {
            return false;
        }
    }
    true
}

/// Whether a part of a text is an address.
fn is_reached(part: &str) -> bool {
    part.contains("://") || part.starts_with("www.") || part.split_once('@').is_some_and(|(_, host)| host.contains('.'))
}

/// Whether a text that speaks to an agent asks for the kind of an action, and the request for none of that kind.
fn asks(claim: &Claim, piece: &Piece, request: &str) -> bool {
    let kind = class(&claim.tool.join("_"));
    let of_kind = |text: &str| super::words(text).iter().any(|word| class(word) == kind);
    piece.hostile && claim.weight == Weight::Sink && kind.0 != Verb::Call && of_kind(&piece.text) && !of_kind(request)
}

/// Whether a piece is an instruction, or a sentence near one.
fn is_near(piece: &Piece) -> bool {
    let words = piece.text.split_whitespace().filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() >= 2);
    piece.near && (piece.order || words.count() >= SENTENCE)
}

/// Whether a piece may order a look or a local step: it has a value of it, or a word of its tool that says more than that
/// it reads. The name of a file is no order.
fn orders(claim: &Claim, piece: &Piece) -> bool {
    if !piece.text.contains(char::is_whitespace) {
        return false;
    }
    let said = stems(&piece.text);
    let tool = claim.tool.iter().filter(|word| class(word).0 != Verb::Read && word.len() >= 3);
    let named = claim.values.iter().filter(|value| value.len() >= 3);
    tool.map(|word| stem(word)).any(|stem| said.contains(stem))
        || named.flat_map(|value| stems(value)).any(|stem| stem.len() >= 3 && said.contains(&stem))
}

/// Whether the request names one specific thing: in quotation marks, or by an address, a path or a number.
fn specific(request: &str) -> bool {
    let quoted = |mark: char| request.matches(mark).count() >= 2;
    let marks = |c: char| ",;!?()'\"".contains(c);
    let code = |word: &str| {
        word.chars().any(|c| c.is_ascii_digit()) && word.chars().any(char::is_alphabetic) && word.len() >= 6
    };
    quoted('"')
        || quoted('\'')
        || request
            .split_whitespace()
            .map(|w| w.trim_matches(marks))
            .any(|w| code(w) || identifying(w.trim_end_matches('.')))
}

/// Judges text typed into a page: words of the request, something near it in meaning, or something that a page wants.
async fn typed(
    claim: &Claim,
    request: &str,
    seen: &Seen,
    embedder: Option<&dyn Embedder>,
) -> Result<Alignment, EmbedError> {
    let asked = stems(request);
    let own = stems(&claim.description);
    let explained = |read: f32| Alignment::Explained { request: 1.0, read };
    if !own.is_empty() && own.iter().all(|stem| asked.contains(stem)) {
        return Ok(explained(0.0));
    }
    // a page that contains instructions is not trusted in its other pieces either
    for some in seen.pieces.chunks(AT_ONCE) {
        tokio::task::yield_now().await;
        let holder = some.iter().find(|piece| {
            let said = stems(&piece.text);
            own.iter().all(|stem| said.contains(stem))
        });
        if let Some(quote) = holder {
            return Ok(Alignment::FollowsObservation { request: 0.0, read: 1.0, quote: quote.clone() });
        }
    }
    if own.iter().any(|stem| asked.contains(stem)) {
        return Ok(explained(0.0));
    }
    let near = best(&claim.description, &[request], embedder).await?.1;
    let first = seen.orders().next();
    Ok(match first {
        Some(quote) if near < FLOOR => {
            Alignment::Undetermined { why: "the request does not explain the typed text", quote: quote.clone() }
        }
        _ => explained(near),
    })
}

/// The share of the values that occur in a text, 0 to 1.
async fn share(claim: &Claim, text: &str) -> f32 {
    let mut found = 0;
    for value in &claim.values {
        tokio::task::yield_now().await;
        found += usize::from(holds(text, value));
    }
    let count = |n: usize| f32::from(u16::try_from(n).unwrap_or(u16::MAX));
    count(found) / count(claim.values.len().max(1))
}

/// The `most` texts that share most words with a description, best first.
fn likeliest<T>(description: &str, texts: Vec<T>, text: impl Fn(&T) -> &str, most: usize) -> Vec<T> {
    let wanted = stems(description);
    let mut ranked: Vec<(f64, T)> = texts.into_iter().map(|t| (common_share(&wanted, text(&t)), t)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.truncate(most);
    ranked.into_iter().map(|(_, t)| t).collect()
}

fn common_share(wanted: &BTreeSet<String>, text: &str) -> f64 {
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let (all, shared) = overlap(&Words::of(text), wanted);
    count(shared) / (3.0 + count(all).sqrt())
}

/// The index of the text nearest in meaning, and its cosine.
async fn best(description: &str, texts: &[&str], embedder: Option<&dyn Embedder>) -> Result<(usize, f32), EmbedError> {
    let scores: Vec<f32> = match embedder {
        Some(embedder) => {
            let all: Vec<&str> = std::iter::once(description).chain(texts.iter().copied()).collect();
            let vectors = embedder.embed(&all).await?;
            let Some((own, others)) = vectors.split_first() else { return Ok((0, 0.0)) };
            others.iter().map(|vector| similarity(own, vector)).collect()
        }
        None => texts.iter().map(|text| common(description, text)).collect(),
    };
    let best = scores.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    Ok(best.unwrap_or((0, 0.0)))
}

/// The cosine of two texts as sets of words.
fn common(a: &str, b: &str) -> f32 {
    let (a, b) = (stems(a), stems(b));
    let count = |n: usize| f32::from(u16::try_from(n).unwrap_or(u16::MAX));
    count(a.intersection(&b).count()) / (count(a.len()) * count(b.len())).sqrt().max(1.0)
}
