import { Failure } from '#common/errors.ts'
import type { Suspend } from '../driver.ts'
import type { FakeHost } from './host.ts'

export function fakeSuspend(host: FakeHost): Suspend {
  return {
    suspend: (id, signal) =>
      host.change('suspend', id, signal, () => {
        const state = host.guests.get(id).powerState
        if (state === 'suspended') return
        if (state !== 'running')
          throw new Failure('conflict', `Instance ${id} is not running, so it cannot be suspended.`)
        host.setPower(id, 'suspended', 'suspended')
      }),
    resume: (id, signal) =>
      host.change('resume', id, signal, () => {
        if (host.guests.get(id).powerState !== 'running') host.setPower(id, 'running', 'resumed')
      }),
  }
}
