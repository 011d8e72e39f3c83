//! Metrics of the whole host: processors, memory, disks, networks, pressure.

pub mod cpu;
pub mod disks;
pub mod facts;
pub mod memory;
pub mod networks;
pub mod pressure;

use crate::json::Json;
use crate::procfile::{Buffer, ProcFile, Reading};
use crate::run::Roots;
use crate::sys;
use crate::text;

use cpu::ProcStat;
use disks::Disks;

/// Samples the host. Every file is opened only once.
pub struct HostSampler {
    stat: ProcFile,
    loadavg: ProcFile,
    meminfo: ProcFile,
    vmstat: ProcFile,
    file_nr: ProcFile,
    snmp: ProcFile,
    netstat: ProcFile,
    sockstat: ProcFile,
    pressure: [(&'static str, ProcFile); 3],
    diskstats: ProcFile,
    network: ProcFile,
    parsed: ProcStat,
    disks: Disks,
    tick_ns: u64,
}

impl HostSampler {
    /// Creates the sampler for the host with these `/proc` and `/sys` folders.
    #[must_use]
    pub fn new(roots: &Roots, tick_ns: u64) -> Self {
        let file = |name: &str| ProcFile::new(roots.proc.join(name));
        let record = |name: &str| ProcFile::of_one_record(roots.proc.join(name));
        Self {
            stat: record("stat"),
            loadavg: record("loadavg"),
            meminfo: record("meminfo"),
            vmstat: file("vmstat"),
            file_nr: record("sys/fs/file-nr"),
            snmp: record("net/snmp"),
            netstat: record("net/netstat"),
            sockstat: record("net/sockstat"),
            pressure: ["cpu", "io", "memory"]
                .map(|name| (name, record(&format!("pressure/{name}")))),
            diskstats: file("diskstats"),
            network: file("net/dev"),
            parsed: ProcStat::default(),
            disks: Disks::new(roots.sys.join("block")),
            tick_ns,
        }
    }

    /// Writes the keys `host`, `cpus`, `disks` and `networks` of a sample.
    pub fn sample(&mut self, buffer: &mut Buffer, json: &mut Json) {
        if self.stat.read(buffer) == Reading::Whole {
            self.parsed.parse(buffer.text(), self.tick_ns);
        }
        json.object("host");
        self.parsed.write_host(json);
        self.write_memory(buffer, json);
        self.write_tcp(buffer, json);
        self.write_pressure(buffer, json);
        json.end_object();
        self.parsed.write_cpus(json);
        if self.diskstats.read(buffer) == Reading::Whole {
            self.disks.write(buffer.text(), json);
        }
        if self.network.read(buffer) == Reading::Whole {
            networks::write(buffer.text(), json);
        }
    }

    fn write_memory(&mut self, buffer: &mut Buffer, json: &mut Json) {
        if self.loadavg.read(buffer) == Reading::Whole {
            let load = text::fields(buffer.text())
                .next()
                .and_then(|field| text::owned(field).parse::<f64>().ok());
            json.number("load_1m", load);
        }
        if self.meminfo.read(buffer) == Reading::Whole {
            memory::write_meminfo(buffer.text(), json);
        }
        if self.vmstat.read(buffer) == Reading::Whole {
            memory::write_vmstat(buffer.text(), json);
        }
        if self.file_nr.read(buffer) == Reading::Whole {
            json.count(
                "open_files",
                text::fields(buffer.text()).next().and_then(text::number),
            );
        }
    }

    fn write_tcp(&mut self, buffer: &mut Buffer, json: &mut Json) {
        if self.snmp.read(buffer) == Reading::Whole {
            json.count(
                "tcp_retransmits_total",
                networks::paired(buffer.text(), "Tcp:", "RetransSegs"),
            );
        }
        if self.netstat.read(buffer) == Reading::Whole {
            let extended = |name| networks::paired(buffer.text(), "TcpExt:", name);
            json.count("tcp_listen_overflows_total", extended("ListenOverflows"));
            json.count("tcp_listen_drops_total", extended("ListenDrops"));
            json.count(
                "tcp_needless_retransmits_total",
                extended("TCPDSACKRecvSegs").or_else(|| extended("TCPDSACKRecv")),
            );
            json.count("tcp_timeouts_total", extended("TCPTimeouts"));
            json.count(
                "tcp_probe_recoveries_total",
                extended("TCPLossProbeRecovery"),
            );
        }
        if self.sockstat.read(buffer) == Reading::Whole {
            let pages = networks::behind(buffer.text(), "TCP:", "mem");
            json.count(
                "tcp_memory_bytes",
                pages.map(|pages| pages * sys::page_bytes()),
            );
        }
    }

    fn write_pressure(&mut self, buffer: &mut Buffer, json: &mut Json) {
        let mut opened = false;
        for (name, file) in &mut self.pressure {
            if file.read(buffer) != Reading::Whole {
                continue;
            }
            if !opened {
                json.object("pressure");
                opened = true;
            }
            pressure::write(name, buffer.text(), json);
        }
        if opened {
            json.end_object();
        }
    }
}
