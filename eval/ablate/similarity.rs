//! Similarity of a learned checklist to the ground truth, in 0..=1.
//!
//! 1. [`cosine`], by meaning: the mean of each item's best match in the other list, from both sides.
//! 2. [`tfidf`], by words: each list is one bag of words, and rare words weigh more.
//!
//! The paper (arXiv 2502.11448) states only that it uses the cosine and the TF-IDF similarity of the checklist to the
//! ground truth. The symmetric form of [`cosine`] and the exact weights of [`tfidf`] are choices of this project, so
//! the numbers cannot be compared with those of the paper.

use std::collections::{BTreeMap, HashSet};

/// Stop words: they carry no information about a check.
const STOP: [&str; 62] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by", "can", "did", "do", "does", "for",
    "from", "had", "has", "have", "if", "in", "into", "is", "it", "its", "may", "must", "no", "nor", "not", "of", "on",
    "only", "or", "shall", "should", "so", "such", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "was", "were", "what", "when", "where", "which", "who", "whose", "will", "with",
];

/// Harmonic mean of two means: the best match in `learned` for each true item, and the best match in `truth` for each
/// learned item.
///
/// Missing items lower the first mean, superfluous items the second. A best match below 0 counts as 0. The result is 0
/// if a list is empty.
#[must_use]
pub fn cosine(learned: &[Vec<f32>], truth: &[Vec<f32>]) -> f64 {
    let (found, fitting) = (mean_best(truth, learned), mean_best(learned, truth));
    if found + fitting > 0.0 { 2.0 * found * fitting / (found + fitting) } else { 0.0 }
}

/// Mean over `from` of the best match in `to`.
fn mean_best(from: &[Vec<f32>], to: &[Vec<f32>]) -> f64 {
    let best = |a: &Vec<f32>| to.iter().map(|b| angle(a, b)).fold(0.0, f64::max);
    from.iter().map(best).sum::<f64>() / from.len().max(1) as f64
}

/// Cosine of two vectors, which need not be of unit length; 0 if one is zero.
fn angle(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let scale = (dot(a, a) * dot(b, b)).sqrt();
    if scale > 0.0 { (dot(a, b) / scale).min(1.0) } else { 0.0 }
}

/// Cosine of the two lists' TF-IDF vectors, in 0..=1; 0 if a list has no words.
///
/// `corpus` contains one list per document. With N documents, df of which contain a word, a word that occurs tf times
/// in a list weighs `tf * (ln((1 + N) / (1 + df)) + 1)`. A word in no document is therefore the rarest one, not an
/// error.
#[must_use]
pub fn tfidf(learned: &[String], truth: &[String], corpus: &[Vec<String>]) -> f64 {
    let documents: Vec<HashSet<String>> = corpus.iter().map(|list| words(list).collect()).collect();
    let weigh = |list: &[String]| {
        let mut bag: BTreeMap<String, f64> = BTreeMap::new();
        for word in words(list) {
            *bag.entry(word).or_default() += 1.0;
        }
        for (word, weight) in &mut bag {
            let with = documents.iter().filter(|document| document.contains(word)).count();
            *weight *= ((1 + documents.len()) as f64 / (1 + with) as f64).ln() + 1.0;
        }
        bag
    };
    let (a, b) = (weigh(learned), weigh(truth));
    let product: f64 = a.iter().filter_map(|(word, x)| b.get(word).map(|y| x * y)).sum();
    let norm = |bag: &BTreeMap<String, f64>| bag.values().map(|x| x * x).sum::<f64>().sqrt();
    let scale = norm(&a) * norm(&b);
    if scale > 0.0 { (product / scale).clamp(0.0, 1.0) } else { 0.0 }
}

/// Lower-case words without stop words, in the singular.
fn words(list: &[String]) -> impl Iterator<Item = String> {
    let split = |text: &String| {
        let lower = text.to_lowercase();
        let kept = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty() && !STOP.contains(word));
        kept.map(singular).collect::<Vec<_>>()
    };
    list.iter().flat_map(split)
}

/// Strips the most common English plurals; short words and words in -ss, -us or -is stay unchanged.
fn singular(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    if ["sses", "shes", "xes"].iter().any(|end| word.ends_with(end)) {
        return word.strip_suffix("es").unwrap_or(word).to_owned();
    }
    let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with(['s', 'u', 'i']));
    stem.unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
    }

    #[test]
    fn missing_and_superfluous_checks_both_cost() {
        let (x, y, z) = (vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]);
        near(cosine(&[x.clone(), y.clone()], &[y.clone(), x.clone()]), 1.0);
        // Half of the truth is found, all that is learned fits: 2 * 0.5 * 1 / 1.5.
        near(cosine(std::slice::from_ref(&x), &[x.clone(), y.clone()]), 2.0 / 3.0);
        // All of the truth is found, a third of what is learned fits: 2 * 1 * (1/3) / (4/3).
        near(cosine(&[x.clone(), y, z], &[x]), 0.5);
        // Best matches 0.6 and 1 for the truth, 1 for what is learned: 2 * 0.8 * 1 / 1.8.
        near(cosine(&[vec![1.0, 0.0]], &[vec![0.6, 0.8], vec![1.0, 0.0]]), 1.6 / 1.8);
    }

    #[test]
    fn opposite_empty_and_zero_vectors_count_nothing() {
        let x = vec![1.0, 0.0];
        near(cosine(&[vec![-1.0, 0.0]], std::slice::from_ref(&x)), 0.0);
        // The opposite item costs half of the fit: 2 * 1 * 0.5 / 1.5.
        near(cosine(&[x.clone(), vec![-1.0, 0.0]], std::slice::from_ref(&x)), 2.0 / 3.0);
        near(cosine(&[vec![3.0, 0.0]], std::slice::from_ref(&x)), 1.0);
        for (a, b) in [(vec![], vec![x.clone()]), (vec![x.clone()], vec![]), (vec![vec![0.0, 0.0]], vec![x])] {
            near(cosine(&a, &b), 0.0);
        }
    }

    #[test]
    fn rare_words_weigh_more() {
        let corpus = [list(&["file owner"]), list(&["file process"]), list(&["file secret"])];
        // idf: file ln(4/4) + 1 = 1, owner ln(4/2) + 1 = 1.693147; |file owner| = sqrt(1 + 2.866747) = 1.966405.
        near(tfidf(&list(&["owner"]), &list(&["file owner"]), &corpus), 0.861_037);
        near(tfidf(&list(&["file"]), &list(&["file owner"]), &corpus), 0.508_542);
        // A word of no document: ln(4/1) + 1 = 2.386294; |file lid| = sqrt(1 + 5.694400) = 2.587354.
        near(tfidf(&list(&["file"]), &list(&["file", "lid"]), &corpus), 0.386_495);
        near(tfidf(&list(&["process"]), &list(&["secret"]), &corpus), 0.0);
    }

    #[test]
    fn order_number_case_and_stop_words_do_not_count() {
        near(tfidf(&list(&["The OWNERS of a file!"]), &list(&["Files:", "owner"]), &[]), 1.0);
        // tf 2 and 1 against 1 and 1: 3 / (sqrt(5) * sqrt(2)).
        near(tfidf(&list(&["file file owner"]), &list(&["file owner"]), &[]), 3.0 / 10.0_f64.sqrt());
        near(tfidf(&[], &list(&["file"]), &[]), 0.0);
        near(tfidf(&list(&["the of and"]), &list(&["file"]), &[]), 0.0);
    }

    #[test]
    fn plurals_are_stripped_lightly() {
        for (plural, one) in [
            ("files", "file"),
            ("processes", "process"),
            ("directories", "directory"),
            ("access", "access"),
            ("status", "status"),
            ("this", "this"),
            ("keys", "key"),
            ("os", "os"),
            ("größen", "größen"),
        ] {
            assert_eq!(singular(plural), one);
        }
    }
}
