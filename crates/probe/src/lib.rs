//! Samplers of what a Linux host tells about itself: `/proc`, cgroups, pressure, disks, network.
