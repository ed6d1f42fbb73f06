//! ns_set and its handles.

use synopsis::commands;

commands! { TABLE(call):
}
