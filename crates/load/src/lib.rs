//! Virtual users, arrivals, protocol drivers and the recorder of Towtank: pure Rust, testable alone.
