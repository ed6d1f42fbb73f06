//! Rates: how fast bytes may leave, for one connection or for many together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A limit of bytes per second, shared by all responses that are sent under it. What was not used counts for a quarter
/// of a second, so short responses pass at once.
#[derive(Debug)]
pub struct Throttle {
    /// Bytes per second; 0: no limit.
    rate: AtomicU64,
    bucket: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Option<Instant>,
}

/// The limits a response is sent under; all of them hold.
pub type Limits = Vec<Arc<Throttle>>;

/// Smallest store of unused bytes: with very low rates the head and a first piece still go in one packet.
const LEAST: f64 = 4096.0;

impl Throttle {
    /// `rate`: bytes per second; 0 is no limit.
    pub fn new(rate: u64) -> Throttle {
        Throttle {
            rate: AtomicU64::new(rate),
            bucket: Mutex::new(Bucket {
                tokens: 0.0,
                at: None,
            }),
        }
    }

    /// Bytes per second; 0: no limit.
    pub fn rate(&self) -> u64 {
        self.rate.load(Relaxed)
    }

    /// Holds from the next piece on, also for responses that are on their way.
    pub fn set_rate(&self, rate: u64) {
        self.rate.store(rate, Relaxed);
    }

    /// How many bytes may be sent now; `Err`: none, ask again after that time.
    fn allowance(&self, now: Instant) -> Result<u64, Duration> {
        let rate = self.rate() as f64;
        if rate == 0.0 {
            return Ok(u64::MAX);
        }
        let store = (rate / 4.0).max(LEAST);
        let mut bucket = self.bucket.lock();
        let gained = bucket.at.map_or(store, |at| {
            now.saturating_duration_since(at).as_secs_f64() * rate
        });
        bucket.tokens = (bucket.tokens + gained).min(store);
        bucket.at = Some(now);
        // Not for every byte that may be sent: a tenth of a second's worth at a time.
        let worthwhile = (rate / 10.0).min(store / 2.0);
        if bucket.tokens >= worthwhile {
            return Ok(bucket.tokens as u64);
        }
        Err(Duration::from_secs_f64((worthwhile - bucket.tokens) / rate)
            .max(Duration::from_millis(1)))
    }

    /// Bytes were sent.
    fn charge(&self, bytes: u64) {
        if self.rate() > 0 {
            self.bucket.lock().tokens -= bytes as f64;
        }
    }
}

/// How many bytes may be sent now under all limits; `Err`: none, ask again after that time.
pub(crate) fn allowance(limits: &Limits, now: Instant) -> Result<u64, Duration> {
    let mut least = u64::MAX;
    for limit in limits {
        least = least.min(limit.allowance(now)?);
    }
    Ok(least)
}

/// Bytes were sent.
pub(crate) fn charge(limits: &Limits, bytes: u64) {
    for limit in limits {
        limit.charge(bytes);
    }
}

/// The lowest of the rates; 0: none.
pub(crate) fn lowest(limits: &Limits) -> u64 {
    limits
        .iter()
        .map(|limit| limit.rate())
        .filter(|&rate| rate > 0)
        .min()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_over_time() {
        let throttle = Arc::new(Throttle::new(100_000));
        let limits = vec![throttle];
        let start = Instant::now();
        let mut now = start;
        let mut sent = 0;
        while now < start + Duration::from_secs(10) {
            match allowance(&limits, now) {
                Ok(n) => {
                    charge(&limits, n);
                    sent += n;
                }
                Err(wait) => now += wait,
            }
        }
        // Ten seconds' worth, and what was stored at the beginning.
        assert!((1_000_000..1_030_000).contains(&sent), "{sent}");
    }

    #[test]
    fn the_lowest_limit_counts_and_none_is_none() {
        let now = Instant::now();
        let limits = vec![
            Arc::new(Throttle::new(0)),
            Arc::new(Throttle::new(8_000_000)),
        ];
        assert_eq!(allowance(&limits, now), Ok(2_000_000));
        assert_eq!(lowest(&limits), 8_000_000);
        charge(&limits, 2_000_000);
        let wait = allowance(&limits, now).unwrap_err();
        assert_eq!(wait, Duration::from_millis(100));
        limits[1].set_rate(0);
        assert_eq!(allowance(&limits, now), Ok(u64::MAX));
    }
}
