//! ADP: pages of text with scripts in them, and the ns_adp_* commands.

use std::rc::Rc;
use std::sync::Arc;

use ::server::script::Context;
use ::server::vserver::VirtualServer;
use tcl::{Interp, Obj};

mod blocks;
mod command;
mod engine;
#[cfg(test)]
mod hostile;
mod nesting;
mod output;
mod pages;
mod parser;
mod response;
mod settings;
mod tags;

pub use command::TABLE;
pub use response::{map_pages, render_notice};
pub use settings::AdpSettings;

use engine::Engine;

/// What the interpreters of a server share.
pub struct Shared {
    pub settings: AdpSettings,
    pub tags: tags::TagSets,
    pub sources: pages::Sources,
    pub kept: output::Kept,
}

impl Shared {
    /// That of a server; its configuration is read the first time.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn of(server: &Arc<VirtualServer>) -> Result<Arc<Shared>, String> {
        if let Some(shared) = server.extensions.find::<Shared>() {
            return Ok(shared);
        }
        let process = server.process();
        let section = process
            .config
            .read()
            .section_or_empty(&server.section("adp"));
        let settings = AdpSettings::read(&section).map_err(|p| {
            p.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        })?;
        Ok(server.extensions.get_or(|| Shared {
            settings,
            tags: tags::TagSets::default(),
            sources: pages::Sources::default(),
            kept: output::Kept::default(),
        }))
    }
}

/// Gives an interpreter its engine.
pub fn install(interp: &Interp, context: &Rc<Context>) {
    let Some(server) = &context.server else {
        return;
    };
    let shared = match Shared::of(server) {
        Ok(shared) => shared,
        Err(e) => return shared::error!("adp: {e}"),
    };
    let engine = Rc::new(Engine::new(Rc::clone(context), shared));
    let e = Rc::clone(&engine);
    interp.register("::navis::adp_run", move |interp, _| e.run_here(interp));
    let e = Rc::clone(&engine);
    interp.register("::navis::adp_text", move |interp, words| {
        e.text_block(interp, words)
    });
    let e = Rc::clone(&engine);
    interp.register("::navis::adp_failed", move |interp, words| {
        e.failed_block(interp, words)
    });
    let e = Rc::clone(&engine);
    interp.register("::navis::adp_eval", move |interp, words| {
        e.eval_block(interp, words)
    });
    let e = Rc::clone(&engine);
    interp.register("::navis::adp_check", move |_, words| e.check_block(words));
    let e = Rc::clone(&engine);
    interp.register("::navis::adp_stream", move |_, _| {
        e.start_stream();
        Ok(Obj::new())
    });
    interp.set_data(engine);
}

/// Forgets what a request left in its interpreter.
pub fn cleanup(interp: &Interp, _: &Rc<Context>) {
    if let Some(engine) = interp.data::<Engine>() {
        engine.reset();
    }
}
