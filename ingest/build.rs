//! Puts the built dashboard into the binary: `web/dashboard/dist` as it is committed, so that no build needs Node.

fn main() {
    memory_serve::load_directory_with_embed("../web/dashboard/dist", true);
}
