//! The driver for HTTP over TLS: the parameters of nssock, and a certificate.

use std::path::{Path, PathBuf};

use server::module::{Loading, Module};
use synopsis::params;

use crate::nssock;

pub const MODULE: Module = Module {
    name: "nsssl",
    about: "HTTP/1.1 over TLS 1.2 and 1.3.",
    spec: nssock::Settings::spec,
    more_specs: || vec![Settings::spec()],
    prepare,
    start: |_| Ok(()),
};

params! {
    /// A driver for HTTP over TLS; it has the parameters of nssock as well.
    pub struct Settings in "ns/module/nsssl" {
        /// File with certificate chain and, unless `key` names another, private key (PEM); relative to `home`.
        certificate: Option<String>,
        /// File with the private key (PEM).
        key: Option<String>,
        /// Accepted for existing configurations: the ciphers are those of rustls.
        ciphers: Option<String>,
        /// Accepted for existing configurations.
        ciphersuites: Option<String>,
        /// Accepted for existing configurations: TLS 1.2 and 1.3 are spoken.
        protocols: Option<String>,
    }
}

fn prepare(loading: &Loading<'_>) -> Result<(), String> {
    let settings = Settings::read(&loading.config()).map_err(|p| {
        p.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    })?;
    let path = |p: &String| -> PathBuf { loading.process.home().join(Path::new(p)) };
    let Some(certificate) = settings.certificate.as_ref().map(path) else {
        return Err(format!(
            "section {}: parameter certificate is missing",
            loading.section
        ));
    };
    let key = settings.key.as_ref().map(path);
    let tls = net::tls::server_config(&certificate, key.as_deref())
        .map_err(|e| format!("section {}: {e}", loading.section))?;
    nssock::bind(
        loading,
        nssock::Kind {
            module: "nsssl",
            scheme: "https",
            port: 443,
            tls: Some(tls),
        },
    )
}
