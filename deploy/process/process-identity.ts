import { readFileSync } from 'node:fs'

/** One process for as long as the machine is up: a recycled pid has another start time. */
export interface ProcessIdentity {
  readonly pid: number
  /** Clock ticks from boot to the start of the process, field 22 of proc(5) `/proc/PID/stat`. */
  readonly startTicks: number
}

/**
 * The process that has this pid now, or undefined when none runs. A zombie runs no more once its other threads have
 * ended, too: until then they keep its ports and files open.
 */
export function processIdentity(pid: number): ProcessIdentity | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // The command name is in parentheses and may hold spaces and parentheses itself.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // Field 20 counts the threads.
  if (state === 'X' || (state === 'Z' && Number(fields[16]) <= 1)) return undefined
  return { pid, startTicks: Number(fields[18]) }
}

/** True while exactly this process runs. */
export function isRunning(identity: ProcessIdentity): boolean {
  return processIdentity(identity.pid)?.startTicks === identity.startTicks
}
