//! The order of texts in a language. The tables are those of Unicode (CLDR), not those of the C library: its function
//! knows the locales that happen to be installed, and only one for all threads safely.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::OnceLock;

use icu_collator::options::CollatorOptions;
use icu_collator::{Collator, CollatorBorrowed};
use icu_locale_core::Locale;
use tcl::Exit;

/// Compares: -1, 0 or 1. Without a locale that of the environment counts (LC_ALL, LC_COLLATE, LANG). Texts that the
/// language does not tell apart are in the order of their code points, so that 0 means equal.
///
/// # Errors
/// A locale that is none.
pub fn compare(locale: Option<&str>, one: &str, two: &str) -> Result<i32, Exit> {
    let name = locale.unwrap_or_else(|| default_locale());
    if matches!(name, "C" | "POSIX" | "C.UTF-8" | "C.utf8") {
        return Ok(one.cmp(two) as i32);
    }
    let order = with_collator(name, |collator| collator.compare(one, two))
        .ok_or_else(|| tcl::error(format!("specified locale '{name}' is not available")))?;
    Ok(order.then_with(|| one.cmp(two)) as i32)
}

/// The locale of the environment as it was at first use; `C` if it has none that we know.
fn default_locale() -> &'static str {
    static DEFAULT: OnceLock<String> = OnceLock::new();
    DEFAULT.get_or_init(|| {
        ["LC_ALL", "LC_COLLATE", "LANG"]
            .iter()
            .filter_map(|name| std::env::var(name).ok())
            .find(|value| !value.is_empty())
            .filter(|value| parse(value).is_some())
            .unwrap_or_else(|| "C".to_owned())
    })
}

/// Sorting asks a thousand times for one locale: the last one is kept.
fn with_collator(
    name: &str,
    compare: impl FnOnce(&CollatorBorrowed<'static>) -> Ordering,
) -> Option<Ordering> {
    thread_local! {
        static LAST: RefCell<Option<(String, CollatorBorrowed<'static>)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| {
        if last.as_ref().is_none_or(|(known, _)| known != name) {
            let collator =
                Collator::try_new(parse(name)?.into(), CollatorOptions::default()).ok()?;
            *last = Some((name.to_owned(), collator));
        }
        last.as_ref().map(|(_, collator)| compare(collator))
    })
}

/// `sv_SE`, `sv_SE.UTF-8`, `de_DE.utf8@phonebook`: language and territory count.
fn parse(name: &str) -> Option<Locale> {
    let name = name.split('@').next().unwrap_or_default();
    let (name, charset) = name.split_once('.').unwrap_or((name, "UTF-8"));
    let (language, territory) = name.split_once('_').unwrap_or((name, ""));
    let valid = matches!(language.len(), 2 | 3)
        && language.bytes().all(|b| b.is_ascii_lowercase())
        && (territory.is_empty()
            || (territory.len() == 2 && territory.bytes().all(|b| b.is_ascii_uppercase())))
        && http::Charset::for_name(charset).is_some();
    if !valid {
        return None;
    }
    Locale::try_from_str(&name.replace('_', "-")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_have_their_own_order() {
        let less = |locale, one, two| compare(Some(locale), one, two).ok() == Some(-1);
        assert!(less("de_DE.UTF-8", "ä", "z"));
        assert!(less("sv_SE.UTF-8", "z", "ä"));
        assert!(less("en_US", "a", "B"));
        assert!(less("C", "B", "a"));
        assert_eq!(compare(Some("en_US"), "a", "a").ok(), Some(0));
        assert!(compare(Some("no_SUCH"), "a", "b").is_err());
        assert!(compare(Some(""), "a", "b").is_err());
    }
}
