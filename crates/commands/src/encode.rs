//! base64, uuencode, CSV.

use synopsis::commands;

commands! { TABLE(call):
}
