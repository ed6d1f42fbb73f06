//! Parameters of pages, and the switches a script can turn.

use synopsis::{Int, Size, params};

params! {
    /// Pages with scripts in them (ADP).
    pub struct AdpSettings in "ns/server/*/adp" {
        /// End a page when its output cannot be sent.
        autoabort: bool = "true",
        /// Output that is held back before it is sent in pieces.
        bufsize: Size = "1MB",
        /// Whether `ns_adp_include -cache` and the times of `map` are heeded.
        cache: bool = "false",
        /// Memory for the texts of pages, and for cached output.
        cachesize: Size = "5MB",
        /// Procedure that starts the debugger.
        debuginit: String = "ns_adp_debuginit",
        /// Extension tried when a page does not exist.
        defaultextension: String = "",
        /// Log the request with an error.
        detailerror: bool = "true",
        /// Show errors in pages.
        displayerror: bool = "false",
        /// Heed `?debug=` in the query.
        enabledebug: bool = "false",
        /// Send `Expires: now`.
        enableexpire: bool = "false",
        /// Page that is included where a script fails.
        errorpage: String = "",
        /// URLs of pages, each with a time their output may be cached.
        map: Vec<String>,
        /// Ignore scripts in pages.
        safeeval: bool = "false",
        /// Run all blocks of a page as one script.
        singlescript: bool = "false",
        /// Page that is run in place of each page.
        startpage: String = "",
        /// Send output as it is made.
        stream: bool = "false",
        /// End a page at the first error.
        stricterror: bool = "false",
        /// Log the blocks of pages as they run.
        trace: bool = "false",
        /// Bytes of each block that are logged.
        tracesize: Int<0> = "40",
        /// Remove blanks at the beginning of the output.
        trimspace: bool = "false",
    }
}

/// One switch of [`Flags`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag(u16);

/// The switches of `ns_adp_ctl`, and of `ns_register_adp -options`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flag {
    pub const AUTOABORT: Flag = Flag(1);
    pub const CACHE: Flag = Flag(1 << 1);
    pub const DETAILERROR: Flag = Flag(1 << 2);
    pub const DISPLAYERROR: Flag = Flag(1 << 3);
    pub const EXPIRE: Flag = Flag(1 << 4);
    pub const SAFE: Flag = Flag(1 << 5);
    pub const SINGLESCRIPT: Flag = Flag(1 << 6);
    pub const STREAM: Flag = Flag(1 << 7);
    pub const STRICTERROR: Flag = Flag(1 << 8);
    pub const TRACE: Flag = Flag(1 << 9);
    pub const TRIMSPACE: Flag = Flag(1 << 10);

    /// Names as `ns_register_adp -options` lists them.
    pub const NAMES: &'static [&'static str] = &[
        "autoabort",
        "detailerror",
        "displayerror",
        "expire",
        "cache",
        "safe",
        "singlescript",
        "stricterror",
        "trace",
        "trimspace",
        "stream",
    ];

    /// The switch of a name.
    pub fn named(name: &str) -> Option<Flag> {
        Some(match name {
            "autoabort" => Flag::AUTOABORT,
            "cache" => Flag::CACHE,
            "detailerror" => Flag::DETAILERROR,
            "displayerror" => Flag::DISPLAYERROR,
            "expire" => Flag::EXPIRE,
            "safe" => Flag::SAFE,
            "singlescript" => Flag::SINGLESCRIPT,
            "stream" => Flag::STREAM,
            "stricterror" => Flag::STRICTERROR,
            "trace" => Flag::TRACE,
            "trimspace" => Flag::TRIMSPACE,
            _ => return None,
        })
    }
}

impl Flags {
    /// As configured.
    pub fn of(settings: &AdpSettings) -> Flags {
        Flags::default()
            .with(Flag::AUTOABORT, settings.autoabort)
            .with(Flag::CACHE, settings.cache)
            .with(Flag::DETAILERROR, settings.detailerror)
            .with(Flag::DISPLAYERROR, settings.displayerror)
            .with(Flag::EXPIRE, settings.enableexpire)
            .with(Flag::SAFE, settings.safeeval)
            .with(Flag::SINGLESCRIPT, settings.singlescript)
            .with(Flag::STREAM, settings.stream)
            .with(Flag::STRICTERROR, settings.stricterror)
            .with(Flag::TRACE, settings.trace)
            .with(Flag::TRIMSPACE, settings.trimspace)
    }

    pub const fn has(self, flag: Flag) -> bool {
        self.0 & flag.0 != 0
    }

    #[must_use]
    pub const fn with(self, flag: Flag, on: bool) -> Flags {
        if on {
            Flags(self.0 | flag.0)
        } else {
            Flags(self.0 & !flag.0)
        }
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, more: Flags) -> Flags {
        Flags(self.0 | more.0)
    }
}
