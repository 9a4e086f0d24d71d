import { readdirSync, readFileSync } from 'node:fs'
import { type ProcessIdentity, processIdentity } from '#deploy/process/process-identity.ts'

/** As Linux fixes it for user space (USER_HZ). */
const TICKS_PER_S = 100
const KIB_PER_MIB = 1_024
/** Of the fields after the command name in `/proc/PID/stat` (proc(5) fields 14 and 15). */
const UTIME = 11
const STIME = 12

/** The processes whose command line names the folder. */
export function processesNaming(folder: string): readonly ProcessIdentity[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids
    .filter((pid) => commandLine(pid).includes(folder))
    .flatMap((pid) => {
      return processIdentity(Number(pid)) ?? []
    })
}

/** Empty for a process that has ended. */
function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

/** CPU seconds the processes have used so far. */
export function cpuSeconds(processes: readonly ProcessIdentity[]): number {
  return processes.reduce((sum, { pid }) => sum + ticksOf(pid), 0) / TICKS_PER_S
}

/** Proportional set size in MiB: shared pages are divided among those who share them. */
export function pssMiB({ pid }: ProcessIdentity): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
  return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1]) / KIB_PER_MIB
}

/** Resident set size in MiB. */
export function rssMiB({ pid }: ProcessIdentity): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / KIB_PER_MIB
}

function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[UTIME]) + Number(fields[STIME])
}
