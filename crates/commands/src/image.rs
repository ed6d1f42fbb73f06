//! Sizes and types of images.

use synopsis::commands;

commands! { TABLE(call):
}
