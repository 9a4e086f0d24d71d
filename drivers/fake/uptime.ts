import type { Uptime } from '../uptime.ts'
import type { FakeHost } from './host.ts'

/** Always the same. */
const UPTIME = ' 08:32:11 up 93 days, 18:25,  0 users,  load average: 0.20, 0.12, 0.14\n'

export function fakeUptime(host: FakeHost): Uptime {
  return { read: (signal) => host.faulty('uptime', undefined, signal, () => UPTIME) }
}
