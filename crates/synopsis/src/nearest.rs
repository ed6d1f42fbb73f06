//! The known name somebody probably meant.

/// The name in `known` closest to `name`, ignoring case: at most a third of its letters differ.
/// Distance is optimal string alignment: insertions, deletions, replacements and swaps of neighbours.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let limit = (name.len() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| {
            (
                distance(&name, &candidate.to_lowercase().chars().collect::<Vec<_>>()),
                candidate,
            )
        })
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, candidate)| candidate)
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = a[i - 1] == b[j - 1];
            let mut d = (last[j - 1] + usize::from(!same))
                .min(last[j] + 1)
                .min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d = d.min(before[j - 2] + 1);
            }
            row.push(d);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_slips_and_no_strangers() {
        let known = ["maxinput", "port", "address", "hostname"];
        assert_eq!(nearest("maxinptu", known), Some("maxinput"));
        assert_eq!(nearest("MaxInputs", known), Some("maxinput"));
        assert_eq!(nearest("prot", known), Some("port"));
        assert_eq!(nearest("adress", known), Some("address"));
        assert_eq!(nearest("keepalive", known), None);
        assert_eq!(nearest("", known), None);
    }
}
