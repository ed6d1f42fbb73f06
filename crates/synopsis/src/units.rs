//! Times and sizes as slots.

use crate::kinds::FromObj;
use crate::parse::Call;
use crate::row::{Kind, Label};
pub use shared::time::Time;
use tcl::{Exit, Obj};

/// A number of bytes, `10`, `12KB`, `1.5MB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemorySize(pub i64);

/// A time that is not negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval(pub Time);

impl FromObj for Time {
    const KIND: Kind = Kind::Value("time");
    fn from_obj(_: &Call<'_>, _: Label, value: &Obj) -> Result<Time, Exit> {
        value.with_text(|text| Time::parse(text).map_err(|e| tcl::error(e.to_string())))
    }
}

impl FromObj for Interval {
    const KIND: Kind = Kind::Value("time");
    fn from_obj(call: &Call<'_>, label: Label, value: &Obj) -> Result<Interval, Exit> {
        let time = Time::from_obj(call, label, value)?;
        if time.is_negative() {
            return Err(tcl::error(format!(
                "expected time value in range [0s, MAX], for '{label}', but got {}",
                value.text()
            )));
        }
        Ok(Interval(time))
    }
}

impl FromObj for MemorySize {
    const KIND: Kind = Kind::Value("memory-size");
    fn from_obj(_: &Call<'_>, _: Label, value: &Obj) -> Result<MemorySize, Exit> {
        value.with_text(|text| {
            shared::size::parse(text)
                .map(MemorySize)
                .map_err(|e| tcl::error(e.to_string()))
        })
    }
}

impl crate::IntoOutcome for Time {
    /// Its decimal form.
    fn into_outcome(self) -> tcl::Outcome {
        Ok(Obj::from(self.decimal()))
    }
}
