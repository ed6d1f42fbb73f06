//! Which end belongs to which beginning, for texts in which that cannot be found by looking ahead in reasonable time.

use std::collections::HashMap;

/// Beginnings and ends in a text, as a curve that rises by one with each beginning and falls with each end.
pub struct Nesting {
    /// Where they are.
    places: Vec<usize>,
    /// How high the curve is behind each of them.
    heights: Vec<i32>,
    /// The ends behind which the curve is so high, in order.
    ends: HashMap<i32, Vec<u32>>,
}

impl Nesting {
    /// From places, each with whether something begins there. There may be 4 G of them.
    pub fn new(events: impl Iterator<Item = (usize, bool)>) -> Nesting {
        let mut events: Vec<(usize, bool)> = events.collect();
        events.sort_unstable();
        let mut nesting = Nesting {
            places: Vec::with_capacity(events.len()),
            heights: Vec::with_capacity(events.len()),
            ends: HashMap::new(),
        };
        let mut height = 0;
        for (index, (place, begins)) in (0..).zip(events) {
            height += if begins { 1 } else { -1 };
            nesting.places.push(place);
            nesting.heights.push(height);
            if !begins {
                nesting.ends.entry(height).or_default().push(index);
            }
        }
        nesting
    }

    /// The end of what has begun right before `from`: where the curve is lower than there for the first time.
    pub fn close(&self, from: usize) -> Option<usize> {
        let first = self.places.partition_point(|place| *place < from);
        let height = if first == 0 {
            0
        } else {
            self.heights[first - 1]
        };
        let ends = self.ends.get(&(height - 1))?;
        let at = ends.partition_point(|index| (*index as usize) < first);
        ends.get(at).map(|index| self.places[*index as usize])
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
