//! The report as one HTML page: no scripts, nothing from elsewhere, every word of a source escaped.

use super::report::Report;
use crate::untrusted::html::escape;
use std::fmt::Write as _;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;\
background:#fff}h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}blockquote{margin:.3rem 0 .8rem;padding-left:.8rem;\
border-left:3px solid #999;color:#444}table{border-collapse:collapse;width:100%;font-size:.85rem}td,th{text-align:left;\
padding:.3rem .5rem;border-bottom:1px solid #ddd;vertical-align:top;overflow-wrap:anywhere}.no{color:#a00000}\
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}blockquote{color:#bbb}td,th{border-color:#444}\
.no{color:#ff9d9d}}";

/// The report as HTML.
#[must_use]
pub fn html(report: &Report) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{goal}</title><style>{STYLE}</style></head><body>\n<h1>{goal}</h1>\n",
        goal = escape(&report.goal)
    );
    if !report.complete {
        page.push_str("<p class=\"no\">This report is not complete; see what is missing.</p>\n");
    }
    let _ = writeln!(page, "<p>{}</p>", escape(&report.summary));
    section(&mut page, "Key points", report.key_points.len());
    for (place, point) in report.key_points.iter().enumerate() {
        let _ = writeln!(page, "<p>{}. {}</p>", place + 1, escape(&point.text));
        for span in &point.citations {
            let _ = writeln!(
                page,
                "<blockquote>“{}”<br><small>{}, bytes {} to {}</small></blockquote>",
                escape(&span.quote),
                escape(&span.url),
                span.start,
                span.end
            );
        }
    }
    section(&mut page, "Sources", report.citations.len());
    for source in &report.citations {
        let _ = writeln!(
            page,
            "<p>{}<br><small>{}, SHA-256 {}</small></p>",
            escape(&source.title),
            escape(&source.url),
            source.sha256
        );
    }
    section(&mut page, "Notes", report.notes.len());
    for note in &report.notes {
        let _ = writeln!(
            page,
            "<p><b>{}</b> {}<br><small>{}</small></p>",
            note.kind,
            escape(&note.text),
            escape(&note.url)
        );
    }
    section(&mut page, "Missing", report.missing.len());
    for missing in &report.missing {
        let _ = writeln!(page, "<p>{}<br><small>{}</small></p>", escape(&missing.url), escape(&missing.why));
    }
    section(&mut page, "What the guard said", report.audit.len());
    page.push_str("<table><tr><th>step</th><th>what</th><th>answer</th><th>why</th></tr>\n");
    for step in &report.audit {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            step.action,
            escape(&step.what),
            step.decision,
            escape(&step.reason)
        );
    }
    page.push_str("</table>\n</body></html>\n");
    page
}

fn section(page: &mut String, title: &str, count: usize) {
    if count > 0 {
        let _ = writeln!(page, "<h2>{title}</h2>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::research::{KeyPoint, Span};

    #[test]
    fn nothing_of_a_source_is_markup() {
        let hostile = "<script>alert(1)</script>\" onmouseover=\"x".to_owned();
        let span = Span { url: hostile.clone(), start: 0, end: 1, quote: hostile.clone() };
        let point = KeyPoint {
            text: hostile.clone(),
            citations: vec![span],
            lexical: 1.0,
            embedding: None,
            contradicts: Vec::new(),
        };
        let report = Report { goal: hostile.clone(), summary: hostile, key_points: vec![point], ..Report::default() };
        let page = html(&report);
        assert!(!page.contains("<script>") && !page.contains("\" onmouseover"));
    }
}
