//! Finds files that were moved: one that is gone, and a new one with the same or a similar text.

use std::collections::HashMap;

use super::turn::TurnFile;
use crate::checkpoints::image::Image;

/// Least percentage of lines that a moved file keeps, as in Git.
const SIMILAR: usize = 50;
/// Maximum number of pairs whose texts are compared.
const MOST_COMPARED: usize = 400;

/// Joins the two places of each file that was moved.
pub(super) fn pair(mut files: Vec<TurnFile>) -> Vec<TurnFile> {
    let mut gone = Vec::new();
    let mut made = Vec::new();
    for (at, file) in files.iter().enumerate() {
        match (&file.change.before, &file.change.after) {
            (Image::File { .. }, Image::Absent) => gone.push(at),
            (Image::Absent, Image::File { .. }) => made.push(at),
            _ => {}
        }
    }
    let mut pairs = Vec::new();
    let compares = gone.len() * made.len() <= MOST_COMPARED;
    for from in gone {
        let all = made
            .iter()
            .map(|to| (similarity(&files, from, *to, compares), *to));
        // The first of equal ones.
        let best = all.filter(|it| it.0 >= SIMILAR).rev().max_by_key(|it| it.0);
        if let Some((similarity, to)) = best {
            made.retain(|it| *it != to);
            pairs.push((from, to, similarity));
        }
    }
    for (from, to, similarity) in &pairs {
        let new = files[*to].clone();
        let old = &mut files[*from];
        old.head = format!(
            "similarity index {similarity}%\nrename from {}\nrename to {}\n",
            old.name, new.name
        );
        old.unshown = old.unshown.or(new.unshown);
        old.is_mixed |= new.is_mixed;
        (old.after, old.moved_to) = (new.after, Some(new.name));
        old.moved = Some(new.change);
        // A difference needs both texts.
        if old.unshown.is_some() {
            (old.before, old.after) = (None, None);
        }
    }
    let mut at = 0;
    files.retain(|_| {
        at += 1;
        pairs.iter().all(|(_, to, _)| *to != at - 1)
    });
    files
}

/// The percentage of lines that two files share.
fn similarity(files: &[TurnFile], from: usize, to: usize, compares: bool) -> usize {
    let (old, new) = (&files[from], &files[to]);
    if old.change.before.hash() == new.change.after.hash() {
        return 100;
    }
    let (Some(before), Some(after)) = (&old.before, &new.after) else {
        return 0;
    };
    if !compares {
        return 0;
    }
    let mut lines: HashMap<&str, usize> = HashMap::new();
    before
        .lines()
        .for_each(|it| *lines.entry(it).or_default() += 1);
    let kept = after.lines().filter(|it| match lines.get_mut(it) {
        Some(left @ 1..) => {
            *left -= 1;
            true
        }
        _ => false,
    });
    let most = before.lines().count().max(after.lines().count()).max(1);
    // Equal texts were found above.
    (kept.count() * 100 / most).min(99)
}
