//! Channels that travel between interpreters.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use parking_lot::Mutex;
use synopsis::{Call, commands};
use tcl::Exit;
use tcl::channel::{Channel, CutChannel};

use crate::kinds::context;

commands! { TABLE(call):

    /// Closes channels: those taken here, or with -shared those that wait.
    "ns_chan cleanup" [-shared: bool]
        => cleanup(call, shared);

    /// The names of the channels taken here, or with -shared of those that wait.
    "ns_chan list" [-shared: bool]
        => list(call, shared);

    /// Gives a channel away under a name.
    "ns_chan create" (channel: String, name: String)
        => create(call, &channel, &name);

    /// Gives a channel back that was taken.
    "ns_chan put" (name: String)
        => put(call, &name);

    /// Takes a channel.
    "ns_chan get" (name: String)
        => get(call, &name);
}

/// The channels of a server that wait to be taken.
#[derive(Default)]
struct Waiting(Mutex<BTreeMap<String, CutChannel>>);

/// What an interpreter has taken: names, and the channels as scripts call them.
#[derive(Default)]
struct Taken(std::cell::RefCell<BTreeMap<String, String>>);

fn waiting(call: &Call<'_>) -> Arc<Waiting> {
    context(call).server().extensions.get::<Waiting>()
}

fn taken(call: &Call<'_>) -> Rc<Taken> {
    call.interp.data::<Taken>().unwrap_or_else(|| {
        let taken = Rc::new(Taken::default());
        call.interp.set_data(Rc::clone(&taken));
        taken
    })
}

fn not_found(name: &str) -> Exit {
    tcl::error(format!("channel \"{name}\" not found"))
}

fn exists(name: &str) -> Exit {
    tcl::error(format!("channel \"{name}\" already exists"))
}

fn in_use(channel: &str) -> Exit {
    tcl::error(format!(
        "channel \"{channel}\" is in use by another interpreter"
    ))
}

fn create(call: &Call<'_>, channel: &str, name: &str) -> Result<(), Exit> {
    let found = Channel::find(call.interp, channel)?;
    give(call, found, name)
}

/// The lock is held from the check to the entry, so that of two givers one hears of the other.
fn give(call: &Call<'_>, channel: Channel, name: &str) -> Result<(), Exit> {
    let waiting = waiting(call);
    let mut map = waiting.0.lock();
    if map.contains_key(name) {
        return Err(exists(name));
    }
    let cut = channel.cut(call.interp).map_err(|c| in_use(&c.name()))?;
    map.insert(name.to_owned(), cut);
    Ok(())
}

fn get(call: &Call<'_>, name: &str) -> Result<String, Exit> {
    let cut = waiting(call)
        .0
        .lock()
        .remove(name)
        .ok_or_else(|| not_found(name))?;
    let channel = cut.splice();
    channel.register(call.interp);
    let handle = channel.name();
    taken(call)
        .0
        .borrow_mut()
        .insert(name.to_owned(), handle.clone());
    Ok(handle)
}

fn put(call: &Call<'_>, name: &str) -> Result<(), Exit> {
    let taken = taken(call);
    let handle = taken
        .0
        .borrow()
        .get(name)
        .cloned()
        .ok_or_else(|| not_found(name))?;
    // A channel that the script closed is forgotten all the same.
    let found = Channel::find(call.interp, &handle)
        .inspect_err(|_| drop(taken.0.borrow_mut().remove(name)))?;
    give(call, found, name)?;
    taken.0.borrow_mut().remove(name);
    Ok(())
}

fn cleanup(call: &Call<'_>, shared: bool) -> Result<(), Exit> {
    if shared {
        let gone = std::mem::take(&mut *waiting(call).0.lock());
        // Closing may wait for what is buffered: not under the lock.
        drop(gone);
        return Ok(());
    }
    let all = std::mem::take(&mut *taken(call).0.borrow_mut());
    for handle in all.values() {
        if let Ok(channel) = Channel::find(call.interp, handle) {
            channel.unregister(call.interp)?;
        }
    }
    Ok(())
}

fn list(call: &Call<'_>, shared: bool) -> Vec<String> {
    if shared {
        return waiting(call).0.lock().keys().cloned().collect();
    }
    taken(call).0.borrow().keys().cloned().collect()
}
