//! `choice!`: a type whose values are a few words.

/// Declares an enum whose values are words, for slots of [`commands!`](crate::commands) and for
/// [`params!`](crate::params).
///
/// ```text
/// choice! {
///     /// How bytes are written as text.
///     pub enum Encoding { Hex = "hex", Base64Url = "base64url", Base64 = "base64", Binary = "binary" }
/// }
/// ```
///
/// The words are exact: no abbreviations, case counts. The type gets `WORDS`, `word()`, `parse(&str) -> Option`.
#[macro_export]
macro_rules! choice {
    ($(
        $(#[$attr:meta])*
        $vis:vis enum $type:ident { $($(#[$inner:meta])* $value:ident = $word:literal),+ $(,)? }
    )+) => {$(
        $(#[$attr])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $type { $($(#[$inner])* $value),+ }

        #[allow(dead_code)]
        impl $type {
            /// The words, in the order messages list them.
            $vis const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word of this value.
            $vis const fn word(self) -> &'static str {
                match self { $(Self::$value => $word),+ }
            }

            /// The value of a word.
            $vis fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$value),)+ _ => None }
            }
        }

        impl $crate::FromObj for $type {
            const KIND: $crate::Kind = $crate::Kind::Words(Self::WORDS);
            fn from_obj(_: &$crate::Call<'_>, _: $crate::Label, value: &$crate::hidden::Obj) -> Result<Self, $crate::hidden::Exit> {
                value.with_text(Self::parse).ok_or_else(|| $crate::hidden::bad_option(value, Self::WORDS))
            }
        }

        impl $crate::Param for $type {
            const KIND: $crate::ParamKind = $crate::ParamKind::Words(Self::WORDS);
            fn parse(text: &str) -> Result<Self, String> {
                Self::parse(text).ok_or_else(|| $crate::hidden::not_a_word(text, Self::WORDS))
            }
        }

        impl $crate::IntoOutcome for $type {
            fn into_outcome(self) -> $crate::hidden::Outcome {
                Ok($crate::hidden::Obj::from(self.word()))
            }
        }
    )+};
}
