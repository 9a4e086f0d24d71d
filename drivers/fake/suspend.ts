import { Failure } from '#common/errors.ts'
import type { Suspend } from '../driver.ts'
import type { FakeHost } from './host.ts'

export function fakeSuspend(host: FakeHost): Suspend {
  return {
    suspend: (id, signal) =>
      host.change('suspend', id, signal, () => {
        const guest = host.guests.get(id)
        if (guest.isSuspended === true) return
        if (guest.powerState !== 'running')
          throw new Failure('conflict', `Instance ${id} is not running, so it cannot be suspended.`)
        host.guests.putUnseen({ ...guest, isSuspended: true })
        host.setPower(id, 'shutdown', 'suspended')
      }),
    resume: (id, signal) =>
      host.change('resume', id, signal, () => {
        if (host.guests.get(id).powerState !== 'running') host.setPower(id, 'running', 'resumed')
      }),
  }
}
