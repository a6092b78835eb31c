//! Training of a head: gradient descent from the weights of the parent on hard examples and honest texts. The initial
//! heads differ in the weights of the indicators.

use crate::injection::Seen;
use crate::injection::head::{Head, INPUTS, Linear, inputs, sigmoid};
use std::sync::Arc;

/// Passes over the examples.
const EPOCHS: usize = 12;
/// Learning rates over embeddings, from which a turn chooses.
const RATES: [f32; 4] = [0.008, 0.02, 0.04, 0.08];

/// Strength of the pull towards the initial weights.
const ANCHOR: f32 = 0.01;
/// Log odds that are subtracted for a segment that hardly looks like an instruction. Without them, more honest texts
/// are flagged than attacks are found (measured on public texts).
const LESS: f32 = 2.0;
/// Distance of the honest texts below the threshold, in log odds.
const MARGIN: f32 = 0.6;
/// The highest and the lowest threshold of a sound head.
const THRESHOLD: (f32, f32) = (0.97, 0.3);

/// Initial heads: the first one, then variants with more weight on the embedding, the rules, or the words.
pub(super) fn seeds(first: &Head) -> Vec<Head> {
    let heeding = |places: &[usize]| {
        let mut head = Head { spare: Some(LESS), ..first.clone() };
        for place in places {
            if let Some(weight) = head.combine.weights.get_mut(*place) {
                *weight *= 1.25;
            }
        }
        head
    };
    vec![first.clone(), heeding(&[2, 3, 5, 6]), heeding(&[0, 1]), heeding(&[4, 7, 10])]
}

/// Whether a head has the right sizes, is finite, and has a threshold that flags something but not everything.
pub(super) fn sound(head: &Head, first: &Head) -> bool {
    let fits = |own: &Linear, other: &Linear| own.weights.len() == other.weights.len();
    head.embedder == first.embedder
        && fits(&head.hostile, &first.hostile)
        && fits(&head.order, &first.order)
        && fits(&head.combine, &first.combine)
        && head.finite()
        && (THRESHOLD.1..=THRESHOLD.0).contains(&head.threshold)
}

/// The mean of several heads.
pub(super) fn mixed(heads: &[Head], first: &Head) -> Head {
    let mut mean = Head { spare: Some(LESS), ..first.clone() };
    let share = 1.0 / heads.len().max(1) as f32;
    let lay = |own: &mut Linear, of: &dyn Fn(&Head) -> Linear| {
        own.weights.iter_mut().for_each(|w| *w = 0.0);
        own.bias = 0.0;
        for head in heads {
            let other = of(head);
            own.bias += other.bias * share;
            own.weights.iter_mut().zip(&other.weights).for_each(|(w, o)| *w += o * share);
        }
    };
    if !heads.is_empty() {
        lay(&mut mean.hostile, &|h| h.hostile.clone());
        lay(&mut mean.order, &|h| h.order.clone());
        lay(&mut mean.combine, &|h| h.combine.clone());
        mean.unembedded = Some(first.unembedded.unwrap_or(first.combine.bias));
        mean.threshold = heads.iter().map(|h| h.threshold * share).sum();
    }
    mean
}

/// A head trained on `orders` (segments with injected instructions) and the segments of honest texts. `turn` chooses
/// the learning rate.
pub(super) fn taught(parent: &Head, first: &Head, orders: &[Seen], clean: &[Arc<Vec<Seen>>], turn: u64) -> Head {
    let mut head = Head { spare: Some(LESS), ..parent.clone() };
    let rate = RATES.get((turn % 4) as usize).copied().unwrap_or(0.05);
    let ordinary: Vec<&Seen> = clean.iter().flat_map(|seen| seen.iter()).collect();
    // both classes have the same total weight, but no example weighs more than 4
    let heavy = |count: usize| (orders.len() + ordinary.len()).max(1) as f32 / (2 * count.max(1)) as f32;
    let (up, down) = (heavy(orders.len()).min(4.0), heavy(ordinary.len()).min(4.0));
    for _ in 0..EPOCHS {
        for seen in orders {
            step(&mut head, seen, 1.0, rate * up);
        }
        for seen in &ordinary {
            step(&mut head, seen, 0.0, rate * down);
        }
        hold(&mut head.hostile, &first.hostile);
        hold(&mut head.order, &first.order);
    }
    let mut scores: Vec<f32> =
        clean.iter().map(|seen| seen.iter().map(|s| s.score(&head)).fold(0.0, f32::max)).collect();
    scores.sort_by(f32::total_cmp);
    // the threshold stays and the constant moves: 99 % of the honest texts then lie at least `MARGIN` below the
    // threshold
    let strict = scores.len().checked_sub(1 + scores.len() / 100).and_then(|at| scores.get(at)).copied();
    if let Some(strict) = strict {
        head.combine.bias -= odds(strict) - odds(first.threshold) + MARGIN;
    }
    // the examples train only the heads over embeddings, so the constant without an embedding stays
    head.unembedded = Some(first.unembedded.unwrap_or(first.combine.bias));
    head.threshold = first.threshold;
    head.rounded()
}

/// A probability as log odds, within bounds.
fn odds(probability: f32) -> f32 {
    let p = probability.clamp(1e-6, 1.0 - 1e-6);
    (p / (1.0 - p)).ln()
}

/// One gradient step on the logistic loss of one segment, through the combining head into both heads over the
/// embedding. The weights of the combining head stay: if a few attacks and a few hundred sentences train them, they are
/// wrong for other texts (measured).
fn step(head: &mut Head, seen: &Seen, label: f32, rate: f32) {
    let vector = seen.vector.as_deref();
    let odds = vector.map_or((0.0, 0.0), |v| (head.hostile.value(v), head.order.value(v)));
    let inputs: [f32; INPUTS] = inputs(odds, seen.rules, seen.many, &seen.words, seen.place);
    let less = if seen.weak { head.spare.unwrap_or_default() } else { 0.0 };
    let error = sigmoid(head.combine.value(&inputs) + head.constant(vector.is_some()) - less) - label;
    let among = if seen.place.among { 1.0 } else { 0.0 };
    let weight = |at: usize| head.combine.weights.get(at).copied().unwrap_or(0.0);
    let (hostile, order) = (weight(2) + among * weight(5), weight(3) + among * weight(6));
    if let Some(vector) = vector {
        descend(&mut head.hostile, vector, error * hostile * rate);
        descend(&mut head.order, vector, error * order * rate);
    }
}

fn descend(linear: &mut Linear, inputs: &[f32], by: f32) {
    linear.weights.iter_mut().zip(inputs).for_each(|(w, x)| *w -= by * x);
    linear.bias -= by;
}

fn hold(linear: &mut Linear, first: &Linear) {
    linear.weights.iter_mut().zip(&first.weights).for_each(|(w, s)| *w -= ANCHOR * (*w - s));
    linear.bias -= ANCHOR * (linear.bias - first.bias);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::injection::directive::Directive;
    use crate::injection::head::Place;

    #[test]
    fn it_learns_what_it_missed_and_stays_sound() {
        let first = Head::shipped().unwrap();
        let seen = |sign: f32| Seen {
            text: "x".to_owned(),
            vector: Some(
                (0..first.hostile.weights.len()).map(|n| if n % 7 == 0 { sign * 0.13 } else { 0.0 }).collect(),
            ),
            rules: 0.0,
            many: false,
            words: Directive { score: 1.0, polite: false, own: false },
            place: Place { among: true, structured: false, calm: 0.9 },
            weak: false,
        };
        let clean = vec![Arc::new(vec![seen(-1.0)])];
        let taught = taught(&first, &first, &[seen(1.0)], &clean, 3);
        assert!(seen(1.0).score(&taught) > seen(1.0).score(&first));
        assert!(seen(1.0).score(&taught) >= taught.threshold, "it is flagged now");
        assert!(seen(-1.0).score(&taught) < taught.threshold);
        assert!(sound(&taught, &first));
        let mut broken = (*first).clone();
        broken.order.bias = f32::NAN;
        assert!(!sound(&broken, &first));
    }
}
