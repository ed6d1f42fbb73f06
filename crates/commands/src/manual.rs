//! The manual that is inside the program: `::navis::manual` gives pages made from the tables of commands and parameters.

use std::rc::Rc;

use ::server::check;
use ::server::module::ModuleTables;
use ::server::script::Context;
use tcl::{Interp, Obj};

/// Adds `::navis::manual` (page names and Markdown texts) and `::navis::usages` (names and usage lines) to an interpreter.
pub fn install(interp: &Interp, context: &Rc<Context>) {
    let weak = Rc::downgrade(context);
    interp.register("::navis::usages", move |_, _| {
        let usages = weak
            .upgrade()
            .map(|c| synopsis::manual::all_usages(&tables(&c)))
            .unwrap_or_default();
        Ok(Obj::list(usages.into_iter().flat_map(|(name, line)| {
            [Obj::from(name), Obj::from(line)]
        })))
    });
    let context = Rc::downgrade(context);
    interp.register("::navis::manual", move |_, _| {
        let pages = context.upgrade().map(|c| pages(&c)).unwrap_or_default();
        Ok(Obj::list(pages.into_iter().flat_map(|(name, text)| {
            [Obj::from(name), Obj::from(text)]
        })))
    });
}

/// The tables of an interpreter: ours and those of its server's modules.
fn tables(context: &Context) -> Vec<&'static [synopsis::Command]> {
    let mut tables = context.process.scripting.tables.clone();
    if let Some(server) = &context.server {
        tables.extend(server.extensions.get::<ModuleTables>().0.read().iter());
    }
    tables
}

fn pages(context: &Context) -> Vec<(String, String)> {
    let process = &context.process;
    let mut pages: Vec<(String, String)> = synopsis::manual::pages(&tables(context))
        .into_iter()
        .map(|(name, text)| (name.trim_start_matches(':').replace("::", "-"), text))
        .collect();
    pages.sort();
    let mut index =
        String::from("# Commands\n\nMade from the tables inside the program by `make doc`.\n\n");
    for (name, _) in &pages {
        index.push_str(&format!("- [{name}]({name}.md)\n"));
    }
    let mut configuration = String::from(
        "# Configuration\n\nSections, parameters, defaults; `nsd -T` prints the same.\n\n",
    );
    for spec in check::all_specs(process) {
        configuration.push_str(&synopsis::manual::section(spec));
        configuration.push('\n');
    }
    pages.push(("configuration".to_owned(), configuration));
    pages.push(("README".to_owned(), index));
    pages
}
