//! `params!`: the grammar of a section of the configuration.

/// Declares the parameters of a section.
///
/// ```text
/// params! {
///     /// Listening socket.
///     pub struct NssockParams in "ns/module/nssock" {
///         /// Port(s) to listen on.
///         port: Int<0, 65535> = "80",
///         /// Largest body.
///         maxinput: Size = "1MB",
///         address: Option<String>,
///         sendwait as "sendwait": Duration = "30s",
///         nodelay: bool = "true",
///         server: Vec<String>,
///     }
/// }
/// ```
///
/// makes the struct (`Clone, Debug`) with
/// `read(&dyn ParamSource) -> Result<Self, Vec<ParamProblem>>` (all problems, not only the first),
/// `defaults() -> Self` and `spec() -> &'static SectionSpec`. A parameter's name in the configuration is the field's
/// name without underscores, or the text behind `as`. A field that is neither `Option` nor `Vec` and has no default must
/// be configured. Types: bool, [`Int`](crate::Int), [`Size`](crate::Size), [`Duration`](std::time::Duration), String,
/// f64, a [`choice!`](crate::choice) type, or any [`Param`](crate::Param).
#[macro_export]
macro_rules! params {
    ($(
        $(#[doc = $about:literal])*
        $vis:vis struct $name:ident in $section:literal {
            $(
                $(#[doc = $doc:literal])*
                $field:ident $(as $key:literal)?: $type:ty $(= $default:literal)?
            ),* $(,)?
        }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Debug)]
        $vis struct $name {
            $($(#[doc = $doc])* pub $field: $type,)*
        }

        #[allow(dead_code)]
        impl $name {
            /// The section and its parameters as data.
            $vis fn spec() -> &'static $crate::SectionSpec {
                static SPEC: $crate::SectionSpec = $crate::SectionSpec {
                    name: $section,
                    doc: &[$($about),*],
                    rows: &[$($crate::ParamRow::of::<$type>(
                        $crate::__key!($field $($key)?),
                        $crate::__text!($($default)?),
                        &[$($doc),*],
                    )),*],
                };
                &SPEC
            }

            /// Reads the section. Errors: everything that is wrong with it.
            $vis fn read(source: &dyn $crate::ParamSource) -> Result<Self, Vec<$crate::ParamProblem>> {
                let mut reader = $crate::Reader::new(source, Self::spec());
                $(let $field = reader.take::<$type>();)*
                match ($($field,)*) {
                    ($(Some($field),)*) => Ok(Self { $($field),* }),
                    _ => Err(reader.problems),
                }
            }

            /// The section when nothing is configured. Panics if a parameter has no default or a wrong one, which
            /// `synopsis::laws` finds in tests.
            $vis fn defaults() -> Self {
                match Self::read(&$crate::NoParams) {
                    Ok(section) => section,
                    Err(problems) => panic!("{} has no complete defaults: {}", $section, problems[0]),
                }
            }
        }
    )*};
}

/// The name of a parameter in the configuration.
#[doc(hidden)]
#[macro_export]
macro_rules! __key {
    ($field:ident $key:literal) => {
        $key
    };
    ($field:ident) => {{
        const BYTES: [u8; $crate::hidden::stripped(stringify!($field))] =
            $crate::hidden::strip(stringify!($field));
        match std::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => stringify!($field),
        }
    }};
}
