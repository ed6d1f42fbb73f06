//! Registration of handlers, filters and traces; the URL space.

use synopsis::commands;

commands! { TABLE(call):
}
