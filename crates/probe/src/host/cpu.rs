//! `/proc/stat`: CPU times of the host and of each CPU, context switches, runnable and blocked processes.

use crate::json::Json;
use crate::text;

/// CPU times since boot, of one CPU or of all CPUs. [ns]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Time in user mode, including processes with reduced priority (`user` + `nice`) and time of guests. [ns]
    pub user: u64,
    /// Time in the kernel, without the time in interrupts. [ns]
    pub system: u64,
    /// Idle time during which no process waited for a disk. [ns]
    pub idle: u64,
    /// Idle time during which a process waited for a disk. On hosts with several CPUs it is unreliable, as proc(5)
    /// warns. [ns]
    pub iowait: Option<u64>,
    /// Time in hardware interrupts and software interrupts. [ns]
    pub irq: Option<u64>,
    /// Time during which the hypervisor ran other guests on this CPU. [ns]
    pub steal: Option<u64>,
}

impl CpuTimes {
    fn parse<'a>(columns: impl Iterator<Item = &'a [u8]>, tick_ns: u64) -> Option<Self> {
        let mut times = columns.map(|field| text::number(field).map(|ticks| ticks * tick_ns));
        let mut next = || times.next().flatten();
        let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
        let (iowait, hard, soft, steal) = (next(), next(), next(), next());
        let irq = hard.zip(soft).map(|(hard, soft)| hard + soft);
        Some(Self {
            user: user + nice,
            system,
            idle,
            iowait,
            irq,
            steal,
        })
    }

    /// Returns the time during which the CPU worked for this host. [ns]
    #[must_use]
    pub fn busy(&self) -> u64 {
        self.user + self.system + self.irq.unwrap_or(0)
    }
}

/// Values from the last reading of `/proc/stat`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProcStat {
    /// CPU times summed over all CPUs.
    pub total: Option<CpuTimes>,
    /// CPU times of each CPU. The index is the number of the CPU; the entry is `None` if the CPU is offline.
    pub cpus: Vec<Option<CpuTimes>>,
    /// Number of context switches since boot.
    pub context_switches: Option<u64>,
    /// Number of processes that are running or ready to run.
    pub processes_running: Option<u64>,
    /// Number of processes that wait for a disk.
    pub processes_blocked: Option<u64>,
}

impl ProcStat {
    /// Parses the content of `/proc/stat`.
    pub fn parse(&mut self, content: &[u8], tick_ns: u64) {
        self.cpus.fill(None);
        for line in text::lines(content) {
            let mut fields = text::fields(line);
            let key = fields.next().unwrap_or_default();
            let mut first = || fields.next().and_then(text::number);
            match key {
                b"cpu" => self.total = CpuTimes::parse(fields, tick_ns),
                b"ctxt" => self.context_switches = first(),
                b"procs_running" => self.processes_running = first(),
                b"procs_blocked" => self.processes_blocked = first(),
                _ => {
                    if let Some(cpu) = key.strip_prefix(b"cpu").and_then(text::number) {
                        let cpu = cpu as usize;
                        self.cpus.resize(self.cpus.len().max(cpu + 1), None);
                        self.cpus[cpu] = CpuTimes::parse(fields, tick_ns);
                    }
                }
            }
        }
    }

    /// Writes the values of the whole host.
    pub fn write_host(&self, json: &mut Json) {
        if let Some(total) = &self.total {
            json.seconds("cpu_user_s_total", total.user);
            json.seconds("cpu_system_s_total", total.system);
            json.seconds("cpu_idle_s_total", total.idle);
            json.seconds("cpu_iowait_s_total", total.iowait);
            json.seconds("cpu_irq_s_total", total.irq);
            json.seconds("cpu_steal_s_total", total.steal);
        }
        json.count("context_switches_total", self.context_switches);
        json.count("processes_running", self.processes_running);
        json.count("processes_blocked", self.processes_blocked);
    }

    /// Writes the array `cpus`. An offline CPU is an empty object at its position.
    pub fn write_cpus(&self, json: &mut Json) {
        json.array("cpus");
        for cpu in &self.cpus {
            json.begin();
            if let Some(cpu) = cpu {
                json.seconds("busy_s_total", cpu.busy());
                json.seconds("irq_s_total", cpu.irq);
                json.seconds("idle_s_total", cpu.idle + cpu.iowait.unwrap_or(0));
                json.seconds("steal_s_total", cpu.steal);
            }
            json.end_object();
        }
        json.end_array();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offline_cpu_keeps_its_place() {
        let mut stat = ProcStat::default();
        stat.parse(
            b"cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\ncpu1 2 0 0 0 0 0 0 0 0 0\n",
            10,
        );
        assert_eq!(stat.cpus[1].map(|cpu| cpu.busy()), Some(20));
        stat.parse(b"cpu  5 1 4 1 1 1 1 1 0 0\ncpu0 5 1 4 1 1 1 1 1 0 0\n", 10);
        assert_eq!(stat.cpus.len(), 2);
        assert_eq!(stat.cpus[0].map(|cpu| cpu.busy()), Some(120));
        assert_eq!(stat.cpus[1], None);
    }

    #[test]
    fn an_old_kernel_without_later_columns_leaves_them_out() {
        let mut stat = ProcStat::default();
        stat.parse(b"cpu 10 0 5 7\n", 1);
        let total = stat.total.expect("four columns are enough");
        assert_eq!((total.user, total.irq, total.steal), (10, None, None));
    }
}
