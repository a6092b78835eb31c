//! The report as one HTML page, without scripts and external resources. All text from sources is escaped.

use super::report::Report;
use crate::untrusted::without_controls;
use maud::{DOCTYPE, Markup, html as markup};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;\
background:#fff}h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}blockquote{margin:.3rem 0 .8rem;padding-left:.8rem;\
border-left:3px solid #999;color:#444}table{border-collapse:collapse;width:100%;font-size:.85rem}td,th{text-align:left;\
padding:.3rem .5rem;border-bottom:1px solid #ddd;vertical-align:top;overflow-wrap:anywhere}.no{color:#a00000}\
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}blockquote{color:#bbb}td,th{border-color:#444}\
.no{color:#ff9d9d}}footer{font-size:.8rem;margin-top:2rem;overflow-wrap:anywhere}\
@media print{body{max-width:none;margin:0;font-size:11pt;color:#000;background:#fff}tr,blockquote{break-inside:avoid}h2{break-after:avoid}}";

/// Content security policy that permits only the inline style of the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Renders a report as an HTML page. `made`: its origin.
#[must_use]
pub fn html(report: &Report, made: &str) -> String {
    let goal = without_controls(&report.goal);
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (goal) }
                style { (STYLE) }
            }
            body {
                h1 { (goal) }
                @if !report.complete {
                    p.no { "This report is incomplete; see the sections Missing and Notes." }
                }
                p { (without_controls(&report.summary)) }
                (key_points(report))
                (notes(report))
                (audit(report))
                footer { (without_controls(made)) }
            }
        }
    };
    page.into_string()
}

fn key_points(report: &Report) -> Markup {
    markup! {
        (heading("Key points", report.key_points.len()))
        @for (place, point) in report.key_points.iter().enumerate() {
            p { (place + 1) ". " (without_controls(&point.text)) }
            @for span in &point.citations {
                blockquote {
                    "“" (without_controls(&span.quote)) "”" br;
                    small { (without_controls(&span.url)) ", bytes " (span.start) " to " (span.end) }
                }
            }
        }
        (heading("Sources", report.citations.len()))
        @for source in &report.citations {
            p { (without_controls(&source.title)) br; small { (without_controls(&source.url)) ", SHA-256 " (source.sha256) } }
        }
    }
}

fn notes(report: &Report) -> Markup {
    markup! {
        (heading("Notes", report.notes.len()))
        @for note in &report.notes {
            p { b { (note.kind) } " " (without_controls(&note.text)) br; small { (without_controls(&note.url)) } }
        }
        (heading("Missing", report.missing.len()))
        @for missing in &report.missing {
            p { (without_controls(&missing.url)) br; small { (without_controls(&missing.why)) } }
        }
    }
}

fn audit(report: &Report) -> Markup {
    markup! {
        (heading("Verdicts of the guard", report.audit.len()))
        table {
            tr { th { "action" } th { "content" } th { "decision" } th { "reason" } }
            @for step in &report.audit {
                tr {
                    td { (step.action) }
                    td { (without_controls(&step.what)) }
                    td { (step.decision) }
                    td { (without_controls(&step.reason)) }
                }
            }
        }
    }
}

/// The heading of a section, unless the section is empty.
fn heading(title: &str, count: usize) -> Markup {
    markup! { @if count > 0 { h2 { (title) } } }
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
        let page = html(&report, "agrail 0, <today>");
        assert!(!page.contains("<script>") && !page.contains("\" onmouseover"));
    }
}
