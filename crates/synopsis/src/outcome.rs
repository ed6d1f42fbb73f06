//! What the right side of a row may evaluate to.

use tcl::{Exit, Obj, Outcome};

/// A result of a command: a value, nothing, or a `Result` of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no result of a command",
    note = "use Obj, Outcome, (), String, &str, bool, a number, Option, Vec or Result of one, or implement IntoOutcome"
)]
pub trait IntoOutcome {
    fn into_outcome(self) -> Outcome;
}

impl IntoOutcome for Obj {
    fn into_outcome(self) -> Outcome {
        Ok(self)
    }
}

impl IntoOutcome for &Obj {
    fn into_outcome(self) -> Outcome {
        Ok(self.clone())
    }
}

/// The empty string.
impl IntoOutcome for () {
    fn into_outcome(self) -> Outcome {
        Ok(Obj::new())
    }
}

macro_rules! by_from {
    ($($type:ty),*) => {$(
        impl IntoOutcome for $type {
            fn into_outcome(self) -> Outcome {
                Ok(Obj::from(self))
            }
        }
    )*};
}

by_from!(&str, String, &String, bool, i64, i32, u64, usize, f64);

impl IntoOutcome for u32 {
    fn into_outcome(self) -> Outcome {
        Ok(Obj::from(i64::from(self)))
    }
}

impl IntoOutcome for u16 {
    fn into_outcome(self) -> Outcome {
        Ok(Obj::from(i64::from(self)))
    }
}

/// A byte array.
impl IntoOutcome for Vec<u8> {
    fn into_outcome(self) -> Outcome {
        Ok(Obj::bytes(&self))
    }
}

/// A list.
impl IntoOutcome for Vec<Obj> {
    fn into_outcome(self) -> Outcome {
        Ok(Obj::list(self))
    }
}

/// A list.
impl IntoOutcome for Vec<String> {
    fn into_outcome(self) -> Outcome {
        Ok(Obj::list(self.into_iter().map(Obj::from)))
    }
}

/// A list.
impl IntoOutcome for Vec<&str> {
    fn into_outcome(self) -> Outcome {
        Ok(Obj::list(self.into_iter().map(Obj::from)))
    }
}

/// None is the empty string.
impl<T: IntoOutcome> IntoOutcome for Option<T> {
    fn into_outcome(self) -> Outcome {
        self.map_or_else(|| Ok(Obj::new()), T::into_outcome)
    }
}

impl<T: IntoOutcome, E: Into<Exit>> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Outcome {
        self.map_err(Into::into)?.into_outcome()
    }
}
