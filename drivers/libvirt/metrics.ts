import type { HostMetrics, Metrics } from '../host-metrics.ts'
import { nodeCalls } from './node-calls.ts'
import type { LibvirtSession } from './session.ts'

/** The states of CPUs that libvirt counts and Nova names. Others, such as interrupts, libvirt counts among these. */
const STATES = ['user', 'kernel', 'idle', 'iowait'] as const
/** In which a CPU does nothing. */
const IDLE: readonly string[] = ['idle', 'iowait']

type CpuTimes = ReadonlyMap<string, number>

export function libvirtMetrics(session: LibvirtSession): HostMetrics {
  let last: CpuTimes | undefined
  return {
    async read(signal) {
      const node = nodeCalls(session)
      const [{ mhz }, times] = await Promise.all([node.info(signal), node.cpuTimes(signal)])
      const before = last
      last = times
      return { 'cpu.frequency': mhz, ...cpuMetrics(times, before) }
    },
  }
}

/** Times of each state, and the shares of the time since `before`. There are no shares without `before`, or after the counters were reset. */
export function cpuMetrics(times: CpuTimes, before: CpuTimes | undefined): Metrics {
  const known = STATES.flatMap((state) => {
    const time = times.get(state)
    return time === undefined ? [] : [{ state, time, passed: time - (before?.get(state) ?? 0) }]
  })
  const sums = Object.fromEntries(known.map(({ state, time }) => [`cpu.${state}.time`, time]))
  const total = known.reduce((sum, { passed }) => sum + passed, 0)
  if (before === undefined || total <= 0 || known.some(({ passed }) => passed < 0)) return sums
  const percent = (part: number) => Math.round((part * 100) / total)
  const busy = known
    .filter(({ state }) => !IDLE.includes(state))
    .reduce((sum, { passed }) => sum + passed, 0)
  return {
    ...sums,
    ...Object.fromEntries(
      known.map(({ state, passed }) => [`cpu.${state}.percent`, percent(passed)]),
    ),
    'cpu.percent': percent(busy),
  }
}
