//! Which end belongs to which beginning, for texts in which that cannot be found by looking ahead in reasonable time.

/// Beginnings and ends in a text.
pub struct Nesting {
    /// Where they are.
    places: Vec<usize>,
    /// For each of them: which one ends what has begun right before it.
    ends: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Nesting {
    /// From places, each with whether something begins there. There may be 4 G of them.
    pub fn new(events: impl Iterator<Item = (usize, bool)>) -> Nesting {
        let mut events: Vec<(usize, bool)> = events.collect();
        // Stable, because that is fast for a few sorted runs one behind the other.
        events.sort();
        let mut ends = vec![NONE; events.len() + 1];
        for (at, (_, begins)) in events.iter().enumerate().rev() {
            ends[at] = match (begins, ends[at + 1]) {
                (false, _) => u32::try_from(at).unwrap_or(NONE),
                (true, NONE) => NONE,
                // Behind the end of what begins here it goes on as before it.
                (true, inner) => ends[inner as usize + 1],
            };
        }
        Nesting {
            places: events.into_iter().map(|(place, _)| place).collect(),
            ends,
        }
    }

    /// The end of what has begun right before `from`.
    pub fn close(&self, from: usize) -> Option<usize> {
        let first = self.places.partition_point(|place| *place < from);
        let end = self.ends[first];
        (end != NONE).then(|| self.places[end as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_belong_to_beginnings() {
        let text = "(a(b)(c)d)e)((f)";
        let events = text
            .char_indices()
            .filter(|(_, c)| "()".contains(*c))
            .map(|(at, c)| (at, c == '('));
        let nesting = Nesting::new(events);
        for (from, end) in [
            (1, Some(9)),
            (3, Some(4)),
            (6, Some(7)),
            (10, Some(11)),
            (13, None),
            (14, Some(15)),
            (16, None),
        ] {
            assert_eq!(nesting.close(from), end, "{from}");
        }
    }
}
