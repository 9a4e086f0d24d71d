import { Failure } from '#common/errors.ts'
import type { CrashDump } from '../guest-diagnostics.ts'
import type { FakeHost } from './host.ts'

export function fakeCrashDump(host: FakeHost): CrashDump {
  return {
    trigger: (id, signal) =>
      host.change('crashDump', id, signal, () => {
        const { powerState } = host.guests.get(id)
        if (powerState !== 'running' && powerState !== 'paused')
          throw new Failure('conflict', `Instance ${id} is not running, so it cannot crash.`)
        host.setPower(id, powerState, 'non-maskable interrupt')
      }),
  }
}
