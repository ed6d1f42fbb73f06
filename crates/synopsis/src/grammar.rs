//! `commands!`: the grammar of a table of commands.
//!
//! It uses repetitions and no recursion, so the length of a table is not limited and its cost stays linear (10 ms of
//! compilation per row of seven slots). There is no last rule that takes anything: without it the compiler points at the
//! token that does not fit.

/// Declares commands.
///
/// ```text
/// commands! { TABLE(call):
///
///     /// MD5 digest of a string.
///     "ns_md5" [-binary: bool, --] (string: Obj)
///         => digest::md5(&string, binary);
///
///     /// Entry of a set.
///     "ns_set get" [-all: bool, -nocase: bool, --] (set as "setId": Set, key: String, default: Option<Obj>)
///         => sets::get(&set, &key, all, nocase, default);
/// }
/// ```
///
/// makes `pub static TABLE: &[Command]`. A row is
///
/// * `/// documentation`, and marks: `#[deprecated("use X")]`, `#[style(proc)]` (also `args`, `nsf`: see [`Style`]),
///   `#[usage("...")]`, `#[complains("...")]`, `#[named("...")]`, `#[family("/subcommand/ ?/arg .../?")]`: see [`Meta`];
/// * the name, of one or more words;
/// * optionally `[options]`, then `(arguments)`, then `[options]`, then `(arguments)`; or `{rest in OTHER_TABLE}` in
///   place of the last arguments: the remaining words are a subcommand of `OTHER_TABLE` (`rest.run(call, &context)`);
/// * `=>`, an expression that sees the slots as variables and `call: &Call`; its type is any [`IntoOutcome`], and `?`
///   works in it;
/// * `;`.
///
/// A slot is `name: Type`, an option `-name: Type`; `--` at the end of options lets scripts end them. The type is the
/// grammar: `bool` is a flag (as an argument: `true|false`), `T` is required, `Option<T>` is not, `T = default` is not
/// and has a default, [`Int<MIN, MAX>`](crate::Int) has limits, a [`choice!`](crate::choice) type lists its words,
/// [`Rest`] takes all remaining words and needs one, `Option<Rest>` needs none. `Option<bool>` as an option takes a
/// value, `?-secure true|false?`. Own kinds implement [`FromObj`].
///
/// Names that users see may differ: `r#type` is `type`; `name as "text": Type` shows another name; a text with `/` or
/// `|` stands in the usage as it is; for an option a text with a dash in front is its name, any other text is what its
/// value looks like (`-port as "/port/": Obj`).
///
/// [`Style`]: crate::Style
/// [`Meta`]: crate::Meta
/// [`IntoOutcome`]: crate::IntoOutcome
/// [`FromObj`]: crate::FromObj
/// [`Rest`]: crate::Rest
#[macro_export]
macro_rules! commands {
    ($table:ident($call:ident):
        $(
            $(#[$($meta:tt)*])*
            $name:literal
            $([$($options:tt)*])?
            $(
                ($($args:tt)*)
                $([$($options2:tt)*])?
                $(($($args2:tt)*))?
            )?
            $({$($sub:tt)*})?
            => $body:expr;
        )*
    ) => {
        pub static $table: &[$crate::Command] = &[$(
            $crate::Command {
                name: $name,
                meta: &[$($crate::__meta!($($meta)*)),*],
                groups: &[
                    $($crate::__options!($($options)*),)?
                    $(
                        $crate::__args!($($args)*),
                        $($crate::__options!($($options2)*),)?
                        $($crate::__args!($($args2)*),)?
                    )?
                    $($crate::__sub!($($sub)*),)?
                ],
                run: {
                    #[allow(unused_variables, unused_mut, clippy::let_unit_value, clippy::unit_arg)]
                    fn run($call: &$crate::Call<'_>) -> $crate::hidden::Outcome {
                        let mut parsed = $crate::Parsed::new($call)?;
                        $($crate::__bind_options!(parsed $($options)*);)?
                        $(
                            $crate::__bind_args!(parsed $($args)*);
                            $($crate::__bind_options!(parsed $($options2)*);)?
                            $($crate::__bind_args!(parsed $($args2)*);)?
                        )?
                        $($crate::__bind_sub!(parsed $($sub)*);)?
                        parsed.finish()?;
                        $crate::IntoOutcome::into_outcome($body)
                    }
                    run
                },
            },
        )*];
    };
}

/// One `#[...]` of a row.
#[doc(hidden)]
#[macro_export]
macro_rules! __meta {
    (doc = $text:literal) => { $crate::Meta::Doc($text) };
    (deprecated($text:literal)) => { $crate::Meta::Deprecated($text) };
    (style(native)) => { $crate::Meta::Style($crate::Style::Native) };
    (style(proc)) => { $crate::Meta::Style($crate::Style::Proc) };
    (style(args)) => { $crate::Meta::Style($crate::Style::Args) };
    (style(nsf)) => { $crate::Meta::Style($crate::Style::Nsf) };
    (usage($text:literal)) => { $crate::Meta::Usage($text) };
    (complains($text:literal)) => { $crate::Meta::Complains($text) };
    (named($text:literal)) => { $crate::Meta::Named($text) };
    (family($text:literal)) => { $crate::Meta::Family($text) };
    ($($other:tt)*) => {
        compile_error!(concat!("unknown mark on a row: #[", stringify!($($other)*), "]; known: deprecated(\"\"), style(proc|args|nsf), usage(\"\"), complains(\"\"), named(\"\"), family(\"\")"))
    };
}

/// The slots between brackets, as data.
#[doc(hidden)]
#[macro_export]
macro_rules! __options {
    () => { $crate::Group::Options { slots: &[], dashes: false } };
    (--) => { $crate::Group::Options { slots: &[], dashes: true } };
    ($(-$name:ident $(as $text:literal)?: $type:ty $(= $default:expr)?),+ , -- $(,)?) => {
        $crate::Group::Options { slots: &[$($crate::__slot!(option $name, $type, [$($text)?], [$($default)?])),+], dashes: true }
    };
    ($(-$name:ident $(as $text:literal)?: $type:ty $(= $default:expr)?),+ $(,)?) => {
        $crate::Group::Options { slots: &[$($crate::__slot!(option $name, $type, [$($text)?], [$($default)?])),+], dashes: false }
    };
    ($($other:tt)*) => {
        compile_error!(concat!("cannot read the options [", stringify!($($other)*), "]; they look like [-name: Type, -other: Option<Type>, --]"))
    };
}

/// The slots between parentheses, as data.
#[doc(hidden)]
#[macro_export]
macro_rules! __args {
    ($($name:ident $(as $text:literal)?: $type:ty $(= $default:expr)?),* $(,)?) => {
        $crate::Group::Args(&[$($crate::__slot!(arg $name, $type, [$($text)?], [$($default)?])),*])
    };
    ($($other:tt)*) => {
        compile_error!(concat!("cannot read the arguments (", stringify!($($other)*), "); they look like (name: Type, other: Option<Type>)"))
    };
}

/// `{rest in TABLE}`, as data.
#[doc(hidden)]
#[macro_export]
macro_rules! __sub {
    ($name:ident in $table:path) => { $crate::Group::Table($table) };
    ($($other:tt)*) => {
        compile_error!(concat!("cannot read the subcommands {", stringify!($($other)*), "}; they look like {rest in TABLE}"))
    };
}

/// One slot, as data.
#[doc(hidden)]
#[macro_export]
macro_rules! __slot {
    ($make:ident $name:ident, $type:ty, [$($text:literal)?], [$($default:expr)?]) => {
        $crate::Slot::$make(
            stringify!($name),
            $crate::__text!($($text)?),
            <$type as $crate::Take<'_>>::KIND,
            <$type as $crate::Take<'_>>::NEED,
            $crate::__given!($($default)?),
        )
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __text {
    () => {
        None
    };
    ($text:literal) => {
        Some($text)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __given {
    () => {
        false
    };
    ($default:expr) => {
        true
    };
}

/// Variables for the slots between brackets. What is wrong with them, `__options!` has said.
#[doc(hidden)]
#[macro_export]
macro_rules! __bind_options {
    ($parsed:ident) => {};
    ($parsed:ident --) => {};
    ($parsed:ident $(-$name:ident $(as $text:literal)?: $type:ty $(= $default:expr)?),+ , -- $(,)?) => {
        $(let $name: $type = $crate::__take!($parsed $($default)?);)+
    };
    ($parsed:ident $(-$name:ident $(as $text:literal)?: $type:ty $(= $default:expr)?),+ $(,)?) => {
        $(let $name: $type = $crate::__take!($parsed $($default)?);)+
    };
    ($($other:tt)*) => {};
}

/// Variables for the slots between parentheses.
#[doc(hidden)]
#[macro_export]
macro_rules! __bind_args {
    ($parsed:ident $($name:ident $(as $text:literal)?: $type:ty $(= $default:expr)?),* $(,)?) => {
        $(let $name: $type = $crate::__take!($parsed $($default)?);)*
    };
    ($($other:tt)*) => {};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __bind_sub {
    ($parsed:ident $name:ident in $table:path) => {
        let $name = $parsed.take_table($table)?;
    };
    ($($other:tt)*) => {};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __take {
    ($parsed:ident) => {
        $parsed.take()?
    };
    ($parsed:ident $default:expr) => {
        $parsed.take_or(|| $default)?
    };
}
