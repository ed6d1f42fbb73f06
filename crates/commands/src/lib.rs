//! The ns_* commands: one file per family, one table per file; what is written in Tcl lies in `tcl/`.

mod adp;
mod answer;
mod auth;
mod cache;
pub mod callback;
mod cbor;
mod collate;
mod config;
mod configuring;
mod conn;
mod cookie;
mod crypto;
mod descrypt;
mod digest;
mod encode;
mod environ;
mod fields;
mod file;
mod file_answer;
pub mod form;
mod hooks;
mod html;
mod image;
mod info;
mod interp;
mod job;
mod json;
mod jwt;
mod keyl;
pub mod kinds;
mod later;
mod limits;
mod log;
mod manual;
mod net;
mod nsv;
mod one_time;
mod paths;
mod privacy;
mod process;
mod register;
mod schedule;
mod server;
mod set;
mod shared_channel;
mod sls;
mod socket;
mod socket_callback;
mod sync;
mod text;
mod thread;
mod time;
mod url;
mod urlspace;

use ::server::script::Scripting;

/// Everything the program plugs into scripting.
pub fn scripting() -> Scripting {
    let mut scripting = Scripting {
        tables: vec![
            adp::TABLE,
            answer::TABLE,
            auth::TABLE,
            cache::TABLE,
            cbor::TABLE,
            config::TABLE,
            conn::TABLE,
            cookie::TABLE,
            digest::TABLE,
            crypto::aead::TABLE,
            crypto::kdf::TABLE,
            crypto::keys::TABLE,
            encode::TABLE,
            environ::TABLE,
            fields::TABLE,
            file::TABLE,
            file_answer::TABLE,
            form::TABLES[0],
            form::TABLES[1],
            form::TABLES[2],
            hooks::TABLE,
            html::TABLE,
            image::TABLE,
            info::TABLE,
            interp::TABLE,
            job::TABLE,
            keyl::TABLE,
            json::TABLE,
            jwt::TABLE,
            limits::TABLE,
            log::TABLE,
            log::ASYNCFILE,
            net::TABLE,
            nsv::TABLE,
            nsv::DICT,
            one_time::TABLE,
            paths::TABLE,
            process::TABLE,
            register::TABLE,
            schedule::TABLE,
            server::TABLE,
            set::TABLE,
            sls::TABLE,
            shared_channel::TABLE,
            socket::TABLE,
            socket_callback::TABLE,
            sync::TABLE,
            text::TABLE,
            thread::TABLE,
            time::TABLE,
            url::TABLE,
            urlspace::TABLE,
        ],
        config_tables: Vec::new(),
        library: vec![
            ("cache.tcl", include_str!("tcl/cache.tcl")),
            ("compat.tcl", include_str!("tcl/compat.tcl")),
            ("html.tcl", include_str!("tcl/html.tcl")),
            ("digest.tcl", include_str!("tcl/digest.tcl")),
            ("life.tcl", include_str!("tcl/life.tcl")),
        ],
        config_library: vec![],
        specs: vec![limits::LimitSettings::spec, adp::AdpSettings::spec],
        on_interp: vec![adp::install, manual::install],
        on_server: vec![
            limits::on_server,
            paths::on_server,
            register::on_server,
            adp::map_pages,
        ],
        on_cleanup: vec![hooks::cleanup, adp::cleanup, cache::end_transactions],
        notice: Some(adp::render_notice),
    };
    scripting.config_tables = configuring::tables(&scripting.tables);
    scripting
}
