//! Log-linear histograms, compatible with `HdrHistogram`.
