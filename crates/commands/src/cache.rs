//! Caches: ns_cache_*.

use synopsis::commands;

commands! { TABLE(call):
}
