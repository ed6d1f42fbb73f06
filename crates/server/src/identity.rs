//! What the server says about itself. Applications test the reference's name and version; see behaviour.md, Identity.

/// `ns_info name`.
pub const NAME: &str = "NaviServer";
/// `ns_info version`.
pub const COMPATIBLE_VERSION: &str = "5.1";
/// `ns_info patchlevel`.
pub const COMPATIBLE_PATCHLEVEL: &str = "5.1.0";
/// Our own name.
pub const PRODUCT: &str = "Navis";
/// Our own version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The `Server` header: `Navis/0.1.0`.
pub fn server_header() -> &'static str {
    concat!("Navis/", env!("CARGO_PKG_VERSION"))
}

/// `ns_info buildinfo`.
pub fn build_info() -> String {
    format!(
        "{PRODUCT} {VERSION}, {} {}",
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}
