//! The report of a run, as one HTML page without scripts: the curves by round, the lineage, and the final candidates.

use super::{Candidate, Evolved, HeldOut, Round, Side};
use crate::untrusted::without_controls;
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use plotters::prelude::*;

/// A figure of a round.
type Value = fn(&Round) -> Option<f64>;

const SIZE: (u32, u32) = (760, 340);
const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
td,th{text-align:right;padding:.2rem .8rem}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;padding:.6rem}\
svg{max-width:100%;height:auto}footer{color:#555;font-size:.85rem;margin-top:2rem}\
@media print{body{max-width:none;margin:0;font-size:11pt}pre{border:1px solid #999}h2,svg,tr{break-inside:avoid}h2{break-after:avoid}}";
/// Most candidates of each side and round in the tree.
const SHOWN: usize = 12;

/// The curves cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the curves: {0}")]
pub struct DrawError(String);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for DrawError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        // the error borrows the buffer of the drawing, so only its message can be returned
        Self(error.to_string())
    }
}

/// Attack success, true positives and true negatives by round, as SVG.
///
/// # Errors
/// [`DrawError`]
pub fn curves(rounds: &[Round]) -> Result<String, DrawError> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let last = rounds.last().map_or(1, |r| r.round.max(1)) as f64;
        let mut chart = ChartBuilder::on(&area)
            .margin(14)
            .x_label_area_size(34)
            .y_label_area_size(44)
            .build_cartesian_2d(0.0..last, 0.0..1.02)?;
        chart.configure_mesh().x_desc("round").x_labels(rounds.len().max(2)).draw()?;
        let lines: [(&str, RGBColor, Value); 4] = [
            ("attacks not seen", RGBColor(200, 60, 40), |r| Some(r.asr)),
            ("attacks seen", RGBColor(30, 90, 170), |r| Some(r.tpr)),
            ("honest texts passed", RGBColor(40, 140, 70), |r| Some(r.tnr)),
            ("attacks seen at 1 % false alarms", RGBColor(130, 80, 160), |r| r.tpr_at_1pct_fpr),
        ];
        for (name, colour, value) in lines {
            let points: Vec<(f64, f64)> = rounds.iter().filter_map(|r| Some((r.round as f64, value(r)?))).collect();
            if points.is_empty() {
                continue;
            }
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
                .label(name)
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(2)));
        }
        let labels =
            chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK.mix(0.3)).draw();
        labels?;
        area.present()?;
    }
    Ok(svg)
}

/// A candidate and its position in the tree, in pixels.
struct Dot<'a> {
    candidate: &'a Candidate,
    x: f64,
    y: f64,
}

/// The lineage as SVG: one column per round, attacks above defences, a line from each candidate to its parent. Better
/// candidates are darker.
#[must_use]
pub fn tree(lineage: &[Candidate]) -> String {
    lineage_tree(lineage).into_string()
}

fn lineage_tree(lineage: &[Candidate]) -> Markup {
    let rounds = lineage.iter().map(|c| c.round).max().unwrap_or(0) + 1;
    let (width, height) = (rounds * 90 + 40, SHOWN * 2 * 18 + 70);
    let dots = dots(lineage, rounds);
    let parent = |dot: &Dot<'_>| {
        let id = dot.candidate.parent.as_ref()?;
        dots.iter().rfind(|other| other.candidate.id == *id && other.x <= dot.x)
    };
    markup! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } {
            @for dot in &dots {
                @if let Some(parent) = parent(dot) {
                    line x1=(parent.x) y1=(parent.y) x2=(dot.x) y2=(dot.y) stroke="#999" stroke-width="0.6" {}
                }
            }
            @for Dot { candidate, x, y } in &dots {
                @let colour = if candidate.side == Side::Attack { "#c83c28" } else { "#1e5aaa" };
                @let opacity = format!("{:.2}", 0.2 + 0.8 * candidate.score.clamp(0.0, 1.0));
                circle cx=(x) cy=(y) r="5" fill=(colour) fill-opacity=(opacity) {
                    title { (candidate.id) " " (three(candidate.score)) " " (short(&candidate.gradient, 200)) }
                }
            }
        }
    }
}

/// The best candidates of each side and round, in columns.
fn dots(lineage: &[Candidate], rounds: usize) -> Vec<Dot<'_>> {
    let mut dots = Vec::new();
    for side in [Side::Attack, Side::Defence] {
        for round in 0..rounds {
            let mut column: Vec<&Candidate> = lineage.iter().filter(|c| c.side == side && c.round == round).collect();
            column.sort_by(|a, b| b.score.total_cmp(&a.score));
            for (row, candidate) in column.into_iter().take(SHOWN).enumerate() {
                let top = if side == Side::Attack { 30 } else { SHOWN * 18 + 50 };
                dots.push(Dot { candidate, x: (round * 90 + 30) as f64, y: (top + row * 18) as f64 });
            }
        }
    }
    dots
}

/// The whole report. `made`: its origin.
///
/// # Errors
/// [`DrawError`]
pub fn html(name: &str, evolved: &Evolved, made: &str) -> Result<String, DrawError> {
    let summary = &evolved.summary;
    let curves = PreEscaped(curves(&summary.rounds)?);
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (without_controls(name)) }
                style { (STYLE) }
            }
            body {
                h1 { (without_controls(name)) }
                p {
                    "Optimizer " (summary.optimizer) ", " (summary.rounds.len().saturating_sub(1)) " rounds, "
                    (format!("{:.0}", summary.wall_s)) " s, " (summary.model_calls) " model calls."
                }
                (curves)
                h2 { "Held out" }
                (held_out(&summary.held_out))
                h2 { "Lineage" }
                (lineage_tree(&evolved.lineage))
                @for (title, pool) in [("Attacks", &evolved.attacks), ("Defences", &evolved.defences)] {
                    h2 { (title) }
                    @for candidate in pool {
                        p { (candidate.id) " (" (three(candidate.score)) ")" }
                        pre { (short(&candidate.text, 1_500)) }
                    }
                }
                footer { (without_controls(made)) }
            }
        }
    };
    Ok(page.into_string())
}

fn held_out(held_out: &HeldOut) -> Markup {
    let rows = [("before", held_out.before), ("after", held_out.after), ("a list of phrases", held_out.heuristics)];
    markup! {
        table {
            tr { th {} th { "attacks seen" } th { "honest texts passed" } }
            @for (name, scores) in rows {
                tr { td { (name) } td { (three(scores.tpr)) } td { (three(scores.tnr)) } }
            }
        }
    }
}

/// A score with three decimal places.
fn three(score: f64) -> String {
    format!("{score:.3}")
}

/// At most `most` characters, control characters as spaces.
fn short(text: &str, most: usize) -> String {
    let text = without_controls(text);
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
