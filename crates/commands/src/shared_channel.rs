//! Channels that travel between interpreters.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use parking_lot::Mutex;
use synopsis::{Call, commands};
use tcl::channel::{Channel, CutChannel};
use tcl::{Exit, Obj, TclError};

use crate::kinds::context;

commands! { TABLE(call):

    /// Closes channels: those taken here, or with -shared those that wait.
    "ns_chan cleanup" [-shared: bool]
        => cleanup(call, shared);

    /// Names and channels: those taken here, or with -shared all.
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
struct Waiting(Mutex<BTreeMap<String, Entry>>);

/// `None` while an interpreter has it.
struct Entry {
    channel: Option<CutChannel>,
    handle: String,
}

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

fn create(call: &Call<'_>, channel: &str, name: &str) -> Result<(), Exit> {
    let found = Channel::find(call.interp, channel)?;
    let waiting = waiting(call);
    let mut map = waiting.0.lock();
    if map.contains_key(name) {
        return Err(TclError::new(format!("channel \"{name}\" already exists")).into());
    }
    let handle = found.name();
    let cut = found.cut(call.interp).map_err(|_| in_use(channel))?;
    map.insert(name.to_owned(), Entry { channel: Some(cut), handle });
    Ok(())
}

fn in_use(channel: &str) -> Exit {
    tcl::error(format!("channel \"{channel}\" is in use by another interpreter"))
}

fn get(call: &Call<'_>, name: &str) -> Result<String, Exit> {
    let waiting = waiting(call);
    let mut map = waiting.0.lock();
    let cut = map.get_mut(name).and_then(|entry| entry.channel.take()).ok_or_else(|| not_found(name))?;
    drop(map);
    let channel = cut.splice();
    channel.register(call.interp);
    let handle = channel.name();
    taken(call).0.borrow_mut().insert(name.to_owned(), handle.clone());
    Ok(handle)
}

fn put(call: &Call<'_>, name: &str) -> Result<(), Exit> {
    let taken = taken(call);
    let handle = taken.0.borrow().get(name).cloned().ok_or_else(|| not_found(name))?;
    let found = Channel::find(call.interp, &handle);
    taken.0.borrow_mut().remove(name);
    let waiting = waiting(call);
    match found {
        Ok(channel) => {
            let cut = channel.cut(call.interp).map_err(|_| in_use(&handle))?;
            waiting.0.lock().insert(name.to_owned(), Entry { channel: Some(cut), handle });
            Ok(())
        }
        // The script closed it.
        Err(e) => {
            waiting.0.lock().remove(name);
            Err(e.into())
        }
    }
}

fn cleanup(call: &Call<'_>, shared: bool) -> Result<(), Exit> {
    if shared {
        let gone: Vec<Entry> = {
            let waiting = waiting(call);
            let mut map = waiting.0.lock();
            let names: Vec<String> =
                map.iter().filter(|(_, e)| e.channel.is_some()).map(|(n, _)| n.clone()).collect();
            names.iter().filter_map(|name| map.remove(name)).collect()
        };
        drop(gone);
        return Ok(());
    }
    let all = std::mem::take(&mut *taken(call).0.borrow_mut());
    for (name, handle) in all {
        waiting(call).0.lock().remove(&name);
        if let Ok(channel) = Channel::find(call.interp, &handle) {
            channel.unregister(call.interp)?;
        }
    }
    Ok(())
}

fn list(call: &Call<'_>, shared: bool) -> Vec<Obj> {
    if shared {
        let waiting = waiting(call);
        let map = waiting.0.lock();
        return map.iter().flat_map(|(name, entry)| [Obj::from(name), Obj::from(&entry.handle)]).collect();
    }
    let taken = taken(call);
    let map = taken.0.borrow();
    map.iter().flat_map(|(name, handle)| [Obj::from(name), Obj::from(handle)]).collect()
}
