//! How declarations hide an element or its content.

use super::HiddenBy;

/// Two colours look the same if each channel differs by less than this.
const NEAR: u8 = 24;

/// A style sheet without its comments, which may occur anywhere; an unterminated comment extends to the end.
pub(super) fn without_comments(sheet: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(sheet.len()), sheet);
    while let Some((before, comment)) = rest.split_once("/*") {
        kept.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

/// Declarations in lower case, without comments and white space.
pub(super) fn plain(declarations: &str) -> String {
    let plain = without_comments(declarations).to_ascii_lowercase();
    plain.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The effective value of a property: the last important one, or else the last one.
fn property<'a>(style: &'a str, name: &str) -> Option<&'a str> {
    let of = || style.split(';').filter_map(|part| part.split_once(':')).filter(|(n, _)| *n == name).map(|(_, v)| v);
    let important = of().filter_map(|value| value.strip_suffix("!important")).next_back();
    important.or_else(|| of().next_back())
}

fn number(value: &str) -> Option<f32> {
    value.trim_end_matches(|c: char| c.is_alphabetic() || c == '%').parse().ok()
}

fn zero(value: &str) -> bool {
    number(value).is_some_and(|n| n.abs() < 0.02)
}

/// How [`plain`] declarations hide a whole element, whatever its content; `None` if they do not.
pub(super) fn gone(style: &str) -> Option<HiddenBy> {
    let far = |v: &str| number(v).is_some_and(|n| n <= -400.0 || (n <= -50.0 && v.ends_with(['w', 'h', '%'])));
    let property = |name: &str| property(style, name);
    if property("display").is_some_and(|v| v.starts_with("none"))
        || property("visibility").is_some_and(|v| v.starts_with("hidden") || v.starts_with("collapse"))
        || property("opacity").is_some_and(zero)
    {
        return Some(HiddenBy::Invisible);
    }
    let places = ["left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top"];
    places.iter().any(|name| property(name).is_some_and(far)).then_some(HiddenBy::OffScreen)
}

/// How declarations hide the content of an element; `None` if they do not.
pub(super) fn style(declarations: &str) -> Option<HiddenBy> {
    let style = plain(declarations);
    let property = |name: &str| property(&style, name);
    if gone(&style) == Some(HiddenBy::Invisible)
        || property("clip-path").is_some_and(|v| v != "none")
        || property("transform").is_some_and(|v| v.contains("scale(0") || v.contains("(-"))
    {
        return Some(HiddenBy::Invisible);
    }
    let small = |v: &str| number(v).is_some_and(|n| n.abs() <= 1.0);
    let clipped = property("overflow").is_some_and(|v| v.starts_with("hidden"));
    if property("font-size").is_some_and(|v| zero(v) || matches!(v, "1px" | "1pt"))
        || (clipped && (property("height").is_some_and(small) || property("width").is_some_and(small)))
    {
        return Some(HiddenBy::ZeroSize);
    }
    if gone(&style).is_some() || property("clip").is_some_and(|v| v.starts_with("rect(0")) {
        return Some(HiddenBy::OffScreen);
    }
    let colour = property("color")?;
    if matches!(colour, "transparent" | "rgba(0,0,0,0)" | "rgba(255,255,255,0)") {
        return Some(HiddenBy::SameColour);
    }
    let ground = property("background-color").or_else(|| property("background")).unwrap_or("#fff");
    let same = match (channels(colour), channels(ground)) {
        (Some(one), Some(other)) => one.iter().zip(other).all(|(a, b)| a.abs_diff(b) < NEAR),
        _ => colour == ground,
    };
    same.then_some(HiddenBy::SameColour)
}

/// Red, green and blue of a colour written as numbers, `black` or `white`; `None` for other notations.
fn channels(colour: &str) -> Option<[u8; 3]> {
    let digits = match colour {
        "white" => "ffffff",
        "black" => "000000",
        hex => match hex.strip_prefix('#') {
            Some(digits) => digits,
            None => {
                let inside = hex.strip_prefix("rgba(").or_else(|| hex.strip_prefix("rgb("))?.trim_end_matches(')');
                let mut numbers = inside.split(',').map(|n| n.parse::<u8>().ok());
                return Some([numbers.next()??, numbers.next()??, numbers.next()??]);
            }
        },
    };
    let wide: String = match digits.len() {
        3 | 4 => digits.chars().take(3).flat_map(|c| [c, c]).collect(),
        _ => digits.to_owned(),
    };
    let channel = |at: usize| u8::from_str_radix(wide.get(at..at + 2)?, 16).ok();
    Some([channel(0)?, channel(2)?, channel(4)?])
}
