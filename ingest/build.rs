//! Embeds the committed dashboard build, `web/dashboard/dist`, in the binary, so that no build needs Node.

fn main() {
    memory_serve::load_directory_with_embed("../web/dashboard/dist", true);
}
