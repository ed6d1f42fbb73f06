//! ns_sls: texts that stay with the socket of a connection over its requests.

use synopsis::commands;
use tcl::Obj;

use crate::kinds::conn;

commands! { TABLE(call):

    /// All keys and values.
    "ns_sls array"
        => { let conn = conn(call)?; let all = conn.request.storage.lock(); Obj::list_of(all.iter().flat_map(|(k, v)| [k, v])) };

    /// The value of a key.
    "ns_sls get" (key: String, default: Option<Obj>)
        => {
            let found = conn(call)?.request.storage.lock().get(&key).map(Obj::from);
            found.or(default).ok_or_else(|| tcl::error("key does not exist and no default given"))
        };

    /// Sets the value of a key.
    "ns_sls set" (key: String, value: String)
        => { conn(call)?.request.storage.lock().insert(key, value); };

    /// Removes a key, if it is there.
    "ns_sls unset" (key: String) => { conn(call)?.request.storage.lock().remove(&key); };
}
